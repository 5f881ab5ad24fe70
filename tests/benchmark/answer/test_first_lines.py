import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from fedrepro.benchmark.claims.answer import ClaimAnswer, ClaimResult, ClaimWord
from fedrepro.benchmark.claims.contrasts import Levels
from fedrepro.benchmark.judging.answers import TableWord
from fedrepro.benchmark.judging.first_lines import evidence, interval, sentence, totals
from fedrepro.benchmark.results import TableResult
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.benchmark.stats.intervals import Interval
from tests.reports.conftest import LEAD, SEEN

NAME = "Method"
COMPARED = ClaimAnswer(
    "HOLDS", "r", "ratio", 1, shown=1, ours=Interval(37.24, 29.3, 45.1), printed=32.7,
    ratio=Interval(1.14, 0.9, 1.38), trials=10, trials_ahead=10,
)  # fmt: skip
NOT_RUN = ClaimAnswer("NOT RUN", "No trial.", "", 1)


def claimed(answer: ClaimAnswer, clause: str | None = None, unit: str | None = "%") -> ClaimResult:
    return ClaimResult("c", "says", "holds", clause, unit, "supported", "r", answer, ())


def headline(word: ClaimWord, clause: str = "it beats FedAvg") -> ClaimResult:
    return claimed(NOT_RUN if word == "NOT RUN" else replace(COMPARED, word=word), clause)


def table(word: TableWord, *claims: ClaimResult, id: str = "3", **more: Any) -> TableResult:
    none: tuple[()] = ()
    shown = (none, claims, none, none, none, none, "command")
    return TableResult(
        id, "t", "1", "empirical", "accuracy", "%", None, None, *shown, word=word, **more
    )


def lines(word: TableWord, n: int, *claims: ClaimResult) -> list[TableResult]:
    """Tables of which the last has the claims."""
    found = [table(word, id=str(i + 1)) for i in range(n)]
    return [*found[:-1], replace(found[-1], claims=claims)]


def test_all_fail() -> None:
    both = [headline("OPPOSITE"), headline("ABSENT", "it beats IFCA")]
    assert sentence(NAME, both) == (
        "Method: the opposite of “it beats FedAvg” is seen; "
        "at most a quarter is seen of what is published for “it beats IFCA”."
    )
    claims = map(headline, ("OPPOSITE", "ABSENT", "ABSENT"))
    assert list(totals(lines("FAIL", 2, *claims), None, None)) == [
        "tables: 0 pass, 2 fail, 0 open",
        "of 3 claims 0 hold, 1 is opposite, 2 are absent",
    ]


def test_a_claim_that_the_print_does_not_support_is_not_called_as_printed() -> None:
    unprinted = replace(COMPARED, word="SAME DIRECTION", kind="direction", printed=None)
    against = replace(unprinted, printed=-3.0)
    larger = replace(COMPARED, ratio=Interval(40.0, 20.0, 60.0))
    said = [sentence(NAME, [claimed(one, "it wins")]) for one in (unprinted, against)]
    assert said == [
        "Method: it wins here, where no number is published.",
        "Method: it wins here, where the published numbers do not say so.",
    ]
    assert sentence(NAME, [claimed(larger, "it wins")]) == (
        "Method: it wins, by more than published."
    )


def test_headlines_of_tables_that_are_not_shown_are_not_denied() -> None:
    assert sentence(NAME, [], ["3", "5"]) == (
        "Method: its headline claims are about tables 3 and 5, not shown here."
    )


def test_claims_of_one_word_share_a_part_of_the_sentence() -> None:
    clauses = ("it is fast", "it is small", "it is new")
    said = sentence(NAME, [headline("OPEN", one) for one in (*clauses, "it is fair")])
    assert said == (
        "Method: whether it is fast, whether it is small, whether it is new and whether it is fair "
        "are open."
    )
    not_run = [headline("NOT RUN", one) for one in clauses[:2]]
    assert sentence(NAME, [headline("HOLDS", "it wins"), *not_run]) == (
        "Method: it wins, as published; “it is fast” and “it is small” were not run in full."
    )


