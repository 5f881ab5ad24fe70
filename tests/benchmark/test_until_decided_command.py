"""`fedrepro run --until-decided` with real training, and what `execute` adds for it."""

import contextlib
import json
import math
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.execution import run
from fedrepro.benchmark.execution.executors import local
from fedrepro.benchmark.execution.jobs import Job, Result
from fedrepro.benchmark.execution.processes import alarm
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.model import Claim, Paper
from fedrepro.benchmark.store.store import Store, TrialRecord
from fedrepro.cli import main
from fedrepro.commands import _options
from tests.benchmark.runs import carry_out
from tests.benchmark.small_papers import MakePaper

ROWS = {
    "learns": {"training": {"rounds": 4}},
    "barely": {"training": {"learning_rate": 1e-9}},
    "other": {"training": {"learning_rate": 2e-9}},
}


@pytest.fixture
def paper(tiny_paper: MakePaper, monkeypatch: pytest.MonkeyPatch) -> Paper:
    """A method that learns and two that do not, looked at with two and four trials."""
    made = tiny_paper(ROWS, trials=2)
    claim = Claim("same", "s", "'barely' > 'other'")
    table = replace(made.tables[0], claims=(claim,))
    profile = replace(made.profiles["smoke"], looks=(2, 4))
    made = replace(made, tables=(table,), profiles={"smoke": profile})
    monkeypatch.setattr(_options, "load_paper", lambda id, root=None: made)
    monkeypatch.setattr(_options, "load_papers", lambda root, ids: (made,))
    return made


def told(folder: Path, *more: str) -> dict[str, Any]:
    where = ["--profile", "smoke", "--store", str(folder / "store"), "--out", str(folder / "out")]
    main([more[0], "p", *where, *more[1:]])
    found = json.loads((folder / "out" / "report.json").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def test_only_what_claims_need_is_trained_and_the_next_run_trains_nothing(
    paper: Paper, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = told(tmp_path, "run", "--until-decided", "--budget", "10m", "--jobs", "0")
    (claim,) = first["tables"][0]["claims"]
    assert claim["answer"]["trials"] == 4
    seeds = {one["key"]: one["seeds"] for one in first["runs"]}
    learns, barely, other = (seeds[one.key] for one in make_plan(paper, "smoke").runs)
    assert learns == []
    assert barely == other == [0, 1, 2, 3]
    commands = {cell["row"][0]: cell["command"] for cell in first["tables"][0]["cells"]}
    assert commands["barely"].endswith("--trials 4")
    assert "--trials" not in commands["learns"]
    capsys.readouterr()
    again = told(tmp_path, "run", "--until-decided", "--jobs", "0")
    assert "trials: 0 trained" in capsys.readouterr().err
    assert again["tables"] == first["tables"]


def test_trials_that_are_named_are_trained_alone_and_in_their_order(
    paper: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, store = make_plan(paper, "smoke"), Store(tmp_path / "store")
    named = [(plan.runs[2], 5), (plan.runs[1], 0)]
    saved, save = list[tuple[RunConfig, int]](), Store.save

    def noting(store: Store, run: RunConfig, seed: int, *rest: Any) -> TrialRecord:
        saved.append((run, seed))
        return save(store, run, seed, *rest)

    monkeypatch.setattr(Store, "save", noting)
    assert carry_out(plan, store, trials=named).trained == 2
    assert saved == named


def test_the_plan_names_the_looks_and_trials_between_two_wait_for_the_next(
    paper: Paper, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["p", "--profile", "smoke", "--store", str(tmp_path / "store")]
    assert main(["plan", *where]) == 0
    again = "`fedrepro run p --profile smoke --until-decided`"
    assert f"interim analyses of claims with 2, 4 trials: {again}" in capsys.readouterr().out
    declared = told(tmp_path, "run", "--until-decided", "--trials", "2", "--jobs", "0")
    assert declared["protected"]
    assert "Not protected" not in capsys.readouterr().out
    other = told(tmp_path, "run", "--until-decided", "--trials", "3", "--jobs", "0")
    assert not other["protected"]
    assert other["tables"][0]["claims"][0]["answer"]["trials"] == 3
    assert "Not protected: these are not the trials" in capsys.readouterr().out


SEVERAL = {name: {"training": {"rounds": n}} for name, n in (("b", 4), ("a", 1), ("c", 9))}


class Rung(BaseException):
    pass


def test_a_block_ends_after_its_seconds_and_no_handler_of_errors_stops_that() -> None:
    began = time.monotonic()
    with contextlib.suppress(Rung), alarm(0.2, Rung()):
        while True:
            with contextlib.suppress(Exception):
                time.sleep(30)
    assert 0.2 <= time.monotonic() - began < 20
    for ends_by_itself in (None, math.inf, 60.0):
        with alarm(ends_by_itself, Rung()):
            pass


def test_the_shortest_trials_come_first_and_the_same_call_goes_on_with_the_rest(
    tiny_paper: MakePaper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, store = make_plan(tiny_paper(SEVERAL, trials=2), "smoke"), Store(tmp_path)
    perform, rounds, slow = local.perform, list[int](), [True]

    def noting(job: Job, *rest: Any) -> Result:
        rounds.append(job.config.options["rounds"])
        if slow[0] and len(rounds) > 3:
            signal.raise_signal(signal.SIGALRM)
        return perform(job, *rest)

    monkeypatch.setattr(local, "perform", noting)
    done = run.execute(plan, store, device="cpu", jobs=0, budget=500.0)
    assert (done.trained, done.failed) == (3, 0)
    assert rounds == [1, 1, 4, 4]
    assert len(list(store.records())) == 3
    slow[0] = False
    assert run.execute(plan, store, device="cpu", jobs=0, budget=500.0).trained == 3
    assert rounds[4:] == [4, 9, 9]


def test_trials_save_themselves_ten_times_in_a_budget(
    tiny_paper: MakePaper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, every = make_plan(tiny_paper({"a": {}}), "smoke"), list[float]()
    note = lambda self, dispatch: every.append(self.options.save_every_s)  # noqa: E731
    monkeypatch.setattr(local.LocalExecutor, "train", note)
    for budget in (100.0, 1e6, None):
        run.execute(plan, Store(tmp_path), checkpoint_every=300.0, budget=budget)
    assert every == [10.0, 300.0, 300.0]


def test_a_spent_budget_leaves_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    where = ["--store", str(tmp_path / "store"), "--out", str(out), "--jobs", "0"]
    command = ["run", "fcl", "--tables", "3", "--profile", "smoke", "--budget", "0s", *where]
    assert main(command) in (1, 2, 3)
    assert "the budget is spent: " in capsys.readouterr().err
    assert (out / "report.html").is_file()
