"""The one sentence on a paper, and the line of evidence of a claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from fedrepro.benchmark.judging.scoreboard import JUDGED, Scoreboard, answer, scoreboard
from fedrepro.benchmark.results import ClaimWord, Report
from fedrepro.reports import evidence, layout, overview
from tests.reports.conftest import cell, claim_that


def board(
    claims: Mapping[str, int] | None = None,
    verdicts: Mapping[str, int] | None = None,
    findings: Mapping[str, int] | None = None,
    recomputed: int = 0,
) -> Scoreboard:
    return Scoreboard(
        "toy", "a title", "reduced", None, True, verdicts or {}, claims or {}, findings or {}, {},
        True, recomputed=recomputed,
    )  # fmt: skip


def test_the_answer_counts_what_holds_among_what_could_be_judged() -> None:
    one = board(
        {"HOLDS": 20, "OPPOSITE HERE": 7, "UNRESOLVED": 12, "NOT JUDGED": 5, "NOT RUN": 2},
        {"EXACT": 5, "MISPRINT?": 1},
        {"inconsistent": 4, "consistent": 9},
        recomputed=6,
    )
    assert answer([one]) == (
        "20 of 39 claims that can be judged hold, 7 are opposite here, 12 open (5 not judged, "
        "2 not run); 5 of 6 recomputed numbers exact; 4 contradictions among printed numbers."
    )


def test_claims_that_are_not_judged_are_no_open_claims() -> None:
    assert answer([board({"NOT JUDGED": 3, "HOLDS": 1})]) == (
        "1 of 1 claim that can be judged holds (3 not judged)."
    )
    assert answer([board({"NOT JUDGED": 3, "NOT RUN": 1})]) == (
        "no claim could be judged (3 not judged, 1 not run)."
    )


def test_a_run_at_the_published_protocol_says_what_is_reproduced() -> None:
    one = board({}, {"REPRODUCED": 3, "SHIFTED": 1, "DISCREPANT": 2, "SCALED": 9})
    assert answer([one]) == "3 of 6 measured cells reproduced, 2 discrepant."


def test_what_was_measured_is_counted_once() -> None:
    one = board({}, {"REPRODUCED": 3, "SHIFTED": 1, "DISCREPANT": 2, "SCALED": 9, "NOT RUN": 4})
    assert overview.headline([one]) == (
        "9 SCALED cells come from other data or a shorter protocol, shown for comparison and "
        "never counted as reproduced."
    )
    assert overview.headline([replace(one, verdicts={"REPRODUCED": 3, "SCALED": 1})]).startswith(
        "1 SCALED cell comes from"
    )
    assert overview.headline([replace(one, verdicts={"REPRODUCED": 3}, scaled=False)]) == ""


def test_trials_of_earlier_code_are_told_in_the_head(report: Report) -> None:
    assert scoreboard(report).earlier == ""
    old = scoreboard(replace(report, edited=("methods/a.py", "methods/b.py")))
    assert "earlier code are shown: 2 files have been edited since" in overview.headline([old])
    assert overview.headline([old, scoreboard(report)]).endswith(
        f"Trials of earlier code are shown of {report.paper}."
    )


def test_the_answers_of_several_papers_add_up() -> None:
    one = board({"HOLDS": 1, "PARTLY": 1, "REVERSED": 2}, {}, {"consistent": 1})
    assert answer([one, one]) == (
        "2 of 8 claims that can be judged hold, 2 are opposite in part, 4 are reversed; "
        "no contradictions among printed numbers."
    )


def test_nothing_is_said_of_an_audit_that_was_not_made() -> None:
    assert "printed numbers" not in answer([board({"HOLDS": 1})])
    assert answer([board()]) == "Nothing was judged."


def test_recomputed_numbers_are_analytic_cells_that_were_held_against_the_print(
    report: Report,
) -> None:
    made = cell(("a",), ("b",), "1", "EXACT")
    cells = (
        replace(made, kind="analytic"),
        replace(cell(("c",), ("b",), "1", "INCONCLUSIVE"), kind="analytic"),
        replace(cell(("d",), ("b",), "1", "NOT RUN"), kind="analytic"),
        cell(("e",), ("b",), "1", "INCONCLUSIVE"),
    )
    tables = (replace(report.tables[0], cells=cells),)
    assert scoreboard(replace(report, tables=tables)).recomputed == 2


def test_every_word_has_a_meaning_a_place_and_a_count(worded: Report) -> None:
    assert set(layout.CLAIMS) == set(get_args(ClaimWord))
    assert list(layout.CLAIMS) == [*JUDGED, "NOT JUDGED", "NOT RUN"]
    counts = overview.counts([scoreboard(worded)], "claims")
    assert list(counts) == list(layout.CLAIMS)


def test_the_line_of_an_open_claim_tells_all_that_decides_it() -> None:
    assert evidence.facts(claim_that("UNRESOLVED")) == [
        "A > D: −3.00 [−5.00, −1.00]",
        "1 of 3 shown, 1 opposite",
        "P(A > B) = 0.00",
        "p = 0.990, corrected 0.021",
        "judged at 5, 10 of 40 declared trials",
        "about 24 trials would decide",
    ]


def test_one_look_at_all_declared_trials_is_not_told() -> None:
    assert "declared" not in evidence.line(replace(claim_that("HOLDS"), looks=(40,)))
    assert "judged at 5 of 40 declared trials" in evidence.line(
        replace(claim_that("HOLDS"), looks=(5,))
    )


def test_what_is_counted_has_no_p() -> None:
    claim = claim_that("HOLDS")
    counted = replace(claim.comparisons[0], exact=True, p=None, interval=None)
    assert evidence.line(replace(claim, comparisons=(counted,))) == (
        "A > B: +3.00 · counted, not tested · judged at 5, 10 of 40 declared trials"
    )


def test_a_claim_that_was_not_compared_has_no_line() -> None:
    assert evidence.line(replace(claim_that("NOT JUDGED"), comparisons=())) == ""
    assert evidence.line(claim_that("NOT RUN")) == ""
