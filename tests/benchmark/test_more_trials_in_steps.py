"""A table with more trials than its profile: until decided, and where others are asked for."""

from __future__ import annotations

from pathlib import Path

from fedrepro.benchmark.execution.until_decided import steps
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.store.store import Store

TABLE = "1"


def test_until_decided_reaches_the_trials_of_the_table(tmp_path: Path) -> None:
    plan = make_plan(load_paper("calibre"), "reduced", tables=[TABLE])
    (step,) = steps(plan, Store(tmp_path), {})
    runs = {run for run, _ in step.trials} & plan.shown
    for run in runs:
        assert [seed for one, seed in step.trials if one == run] == list(range(25))


def test_as_many_trials_as_the_profile_are_fewer_than_the_table_has() -> None:
    paper = load_paper("calibre")
    assert not make_plan(paper, "reduced").has_other_trials
    assert make_plan(paper, "reduced", trials=8).has_other_trials


def test_a_setting_is_held_against_selected_tables_alone() -> None:
    changed = {"clients.classes": 99}
    assert make_plan(load_paper("calibre"), "reduced", tables=["figure-4"], sets=changed).runs
