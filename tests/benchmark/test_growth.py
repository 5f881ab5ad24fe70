"""Planning, estimating, queueing, indexing and judging grow with the suite and not with its square.

Steps are counted, not timed: calls of Python functions, which no other process can disturb.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fedrepro.benchmark.execution.jobs import Job, Queue
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.estimate import Estimator
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.load import load_paper, tables_root
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.record import TrialRecord
from fedrepro.benchmark.store.store import Store
from fedrepro.methods.outcome import Outcome
from tests.benchmarks.suite import write_copies

MakePaper = Callable[..., Paper]
SMALL, TIMES = 8, 4


def calls_of(work: Callable[[], object]) -> int:
    """How many Python functions `work` calls."""
    count = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.fixture
def plan_of(tiny_paper: MakePaper) -> Callable[[int], Plan]:
    """Plans a paper of so many tables, each of three rows with runs of their own."""

    def make(tables: int) -> Plan:
        made = []
        for t in range(tables):
            rows = {
                f"{t}-{r}": {
                    "training": {"learning_rate": 1e-4 * (1 + 3 * t + r)},
                    "pretraining": {"method": "fedavg", "shared": False},
                }
                for r in range(3)
            }
            (table,) = tiny_paper(rows).tables
            cells = tuple(replace(cell, table=str(t)) for cell in table.cells)
            made.append(replace(table, id=str(t), cells=cells))
        return make_plan(replace(tiny_paper({}), tables=tuple(made)), "smoke")

    return make


def fill(plan: Plan, store: Store, outcome: Outcome) -> None:
    with store.writing():
        for config, seed in plan.trials_to_run():
            store.save(config, seed, outcome, {})


def test_reading_one_paper_takes_no_look_at_the_others(tmp_path: Path) -> None:
    def steps(papers: int) -> int:
        root = tmp_path / str(papers)
        for i in range(papers):
            shutil.copytree(tables_root() / "fcl", root / f"p{i}")
        spec = root / "p0" / "paper.toml"
        spec.write_text(spec.read_text("utf-8").replace('"fcl"', '"p0"', 1), "utf-8")
        return calls_of(lambda: load_paper("p0", root))

    steps(1)
    assert steps(8) == steps(2)


def test_a_paper_takes_as_many_steps_however_many_were_judged_before_it(tmp_path: Path) -> None:
    copies = 10
    write_copies(tmp_path, copies)

    def judged(copy: int) -> Report:
        plan = make_plan(load_paper(f"fcl-{copy}", tmp_path), "smoke")
        return judge(plan, Store(tmp_path / "store"), command="")

    first, *_, last = [calls_of(partial(judged, copy)) for copy in range(copies)][1:]
    assert last < 1.01 * first


@pytest.mark.parametrize(
    "what",
    [
        "plan",
        "estimate",
        "queue",
        pytest.param("judge", marks=pytest.mark.slow),
    ],
)
def test_four_times_the_suite_takes_four_times_the_steps(
    plan_of: Callable[[int], Plan],
    tmp_path: Path,
    outcome: Outcome,
    what: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A network is timed once, however many runs there are.
    monkeypatch.setattr(Estimator, "_measure", lambda *_: 1e-6)

    def steps(tables: int) -> int:
        plan = plan_of(tables)
        store = Store(tmp_path / str(tables), lambda config: {"methods/a.py": "1"})
        if what == "plan":
            return calls_of(lambda: plan_of(tables).trials_to_run())
        if what == "estimate":
            return estimated(plan)
        if what == "queue":
            jobs = [Job(config, seed, float(seed)) for config, seed in plan.trials_to_run()]
            return calls_of(lambda: emptied(Queue(jobs)))
        fill(plan, store, outcome)
        # The audit compares the values of one paper in pairs, on purpose.
        return calls_of(lambda: judge(plan, store, command="", audit=False))

    def estimated(plan: Plan) -> int:
        """Every other run has a stored time from which the others are estimated."""
        stored = [
            TrialRecord(run.key, run.as_dict(), 0, {}, {}, {}, {"device": "here", "wall_s": i})
            for i, run in enumerate(plan.runs, 1)
            if i % 2
        ]
        runs = [run for run in plan.runs if run.key not in {record.run for record in stored}]
        return calls_of(lambda: list(map(Estimator("cpu", "here", stored).seconds, runs)))

    def emptied(queue: Queue) -> None:
        while (job := queue.next()) is not None:
            queue.done(job)

    steps(1)  # what is worked out once a process is not growth
    assert steps(TIMES * SMALL) < 1.25 * TIMES * steps(SMALL)
