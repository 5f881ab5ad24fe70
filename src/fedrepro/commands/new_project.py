"""`fedrepro new-project`: a working folder with a paper of one's own, its test and its workflow."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from fedrepro import __version__
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.store.files import write_whole
from fedrepro.commands._options import folder
from fedrepro.commands.new_table import PAPER

HELP = "make a working folder: a made-up paper, a method, a test, a workflow and a README"
EXAMPLE = "fedrepro new-project my-paper"

_ID = "mypaper"
_TABLE = """\
table   = "1"
title   = "Test accuracy of federated averaging, without and with a proximal term"
section = "none: the paper is made up, and so are its numbers"
kind    = "empirical"
metric  = "accuracy"
unit    = "%"

[[columns]]
label = "10 clients"

[[columns]]
label = "5 clients"
clients.count = 5

[[rows]]
label     = "FedAvg"
method    = "fedavg"
published = [70.0, 74.5]

[[rows]]
label     = "FedProx"
method    = "fedprox"
published = [71.5, 75.0]

[[rows]]
label     = "My method"
method    = "mypackage.my_method"
published = [72.0, 75.5]
training.keep = 0.5

[margin]
value  = 2.0
reason = "made up: say here how close is close enough, and why"

[[claims]]
id    = "a-proximal-term-helps"
says  = "The proximal term improves accuracy with ten clients and with five."
holds = "'FedProx' > 'FedAvg'"
"""
_METHOD = '''"""Federated averaging that keeps a share of the old model; put your own here."""

from __future__ import annotations

from dataclasses import dataclass

from fedrepro.methods.federated.base import Message, Round, Server
from fedrepro.methods.federated.supervised.fedavg import FedAvg


@dataclass(frozen=True)
class MyMethod(FedAvg):
    """Options are fields: a spec sets them under `training`.

    keep: share of the old global model that is kept in each round, in [0, 1).
    """

    keep: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.keep < 1:
            raise ValueError(f"keep must be in [0, 1), not {self.keep}")

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        average = super().aggregate(now, server, upload)
        return {
            name: self.keep * server[name] + (1 - self.keep) * value
            for name, value in average.items()
        }
'''
_TEST = '''"""The specs of this folder are well-formed, and a run of seconds comes to a report."""

from pathlib import Path

import pytest

from fedrepro.cli import main
from mypackage.my_method import MyMethod

SPECS = ["--specs", str(Path(__file__).parents[1] / "tables")]


def test_the_specs_pass_the_check() -> None:
    assert main(["check", "mypaper", *SPECS]) == 0


def test_a_share_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="keep"):
        MyMethod(keep=1.0)


def test_a_smoke_run_fills_the_table(tmp_path: Path) -> None:
    places = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "report")]
    assert main(["run", "mypaper", "--profile", "smoke", "--jobs", "0", *SPECS, *places]) == 0
    assert "My method" in (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
'''
_WORKFLOW = """\
# The specs are checked and a run of seconds is made on every change.
name: fedrepro
on: [push, pull_request]
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    steps:
      # Actions by commit, since a tag can be moved; the comment names the release.
      - uses: actions/checkout@d23441a48e516b6c34aea4fa41551a30e30af803  # v6.1.0
        with:
          persist-credentials: false
      - uses: actions/setup-python@ece7cb06caefa5fff74198d8649806c4678c61a1  # v6.3.0
        with:
          python-version: "3.11"
      - run: python -m pip install --requirement requirements.txt
      - run: fedrepro check mypaper
      - run: python -m pytest
      - run: fedrepro run mypaper --profile smoke
      - uses: actions/upload-artifact@b7c566a772e6b6bfb58ed0dc250532a479d7789f  # v6.0.0
        if: always()
        with:
          name: report
          path: results/reports
"""
_README = """\
# A paper of my own, in fedrepro

`tables/mypaper/` holds the specs of a made-up paper: `paper.toml` what holds for all its tables,
`1.toml` one table. `mypackage/my_method.py` is a method of your own, which the table names by its
path. Replace all three.

```bash
fedrepro check mypaper                 # mistakes by file and line
fedrepro run mypaper --profile smoke   # seconds: does all of it run?
fedrepro report mypaper --profile smoke
```

Run them here: papers are found in `./tables`, beside those that come along. The report is
`results/reports/mypaper-smoke/report.html`.
`fedrepro new-table` drafts further tables from LaTeX or CSV, and `python -m pytest` runs the test.
"""
_IGNORED = "results/*\n!results/baselines/\n!results/published/\n__pycache__/\n"
"""Baselines and records are committed: `regress` in CI has nothing else to compare with."""


def files() -> dict[str, str]:
    """What a new working folder holds, by path."""
    return {
        "README.md": _README,
        "requirements.txt": f"fedrepro=={__version__}\npytest\n",
        f"tables/{_ID}/paper.toml": PAPER.format(id=_ID),
        f"tables/{_ID}/1.toml": _TABLE,
        "mypackage/__init__.py": "",
        "mypackage/my_method.py": _METHOD,
        "tests/test_mypaper.py": _TEST,
        ".github/workflows/fedrepro.yml": _WORKFLOW,
        ".gitignore": _IGNORED,
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where it goes."""
    parser.add_argument("folder", type=folder, metavar="DIR", help="made if it is new")


def execute(given: argparse.Namespace) -> int:
    """Writes the files of the folder and says what to do next; nothing that is there is replaced.

    Raises `FedreproError` if one of them is there already.
    """
    root: Path = given.folder.absolute()
    written = {root / name: text for name, text in files().items()}
    for path in written:
        if os.path.lexists(path):
            raise FedreproError(f"{path} is there already; nothing was written")
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
        print(f"wrote {path}")
    print(f"next: cd {given.folder}; fedrepro check {_ID}; fedrepro run {_ID} --profile smoke")
    return 0