def test_what_must_be_known_of_an_answer_stands_behind_its_clause() -> None:
    shared = replace(COMPARED, comparisons=5, opposite=2, behind=2)
    silenced = replace(shared, word="OPEN", is_silenced=True)
    against = replace(headline("NOT RUN", "it is new"), support="contradicted")
    claims = [
        claimed(replace(shared, word="SAME DIRECTION", opposite=0), "it is fast"),
        claimed(replace(shared, word="OPEN"), "it is small"),
        claimed(silenced, "it is fair"),
        against,
    ]
    assert sentence(NAME, claims) == (
        "Method: it is fast (on average alone: not in 2 of 5 comparisons); "
        "whether it is small (opposite in 2 of 5 comparisons) "
        "and whether it is fair (controls of its table allow no answer, "
        "opposite in 2 of 5 comparisons) are open; "
        "“it is new” (published numbers contradict the claim) was not run in full."
    )
    unseen = claimed(replace(silenced, opposite=0), "it is fair")
    assert sentence(NAME, [unseen, replace(unseen, headline="it is cheap")], data="letters") == (
        "Method, on letters: whether it is fair and whether it is cheap are open "
        "(controls of their tables allow no answer)."
    )
    some = replace(shared, word="SAME DIRECTION", behind=0, shown=3)
    assert sentence(NAME, [claimed(some, "it wins")]) == (
        "Method: it wins, in the same direction as published (shown in 3 of 5 comparisons)."
    )
    part = replace(shared, word="HOLDS", comparisons=5, left_out=3)
    assert sentence(NAME, [claimed(part, "it wins")]).endswith("(3 of 8 comparisons not run).")


def test_failed_trials_are_said() -> None:
    assert next(totals([], None, None, 3)) == "trials failed behind cells: 3"


def test_tables_that_share_no_two_trials_are_said_to_give_no_common_line() -> None:
    compared = table("PASS", answers=(SEEN,))
    said = "all tables together: not compared, which needs runs with two trials in common"
    assert said in totals([compared], None, None)
    assert said not in totals([compared], None, SEEN)
    assert said not in totals(lines("NOT RUN", 1), None, None)


def test_tables_that_read_the_same_runs_are_named() -> None:
    once, again = (table("PASS", id=one, answers=(SEEN,)) for one in "34")
    assert "tables on the same runs: 3 and 4" in totals([once, again], None, SEEN)
    other: Any = replace(again, cells=(SimpleNamespace(run="r"),))
    assert not any("same runs" in line for line in totals([once, other], None, SEEN))


def test_nothing_run() -> None:
    both = [headline("NOT RUN"), headline("NOT RUN", "it beats IFCA")]
    assert sentence(NAME, both) == "Method: not all was run that its headline claims need."
    said = "it beats FedAvg (table 3): not run: No trial"
    assert list(evidence([table("NOT RUN", both[0])])) == [said]
    assert list(totals(lines("NOT RUN", 2, *both), None, None)) == [
        "tables: 0 pass, 0 fail, 0 open, 2 not run",
        "of 2 claims 0 hold, 2 were not run",
    ]


def test_one_table_with_its_lead_and_what_it_rests_on() -> None:
    shown = table("PASS", headline("HOLDS"), answers=(SEEN,), leads=(LEAD,))
    assert list(evidence([shown])) == [
        "it beats FedAvg (table 3): yes, +37.2 [29.3, 45.1] points; as claimed in 10 of 10 trials "
        "(published +32.7)",
        "CP-CFL against the best published baselines (table 3, 2 columns): open, "
        "−0.9 [−9.0, 7.2] points; ahead in 1 of 2 trials (published +4.6); 11.0 points would be "
        "seen (80 % power); shown ahead of it: IFCA",
    ]
    assert list(totals([shown], None, SEEN)) == [
        "tables: 1 pass, 0 fail, 0 open",
        "all tables together: differences are 1.20 [0.90, 1.50] times the published, "
        "0.60 [0.40, 0.80] without FedAvg",
        "of 1 claim 1 holds",
    ]


@pytest.mark.parametrize(("n", "said"), [(0, "0 contradictions"), (1, "1 contradiction")])
def test_an_audit_alone(n: int, said: str) -> None:
    assert sentence(NAME, []) == "Method: its spec marks no headline claim."
    assert list(totals(lines("NOT RUN", 1), n, None))[-1] == (
        f"audit: {said} among the paper's own numbers"
    )


def test_a_lead_is_told_only_of_tables_that_a_headline_names() -> None:
    tables = [replace(one, leads=(LEAD,)) for one in lines("PASS", 2, headline("HOLDS"))]
    (_, lead) = evidence(tables)
    assert lead.startswith("CP-CFL against the best published baselines (table 2, ")


@pytest.mark.parametrize(
    ("ours", "word"),
    [
        (Interval(5.0, 1.0, 9.0), "ahead"),
        (Interval(-5.0, -9.0, -1.0), "behind"),
        (Interval(5.0), "open"),
    ],
)
def test_a_lead_is_ahead_or_behind_with_its_interval_alone(ours: Interval, word: str) -> None:
    (_, said) = evidence([table("OPEN", headline("OPEN"), leads=(replace(LEAD, ours=ours),))])
    assert f"columns): {word}, " in said
    assert ("11.0 points would be seen" in said) == (word == "open")


