"""`--budget` ends a run in time, keeps what is finished, and the same command goes on."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.execution import run
from fedrepro.benchmark.execution.executors.local import LocalExecutor
from fedrepro.benchmark.execution.jobs import Job, Result
from fedrepro.benchmark.execution.processes import alarm
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.store import Store
from fedrepro.cli import main

MakePaper = Callable[..., Paper]
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
    perform, rounds, slow = run.executors.local.perform, list[int](), [True]

    def noting(job: Job, *rest: Any) -> Result:
        rounds.append(job.config.options["rounds"])
        if slow[0] and len(rounds) > 3:
            signal.raise_signal(signal.SIGALRM)
        return perform(job, *rest)

    monkeypatch.setattr(run.executors.local, "perform", noting)
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

    def noting(self: LocalExecutor, dispatch: Any) -> None:
        every.append(self.options.save_every_s)

    monkeypatch.setattr(LocalExecutor, "train", noting)
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
