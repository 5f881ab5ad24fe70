"""A small judged report with every kind of cell, claim and panel."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from fedrepro.benchmark.open_choices import ChoiceResult, ReadingResult
from fedrepro.benchmark.results import (
    AuditFinding,
    CellResult,
    ClaimResult,
    ClaimUnder,
    ClaimWord,
    Comparison,
    Departure,
    Provenance,
    Report,
    RunSummary,
    Series,
    TableResult,
    Universe,
    Verdict,
    VerdictWord,
)

CHOICES = (
    ChoiceResult(
        name="round",
        table=None,
        setting="which round is read",
        taken="the last",
        why="usual",
        alternatives=(
            ReadingResult("best", "the best", "text says best", "Table 3", False, True),
            ReadingResult("fresh", "a fresh run", "it may", "Eq. 2", True, False),
        ),
    ),
)
SHARED = Departure("clients.data", "stl10", "digits", "ships with scikit-learn")


def cell(
    row: tuple[str, ...],
    column: tuple[str, ...],
    published: str,
    word: VerdictWord,
    trials: tuple[float | None, ...] = (),
) -> CellResult:
    values = [value for value in trials if value is not None]
    mean = sum(values) / len(values) if values else None
    return CellResult(
        row=row,
        column=column,
        kind="empirical",
        metric="accuracy",
        unit="%",
        published=published,
        published_sd=None,
        trials=trials,
        mean=mean,
        sd=1.0 if values else None,
        interval=None if mean is None else (mean - 2.0, mean + 2.0),
        verdict=Verdict(word, f"because of {word.lower()}", difference=mean),
        run="abcdef0123456789" if values else None,
        command="fedrepro run toy --tables 3",
    )


def claim_that(word: ClaimWord) -> ClaimResult:
    """A claim of three comparisons with everything that an engine may fill in."""
    return ClaimResult(
        id=word.lower().replace(" ", "-"),
        says=f"this claim is {word.lower()}",
        holds="'CP-CFL|*' > 'FedAvg|*'",
        support="supported",
        support_reason="by 32.67",
        word=word,
        reason=f"because of {word.lower()}",
        p_adjusted=0.021,
        comparisons=(
            Comparison(
                "A > B", "3", "1", (2.0, 4.0), 3.0, (1.0, 5.0), 0.004, 0.996,
                superiority=1.0, p_t=0.003, p_sign=0.25,
            ),
            Comparison(
                "A > C", "3", "2", (1.0, -0.5), 0.25, (-2.0, 2.5), 0.2, 0.8,
                superiority=0.75, p_t=0.19, p_sign=0.5,
            ),
            Comparison(
                "A > D", "3", "2.5", (-2.0, -4.0), -3.0, (-5.0, -1.0), 0.99, 0.01,
                superiority=0.0, p_t=0.99, p_sign=0.99,
            ),
        ),
        p=0.99,
        p_reversed=0.03,
        shown=1,
        opposite=1,
        looks=(5, 10),
        declared=40,
        trials_needed=24,
    )  # fmt: skip


@pytest.fixture(scope="session")
def worded(report: Report) -> Report:
    """The report with a claim of every word in its first table."""
    claims = tuple(map(claim_that, get_args(ClaimWord)))
    first, *others = report.tables
    return replace(report, tables=(replace(first, claims=claims), *others))


@pytest.fixture(scope="session")
def report() -> Report:
    cells = (
        cell(("CP-CFL", "SimCLR"), ("15", "T = 40"), "76.80", "SCALED", (80.0, 82.0, None)),
        cell(("CP-CFL", "SimCLR"), ("15", "Best"), "77.10", "NOT RUN"),
        cell(("FedAvg", "<script>alert(1)</script>"), ("15", "T = 40"), "44.13", "ERROR"),
    )
    comparison = Comparison(
        "CP-CFL > FedAvg", "76.80", "44.13", (30.0, 31.5), 30.75, (25.0, 36.0), 0.0004, 0.9996
    )
    claim = ClaimResult(
        "beats", "CP-CFL beats FedAvg", "'CP-CFL|*' > 'FedAvg|*'", "supported", "by 32.67",
        "HOLDS", "shown in 2 trials", 0.0004, (comparison,),
    )  # fmt: skip
    curve = Series(
        "curves", "accuracy by round", "round", "accuracy (%)",
        lines={"CP-CFL": [([1.0, 2.0], [50.0, 80.0]), ([1.0, 2.0], [55.0, 82.0])]},
    )  # fmt: skip
    choices = Series(
        "choices", "choices", "round", "client", matrix=[[0, 1], [0, 1]], groups=[0, 1]
    )
    counts = Series("counts", "images", "client", "class", matrix=[[20, 5], [0, 20]], groups=[0, 1])
    points = Series("points", "a map", "", "", lines={"class 0": [([0.5, 1.0], [2.0, -1.0])]})
    grid = Series("pictures", "", "", "", pictures={"a face": [[[0], [255]], [[9], [90]]]})
    finding = AuditFinding(
        "toy/granularity/3", "granularity", "76.80 is off the grid k/3000", "76.80",
        "76.77 or 76.83",
        "inconsistent", ((("CP-CFL", "SimCLR"), ("15", "T = 40")),),
    )  # fmt: skip
    own = Departure("training.rounds", "40", "8", "a fifth")
    tables = tuple(
        TableResult(
            id=name, title="accuracy & more", section="4.2", kind="empirical", metric="accuracy",
            unit="%", margin=2.0, margin_reason="two SDs", cells=cells, claims=(claim,),
            departures=departures, unstated=(SHARED,), notes=("a note",), panels=panels,
            command=f"fedrepro run toy --tables {name}", findings=(finding,),
        )
        for name, departures, panels in (
            ("3", (SHARED, own), ()),
            ("figure-4", (SHARED,), (curve, choices, counts, points, grid)),
        )
    )  # fmt: skip
    run = RunSummary(
        "abcdef0123456789", "cpcfl", (0, 1), 1, 3.5, {"method": "cpcfl"}, {"restarts": 0}
    )
    provenance = Provenance(
        "0.1.0", "deadbeef", True, "2026-11-21T00:00:00+00:00", "fedrepro run toy", "cpu",
        {"torch": "2.13.0"}, (0, 1), {"digits": {"checksum": "00ff", "release": True}}, 12.0, 20.0,
    )  # fmt: skip
    title = "A toy & its paper"
    universes = (
        Universe((), (ClaimUnder("3", "beats", "HOLDS", 30.75, (25.0, 36.0), 0.0004),)),
        Universe(("best",), (ClaimUnder("3", "beats", "UNRESOLVED", 1.5, (-2.0, 5.0), 0.2),)),
        Universe(("fresh",), (ClaimUnder("3", "beats", "NOT RUN", None, None, None),)),
    )
    return Report(
        "toy", title, "A. Author", 2023, "reduced", None, True, tables, (run,), provenance,
        choices=CHOICES, universes=universes,
        address="https://doi.org/10.1000/182",
    )  # fmt: skip
