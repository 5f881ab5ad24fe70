"""The table of counted operations: two kinds counted anew, and all kinds of the papers in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedrepro.benchmark.planning.operations import counted_of, kind_of
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from tests.count_operations import SIZES as ALL
from tests.count_operations import Size, counts_of, fitted

TABLES = Path(__file__).parents[2] / "tables"
SIZES = [Size(2, 2, 1, 5), Size(1, 2, 3, 8)]


@pytest.mark.parametrize("kind", ["federated fedavg - cnn", "federated fedsimclr simclr cnn"])
def test_images_are_passed_as_often_as_the_table_says(kind: str) -> None:
    runs = make_plan(load_paper("fcl", TABLES), "reduced").runs
    run = next(run for run in runs if kind_of(run) == kind)
    totals = [counts_of(run, size) for size in SIZES]
    for name in ("images", "images_back"):
        table = counted_of(run)[name]
        for size, total in zip(SIZES, totals, strict=True):
            said = sum(n * _term(term, size) for term, n in table.items())
            assert getattr(total, name) == pytest.approx(said, rel=0.02)


def _term(term: str, size: Size) -> float:
    outer, inner = ("RE", term[2:]) if term.startswith("RE") else (term[0], term[1:])
    times = {"1": 1, "R": size.rounds, "RE": size.rounds * size.epochs}[outer]
    return times * (size.steps if "S" in inner else 1) * (size.clients if "P" in inner else 1)


def test_what_belongs_to_a_step_and_to_a_client_is_told_apart() -> None:
    numbers = [7 + 3 * s.rounds * s.epochs * s.steps * s.clients for s in ALL]
    assert fitted(ALL, numbers) == pytest.approx({"1": 7.0, "RESP": 3.0}, abs=1e-3)