@pytest.mark.parametrize("word", get_args(ClaimWord))
def test_every_word_names_the_clause_of_its_claim_and_counts_it(word: ClaimWord) -> None:
    said = sentence(NAME, [headline("HOLDS", "it is fast"), headline(word)])
    assert said.startswith("Method: it is fast, as published; ")
    assert "it beats FedAvg" in said
    claims = [headline(one) for one in get_args(ClaimWord)]
    (_, counts) = totals([table("OPEN", *claims)], None, None)
    assert sum(map(int, re.findall(r"(?:claims?|,) (\d+)", counts))) == len(claims)


def test_claims_that_are_only_counted_are_named_apart() -> None:
    counted = ClaimAnswer("HOLDS", "Counted: 1 of 1 true.", "counted", 1, shown=1)
    claims = map(claimed, (counted, counted, COMPARED))
    (_, said) = totals([table("OPEN", *claims)], None, None)
    assert said == "of 3 claims 3 hold (2 of them calculated)"
    assert list(evidence([table("OPEN", claimed(counted, "it is small", None))])) == [
        "it is small (table 3): yes, 1 of 1 true by calculation"
    ]


def test_what_is_not_printed_is_said() -> None:
    blank = claimed(replace(COMPARED, printed=None, kind="direction"), "it is fast")
    (said,) = evidence([table("OPEN", blank)])
    assert said.endswith("10 of 10 trials (not published)")


def test_closeness_counts_no_trials_as_ahead() -> None:
    near = ClaimAnswer(
        "HOLDS", "1 of 1 shown to be as close as stated, 0 further apart.", "closeness", 1,
        shown=1, ours=Interval(0.2, -0.1, 0.5), trials=10,
    )  # fmt: skip
    (said,) = evidence([table("OPEN", claimed(near, "it costs nothing"))])
    assert "0 of 10 trials" not in said
    assert "not published" not in said


def test_values_that_are_no_percentages_have_three_digits() -> None:
    assert interval(Interval(0.01234, -0.5, 2.0), points=False) == "+0.0123 [−0.5, 2]"
    assert interval(Interval(-1.25), points=True) == "−1.2 points"


def test_a_headline_says_between_which_values_and_that_its_table_says_otherwise() -> None:
    levels = Levels((63.2, 26.0), (84.1, 51.4))
    fails = replace(SEEN, retention=Interval(-0.05, -0.1, 0.0))
    won = claimed(replace(COMPARED, levels=levels), "it wins")
    said = list(evidence([table("FAIL", won, answers=(fails,), id="A.3")]))
    assert said[0].startswith("it wins (table A.3): ")
    assert (
        "points, 63.2 against 26.0; as claimed in 10 of 10 trials (published +32.7: 84.1 against"
        in said[0]
    )
    assert said[1:] == [
        "table A.3 as a whole: FAIL, over its 4 rows differences are −0.05 [−0.10, 0.00] times the "
        "published, 0.60 [0.40, 0.80] without FedAvg"
    ]
    assert len(list(evidence([table("PASS", won, answers=(SEEN,))]))) == 1


UNCLAIMED = {
    "non-iid-data-hurt-contrastive-learning-on-cifar10": "the problem, not what was found",
    "non-iid-data-hurt-contrastive-learning-on-cifar100": "the problem, not what was found",
    "non-iid-data-hurt-contrastive-learning-on-fmnist": "the problem, not what was found",
    "non-contrastive-at-both-stages-is-best": "what the claims on Table 1 say, on other data",
    "contrastive-at-both-stages-is-best": "what the claims on Table 1 say, on other data",
}
"""Claims of abstracts that are no headlines, and why."""


def test_what_an_abstract_claims_is_a_headline() -> None:
    for paper in map(load_paper, paper_ids()):
        claims = [one for table in paper.tables for one in table.claims]
        said = {one.id for one in claims if one.headline}
        for one in claims:
            if "Abstract" in (one.where or "") and one.reading_of is None:
                assert one.id in said | UNCLAIMED.keys(), f"{paper.id}: {one.id}"


def test_headline_claims_are_fixed_in_the_specs() -> None:
    for paper in map(load_paper, paper_ids()):
        claims = [one for table in paper.tables for one in table.claims if one.headline]
        assert 1 <= len(claims) <= 8, paper.id
        assert paper.name
        assert paper.own
        assert paper.baselines
