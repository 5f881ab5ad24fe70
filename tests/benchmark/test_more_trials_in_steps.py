"""A table with more trials than its profile: until decided, and where others are asked for."""

from __future__ import annotations

from fedrepro.benchmark.planning.looks_reached import as_far_as_reached, looks_of
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper

TABLE = "1"


def test_until_decided_reaches_the_trials_of_the_table() -> None:
    plan = make_plan(load_paper("calibre"), "reduced", tables=[TABLE])
    looks = looks_of(plan.profile)
    for stored in (0, 8, 100):
        shown = as_far_as_reached(plan, looks, lambda run, seed, n=stored: seed < n)
        assert {len(shown.seeds(run)) for run in shown.shown} == {25}
        assert not shown.has_other_trials


def test_as_many_trials_as_the_profile_are_fewer_than_the_table_has() -> None:
    paper = load_paper("calibre")
    assert not make_plan(paper, "reduced").has_other_trials
    assert make_plan(paper, "reduced", trials=8).has_other_trials


def test_a_setting_is_held_against_selected_tables_alone() -> None:
    changed = {"clients.classes": 99}
    assert make_plan(load_paper("calibre"), "reduced", tables=["figure-4"], sets=changed).runs
