"""A small judged report with every kind of cell, claim and panel."""

from dataclasses import replace
from typing import get_args

import pytest

from fedrepro.benchmark import results
from fedrepro.benchmark.audit.findings import Finding
from fedrepro.benchmark.claims.answer import ClaimAnswer, ClaimResult, ClaimWord, Comparison
from fedrepro.benchmark.judging.answers import Lead, TableAnswer
from fedrepro.benchmark.spec.choices import Alternative, Unstated
from fedrepro.benchmark.stats.intervals import Interval

BEST = Alternative("best", "the best", "text says best", "Table 3", at="best")
FRESH = Alternative("fresh", "a fresh run", "it may", "Eq. 2", at="final")
ROUND = Unstated("which round is read", "the last", "usual", "round", alternatives=(BEST, FRESH))
CHOICES = (results.ChoiceResult(None, ROUND, "fresh"),)
SHARED = results.Departure("clients.data", "stl10", "digits", "ships with scikit-learn")


def cell(
    row: tuple[str, ...],
    column: tuple[str, ...],
    published: str,
    detail: results.Detail,
    trials: tuple[float | None, ...] = (),
) -> results.CellResult:
    values = [value for value in trials if value is not None]
    mean = sum(values) / len(values) if values else None
    place = row, column, "empirical", "accuracy", "%", published, None, trials, mean
    spread = (None, None) if mean is None else (1.0, (mean - 2.0, mean + 2.0))
    verdict = results.Verdict(detail, f"because of {detail.lower()}", difference=mean)
    run = "abcdef0123456789" if values else None
    return results.CellResult(*place, *spread, verdict, run, "fedrepro run toy --tables 3")


ANSWER = ClaimAnswer(
    "HOLDS", "2 of 3 comparisons ahead, 1 behind.", "ratio", 3, shown=1, behind=1, opposite=1,
    ours=Interval(3.0, 1.0, 5.0), printed=2.0, ratio=Interval(1.5, 0.5, 2.5), trials=2,
    trials_ahead=1,
)  # fmt: skip
COMPARISONS = (
    Comparison("A > B", "3", "1", ">", (2.0, 4.0), Interval(3.0, 1.0, 5.0)),
    Comparison("A > C", "3", "2", ">", (1.0, -0.5), Interval(0.25, -2.0, 2.5)),
    Comparison("A > D", "3", "2.5", ">", (-2.0, -4.0), Interval(-3.0, -5.0, -1.0)),
)
SEEN = TableAnswer(
    "accuracy", "PASS", "seen", rows=4, columns=2, trials=2, retention=Interval(1.2, 0.9, 1.5),
    reliability=0.8, pairs=12, orderings=0.75,
    relabelling_p=0.0417, rests_on="row FedAvg", without_it=Interval(0.6, 0.4, 0.8),
    shown_in_80=3.0, joined=(("15|T = 40", "15|Best"),),
)  # fmt: skip
LEAD = Lead(
    "CP-CFL", ("IFCA",), 2, printed=4.6, ours=Interval(-0.9, -9.0, 7.2), ahead=1, trials=2,
    shown_in_80=11.0, baselines_ahead=("IFCA",),
)  # fmt: skip


def claim_that(word: ClaimWord) -> ClaimResult:
    """A claim of three comparisons; without a value of ours where it was not run."""
    reason = f"because of {word.lower()}"
    answer = replace(ANSWER, word=word, reason=reason)
    if word == "NOT RUN":
        answer = ClaimAnswer(word, reason, "", 3)
    id, says = word.lower().replace(" ", "-"), f"this claim is {word.lower()}"
    told = "'CP-CFL|*' > 'FedAvg|*'", None, "%", "supported", "by 32.67"
    return ClaimResult(id, says, *told, answer, COMPARISONS)


@pytest.fixture(scope="session")
def worded(report: results.Report) -> results.Report:
    """The report with a claim of every word in its first table."""
    claims = tuple(map(claim_that, get_args(ClaimWord)))
    first, *others = report.tables
    return replace(report, tables=(replace(first, claims=claims), *others))


