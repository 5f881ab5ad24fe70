from dataclasses import replace
from typing import get_args

from fedrepro.benchmark.claims.answer import ClaimAnswer, ClaimWord
from fedrepro.benchmark.judging.answers import TableWord
from fedrepro.benchmark.results import Report, VerdictWord
from fedrepro.benchmark.stats.intervals import Interval
from fedrepro.reports import evidence, layout, scoreboard
from fedrepro.reports.answer_pictures import points
from tests.reports.conftest import ANSWER, claim_that


def test_every_word_has_a_meaning_and_a_count(worded: Report) -> None:
    assert set(layout.VERDICTS) == set(get_args(VerdictWord))
    assert set(layout.CLAIMS) == set(get_args(ClaimWord))
    assert set(layout.TABLES) == set(get_args(TableWord))
    assert list(scoreboard.counts([worded], "claims"))[:-1] == list(layout.CLAIMS)[:-1]
    assert scoreboard.counts([worded, worded], "tables") == {"PASS": 2, "NOT RUN": 2}


def line(answer: ClaimAnswer) -> str:
    return evidence.line(replace(claim_that("OPEN"), answer=answer))


def test_a_claims_line_has_difference_ratio_comparisons_and_trials() -> None:
    assert line(ANSWER) == (
        "+3.00 [+1.00, +5.00], published +2.00 · 1.50 [0.50, 2.50] times the published · "
        "1 of 3 comparisons shown, 1 opposite · all as stated in 1 of 2 trials"
    )
    bare = replace(ANSWER, comparisons=1, opposite=0, printed=None, ratio=None)
    assert line(replace(bare, ours=Interval(3.0))) == "+3.00 · all as stated in 1 of 2 trials"
    assert line(replace(bare, kind="closeness")) == "+3.00 [+1.00, +5.00]"
    assert evidence.line(claim_that("NOT RUN")) == ""


def test_a_tables_lines_have_retention_orderings_what_it_rests_on_and_lead(report: Report) -> None:
    judged, without = report.tables
    assert evidence.of_table(judged) == [
        "differences are 1.20 [0.90, 1.50] times the published",
        "75% of 12 published orderings alike",
        "p = 0.042 if the rows were relabelled at random",
        "without row FedAvg: 0.60 [0.40, 0.80]",
        "an exact repetition would have 0.80: published values are noisy",
        "CP-CFL against the best published baselines: −0.90 [−9.00, +7.20], "
        "ahead in 1 of 2 trials, published +4.60",
        "shown ahead of it: IFCA",
        "one run here stands for 2 published columns: 15|T = 40, 15|Best",
    ]
    assert evidence.of_table(without) == []


def test_other_metrics_of_a_table_are_shown_and_do_not_decide(report: Report) -> None:
    (first,) = report.tables[0].answers
    second = replace(first, metric="loss", word="FAIL", retention=Interval(0.1, 0.0, 0.2))
    shown = replace(report.tables[0], answers=(first, second), leads=())
    assert evidence.of_table(shown)[-1] == "loss: FAIL, 0.10 [0.00, 0.20] times"


def test_the_picture_of_a_table_shows_the_metric_that_decides(report: Report) -> None:
    assert points(report.tables[0]) == {"CP-CFL SimCLR": [(76.8, 81.0, 79.0, 83.0)]}


def test_a_scaled_run_refutes_nothing_and_says_so(report: Report) -> None:
    def caution(report: Report) -> str:
        return scoreboard.caution([report])

    assert "nothing trained here reproduces or refutes a published number" in caution(report)
    full = replace(report, scaled=False)
    assert caution(full) == ""
    assert caution(replace(full, protected=False)) == scoreboard.UNPROTECTED


def test_trials_of_earlier_code_are_told(report: Report) -> None:
    old = replace(report, edited=("methods/a.py", "methods/b.py"))
    assert "earlier code are shown: 2 files have been edited since" in scoreboard.caution([old])
