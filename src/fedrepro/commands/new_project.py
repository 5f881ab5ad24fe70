"""`fedrepro new-project`: a working folder with a paper of one's own, its test and its workflow."""

import argparse
from pathlib import Path

from fedrepro import __version__
from fedrepro.commands import _options as options
from fedrepro.commands._templates import template, write_new

HELP = "make a working folder: a made-up paper, a method, a test, a workflow and a README"
EXAMPLE = "fedrepro new-project my-paper"
ARGUMENTS = (
    options.option("folder", type=options.folder, metavar="DIR", help="made if it is new"),
)


def execute(given: argparse.Namespace) -> int:
    """Writes the files of the folder and says what to do next; nothing that is there is replaced.

    Raises `FedreproError` if one of them is there already.
    """
    root: Path = given.folder.absolute()
    test, method = "tests/test_mypaper.py", {"title": "My method", "cls": "MyMethod"}
    files = {
        "README.md": template("readme.md"),
        "requirements.txt": template("requirements.txt", version=__version__),
        "tables/mypaper/paper.toml": template(
            "paper.toml", id="mypaper", published="[profiles.paper]\ntrials = 5"
        ),
        "tables/mypaper/1.toml": template("table.toml"),
        "mypackage/__init__.py": "",
        "mypackage/my_method.py": template(
            "method.py", test=test, federated="fedrepro.methods.federated", **method
        ),
        test: template("project_test.py"),
        ".github/workflows/fedrepro.yml": template("workflow.yml"),
        ".gitignore": template("gitignore"),
    }
    write_new({root / name: text for name, text in files.items()})
    print(f"next: cd {given.folder}; fedrepro check mypaper; fedrepro run mypaper --profile smoke")
    return 0
