"""What a command imports is most of the time that it takes to start."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "scipy", "sklearn", "pandas", "matplotlib")
SCRIPT = """
import sys
from fedrepro.cli import main
code = main({arguments!r})
print(code, *({heavy!r} & set(sys.modules)), file=sys.stderr)
"""


def loaded_by(*arguments: str) -> list[str]:
    """The exit code of a command, and which of `HEAVY` it imported."""
    script = SCRIPT.format(arguments=list(arguments), heavy=set(HEAVY))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    return done.stderr.split()


def test_all_commands_together_are_imported_without_what_computes() -> None:
    """As for `--help`, and for a first word that no file is named after: here an alias."""
    assert loaded_by("tables", "fcl") == ["0"]


@pytest.mark.parametrize("papers", [[], ["cpcfl"]])
def test_papers_are_listed_without_what_computes(papers: list[str]) -> None:
    assert loaded_by("list", *papers) == ["0"]


NAMED = """
import sys
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.methods import registry
load_paper("cpcfl")
print(*(one for one in registry.names("federated") if registry.is_imported("federated", one)))
"""


def test_of_methods_those_are_imported_that_a_paper_names() -> None:
    done = subprocess.run([sys.executable, "-c", NAMED], capture_output=True, text=True)
    assert done.stdout.split() == ["centralized", "cpcfl", "fedavg", "ifca"]


def test_a_command_imports_no_other_one() -> None:
    names = {f"fedrepro.commands.{name}" for name in ("list", "report", "regress")}
    script = SCRIPT.format(arguments=["list", "fcl"], heavy={*names, "numpy"})
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.split() == ["0", "fedrepro.commands.list"]
