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
from fedrepro.benchmark.cli import main
code = main({arguments!r})
print(code, *({heavy!r} & set(sys.modules)), file=sys.stderr)
"""


def loaded_by(*arguments: str) -> list[str]:
    """The exit code of a command, and which of `HEAVY` it imported."""
    script = SCRIPT.format(arguments=list(arguments), heavy=set(HEAVY))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    return done.stderr.split()


@pytest.mark.parametrize("papers", [[], ["cpcfl"]])
def test_specs_are_checked_without_what_computes(papers: list[str]) -> None:
    assert loaded_by("check", *papers) == ["0"]


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
