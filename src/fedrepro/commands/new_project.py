"""Make a folder with a made-up paper, a method and their tests."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from string import Template

from fedrepro import __version__
from fedrepro.benchmark.errors import FedreproError
from fedrepro.commands import _options as options

EXAMPLE = "fedrepro new-project my-paper"
ARGUMENTS = (options.folder("folder", "made if it is new"),)


def execute(args: argparse.Namespace) -> None:
    """Writes the files of the folder and says what to do next."""
    root: Path = args.folder.absolute()
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
    print(f"next: cd {args.folder}; fedrepro check mypaper; fedrepro run mypaper --profile smoke")


def template(file: str, **words: str) -> str:
    """The text of a template with its `$words` filled in."""
    path = Path(__file__).parents[1] / "templates" / f"{file}.in"
    return Template(path.read_text("utf-8")).substitute(words)


def write_new(files: Mapping[Path, str]) -> None:
    """Writes files and says where; none, but a `FedreproError`, if one is there already."""
    for path in files:
        if os.path.lexists(path):
            raise FedreproError(f"{path} is there already; nothing was written: remove it first")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        print(f"wrote {path.absolute()}")