@pytest.fixture(scope="session")
def report() -> results.Report:
    cells = (
        cell(("CP-CFL", "SimCLR"), ("15", "T = 40"), "76.80", "SCALED", (80.0, 82.0, None)),
        cell(("CP-CFL", "SimCLR"), ("15", "Best"), "77.10", "NOT RUN"),
        cell(("FedAvg", "<script>alert(1)</script>"), ("15", "T = 40"), "44.13", "ERROR"),
    )
    claim = ClaimResult(
        "beats", "CP-CFL beats FedAvg", "'CP-CFL|*' > 'FedAvg|*'", "it beats FedAvg", "%",
        "supported", "by 32.67", ANSWER, COMPARISONS[:1],
    )  # fmt: skip
    curve = results.Series(
        "curves", "accuracy by round", "round", "accuracy (%)",
        lines={"CP-CFL": [([1.0, 2.0], [50.0, 80.0]), ([1.0, 2.0], [55.0, 82.0])]},
    )  # fmt: skip
    choices = results.Series(
        "choices", "choices", "round", "client", matrix=[[0, 1], [0, 1]], groups=[0, 1]
    )
    counts = results.Series(
        "counts", "images", "client", "class", matrix=[[20, 5], [0, 20]], groups=[0, 1]
    )
    points = results.Series(
        "points", "a map", "", "", lines={"class 0": [([0.5, 1.0], [2.0, -1.0])]}
    )
    grid = results.Series("pictures", "", "", "", pictures={"a face": [[[0], [255]], [[9], [90]]]})
    finding = Finding(
        "toy/granularity/3", "toy", ("3", "figure-4"), "granularity",
        "76.80 is off the grid k/3000", "76.80", "76.77 or 76.83", "inconsistent",
        tuple((table, ("CP-CFL", "SimCLR"), ("15", "T = 40")) for table in ("3", "figure-4")),
    )  # fmt: skip
    own = results.Departure("training.rounds", "40", "8", "a fifth")
    tables = tuple(
        results.TableResult(
            id=name, title="accuracy & more", section="4.2", kind="empirical", metric="accuracy",
            unit="%", margin=2.0, margin_reason="two SDs", cells=cells, claims=(claim,),
            departures=departures, unstated=(SHARED,), notes=("a note",), panels=panels,
            command=f"fedrepro run toy --tables {name}", findings=(finding,),
            run_on="digits, 2 trials (paper: stl10)", word=word, answers=answers, leads=leads,
            reason=f"because of {word.lower()}",
        )
        for name, departures, panels, word, answers, leads in (
            ("3", (SHARED, own), (), "PASS", (SEEN,), (LEAD,)),
            ("figure-4", (SHARED,), (curve, choices, counts, points, grid), "NOT RUN", (), ()),
        )
    )  # fmt: skip
    run = results.RunSummary(
        "abcdef0123456789", "cpcfl", (0, 1), 1, 3.5, {"method": "cpcfl"}, {"restarts": 0}
    )
    provenance = results.Provenance(
        "0.1.0", "deadbeef", True, "2026-11-21T00:00:00+00:00", "fedrepro run toy", "cpu",
        {"torch": "2.13.0"}, (0, 1), {"digits": {"checksum": "00ff", "release": True}}, 12.0, 20.0,
    )  # fmt: skip
    title = "A toy & its paper"
    under: dict[tuple[str, ...], ClaimAnswer] = {
        (): ClaimAnswer("HOLDS", "r", "ratio", 1, ours=Interval(3.0, 1.0, 5.0)),
        ("best",): ClaimAnswer("OPEN", "r", "ratio", 1, ours=Interval(1.5, -2.0, 5.0)),
        ("fresh",): ClaimAnswer("NOT RUN", "r", "", 1),
    }
    places = [f"{one.id}: {own.id}" for one in tables for own in one.claims]
    universes = tuple(
        results.Universe(one, dict.fromkeys(places, own)) for one, own in under.items()
    )
    return results.Report(
        "toy", title, "A. Author", 2023, "reduced", None, True, tables, (run,), provenance,
        choices=CHOICES, universes=universes, venue="A Venue",
        address="https://doi.org/10.1000/182",
        first=results.FirstLines(
            "Toy: it beats FedAvg, as printed.", "reduced: digits, 2 trials (paper: stl10)",
            ("it beats FedAvg (table 3): yes",), ("tables: 1 pass", "of 2 claims 2 hold"),
        ),
    )  # fmt: skip
