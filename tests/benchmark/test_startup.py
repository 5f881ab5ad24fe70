"""What a command imports is most of the time that it takes to start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.store.store import Store
from fedrepro.methods.outcome import Outcome

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


@pytest.mark.parametrize("command", ["list", "check"])
@pytest.mark.parametrize("papers", [[], ["cpcfl"]])
def test_specs_are_read_and_checked_without_what_computes(command: str, papers: list[str]) -> None:
    assert loaded_by(command, *papers) == ["0"]


@pytest.mark.parametrize(
    "table",
    [
        ["cpcfl", "3"],
        ["calibre", "figure-3"],
        ["mfcl", "1", "--json"],
        ["fcl", "1", "--format=csv"],
    ],
)
def test_a_table_without_a_stored_run_is_shown_without_what_computes(
    table: list[str], tmp_path: Path
) -> None:
    assert loaded_by("show", *table, "--store", str(tmp_path)) == ["0"]


def test_a_command_imports_no_other_one() -> None:
    names = {f"fedrepro.commands.{name}" for name in ("list", "report", "regress")}
    script = SCRIPT.format(arguments=["list", "fcl"], heavy={*names, "numpy"})
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.split() == ["0", "fedrepro.commands.list"]


COUNTED = """
import ast, pkgutil, sys
parsed, listed, parse, iterate = [], [], ast.parse, pkgutil.iter_modules
def counted_parse(source, filename="<unknown>", *rest, **named):
    parsed.append(filename)
    return parse(source, filename, *rest, **named)
def counted_listing(*rest, **named):
    listed.append(1)
    return iterate(*rest, **named)
ast.parse, pkgutil.iter_modules = counted_parse, counted_listing
from fedrepro.cli import main
code = main({arguments!r})
files = [one for one in parsed if one.endswith(".py")]
print(code, len(files), len(set(files)), len(listed), file=sys.stderr)
"""


def counted(*arguments: str) -> tuple[int, int, int]:
    """Of a command that succeeds: modules that it parsed, how many of them differ, and listings."""
    script = COUNTED.format(arguments=list(arguments))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    code, files, different, listed = map(int, done.stderr.split())
    assert code == 0
    return files, different, listed


def test_the_list_parses_no_module() -> None:
    assert counted("list")[:2] == (0, 0)


def test_modules_are_parsed_once_and_folders_listed_as_often_for_one_paper_as_for_all() -> None:
    files, different, listed = counted("check", "fcl")
    assert files == different > 0
    of_all, different, listed_for_all = counted("check")
    assert of_all == different > files
    assert listed_for_all == listed


def test_a_completion_script_knows_every_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fedrepro", "completion", "bash"], capture_output=True, text=True
    )
    assert all(name in done.stdout for name in ("regress", "new_table", "cpcfl"))


def test_a_plan_is_made_without_what_computes_where_every_trial_is_stored(
    tmp_path: Path, outcome: Outcome
) -> None:
    store, plan = Store(tmp_path), make_plan(load_paper("fcl"), "smoke", tables=["1"])
    with store.writing():
        for run, seed in plan.trials_to_run():
            store.save(run, seed, outcome, {"device": "d", "wall_s": 2.0})
    command = ("plan", "fcl", "--profile", "smoke", "--tables", "1", "--store", str(tmp_path))
    assert loaded_by(*command) == ["0"]
    assert loaded_by(*command, "--trials", "9") != ["0"]


def test_a_completion_script_is_printed_without_torch() -> None:
    """A shell asks for it whenever it starts."""
    assert "torch" not in loaded_by("completion", "bash")
