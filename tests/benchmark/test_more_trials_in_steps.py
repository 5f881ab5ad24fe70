"""A table with more trials than its profile: until decided, and where others are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedrepro.benchmark.planning.looks_reached import as_far_as_reached, looks_of
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.methods import declared

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


def test_a_class_may_name_dataclass_by_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fedrepro.methods.encoders as encoders

    head = "from fedrepro.methods.encoders.base import Encoder\n"
    (tmp_path / "by_module.py").write_text(
        f"import dataclasses\n{head}\n@dataclasses.dataclass(frozen=True)\n"
        "class ByModule(Encoder):\n    dim: int = 3\n"
    )
    (tmp_path / "in_order.py").write_text(
        f"from dataclasses import dataclass\n{head}\n@dataclass(frozen=True, order=True)\n"
        "class InOrder(Encoder):\n    dim: int = 3\n"
    )
    monkeypatch.setattr(encoders, "__path__", [*encoders.__path__, str(tmp_path)])
    for name in ("by-module", "in-order"):
        assert declared.find("encoder", name)(dim=5).dim == 5
