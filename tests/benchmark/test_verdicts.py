import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from fedrepro.benchmark.judging.published_value import PublishedValue, published_values
from fedrepro.benchmark.judging.verdicts import JudgedCell, assess, judge_table
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.stats.intervals import reached, shares
from fedrepro.benchmark.stats.spread import Spread


def single(text: str) -> PublishedValue:
    return published_values([Printed.parse(text)], ddof=None, runs=None)[0]


def spread(center: float, sd: float, n: int = 5) -> tuple[float, ...]:
    """n values with exactly this mean and deviation."""
    base = np.arange(n) - (n - 1) / 2
    return tuple(center + sd * base / base.std(ddof=1))


def verdict(text: str, trials: tuple[float, ...], margin: float = 2.0):
    return judge_table([JudgedCell(single(text), trials, margin)])[0]


@pytest.mark.parametrize(
    ("text", "trials", "margin", "word"),
    [
        ("70.00", spread(70.1, 0.2), 2.0, "REPRODUCED"),
        ("70.00", spread(76.0, 0.5), 2.0, "DISCREPANT"),
        ("70.00", spread(71.0, 0.7), 2.2, "COMPATIBLE"),
        ("70.00", spread(71.9, 0.5), 2.0, "SHIFTED"),
        ("70.00", spread(70.5, 3.0), 2.0, "INCONCLUSIVE"),
    ],
)
def test_each_word_has_its_case(text, trials, margin, word):
    found = verdict(text, trials, margin)
    assert found.detail == word
    assert found.word == (word if word in ("REPRODUCED", "DISCREPANT") else "INCONCLUSIVE")
    assert found.reason.endswith(".")
    assert found.interval is not None
    assert found.difference == pytest.approx(np.mean(trials) - 70)


def test_reproduced_agrees_with_statsmodels_on_the_difference_and_the_noise_of_one_run():
    for sd in np.linspace(0.1, 1.5, 15):
        trials = spread(70.4, sd)
        error = sd * np.sqrt(1 / 5 + 1)
        data = DescrStatsW(np.array(spread(0.4 + 0.005, error * np.sqrt(5))))
        p = max(data.ttest_mean(2.0, "smaller")[1], data.ttest_mean(-2.0, "larger")[1])
        one = assess(JudgedCell(single("70.00"), trials, 2.0))
        assert one is not None
        assert one.p_equivalent == pytest.approx(p, abs=1e-10)


def test_rounding_is_held_against_both_claims():
    exact, coarse = single("70.000"), single("70")
    trials = spread(70.0, 0.55)
    assert judge_table([JudgedCell(exact, trials, 1.5)])[0].word == "REPRODUCED"
    assert judge_table([JudgedCell(coarse, trials, 1.5)])[0].word != "REPRODUCED"
    far = spread(72.6, 0.3)
    assert judge_table([JudgedCell(exact, far, 1.5)])[0].word == "DISCREPANT"
    assert judge_table([JudgedCell(coarse, far, 1.5)])[0].word != "DISCREPANT"


def test_an_uncertain_print_counts_with_its_whole_range():
    wide = Printed("41.4", value=Decimal("41.4"), low=Decimal("41.3"))
    side = published_values([wide], ddof=None, runs=None)[0]
    assert (side.low, side.high) == pytest.approx((41.25, 41.45))


def test_printed_deviations_are_converted_and_rounded_up():
    side = published_values([Printed.parse("42.73 ± 0.69")], ddof=0, runs=5)[0]
    assert side.spread == Spread(pytest.approx(0.695 * np.sqrt(5 / 4)), 4, 5)


def test_a_deviation_of_unknown_kind_counts_as_the_wider_one():
    unknown, zero, one = (
        published_values([Printed.parse("42.73 ± 0.69")], ddof=ddof, runs=3)[0].spread.sd
        for ddof in (None, 0, 1)
    )
    assert unknown == zero > one


def test_a_printed_spread_is_used_only_by_its_own_cell():
    printed = [Printed.parse("42.73"), Printed.parse("42.73 ± 0.69")]
    sides = published_values(printed, ddof=0, runs=5)
    assert sides[0].spread is None
    assert sides[1].spread is not None


def test_holm_takes_a_discrepancy_back_where_many_cells_were_tested():
    borderline = JudgedCell(single("70.00"), spread(73.55, 0.6), 2.0)
    others = [JudgedCell(single("70.00"), spread(70.0, 0.1), 2.0)] * 9
    assert judge_table([borderline])[0].word == "DISCREPANT"
    assert judge_table([borderline, *others])[0].detail == "SHIFTED"
    one = assess(borderline)
    assert one is not None
    p = [one.p_beyond] + [1.0] * 9
    assert multipletests(p, method="holm")[1][0] > 0.05 > one.p_beyond


def test_equal_trials_or_a_single_one_decide_nothing():
    for trials in ((70.0, 70.0, 70.0), (70.0,)):
        assert verdict("70.00", trials).word == "INCONCLUSIVE"


def test_two_trials_are_judged_by_the_wide_quantile_of_one_degree_of_freedom():
    cell = JudgedCell(single("70.00"), (69.9, 70.1), 2.0)
    one = assess(cell)
    assert one is not None
    assert one.half_width(0.95) == pytest.approx(6.3138 * 0.1414 * np.sqrt(1.5), rel=1e-3)
    assert judge_table([cell])[0].word == "REPRODUCED"
    assert verdict("70.00", (69.7, 70.3)).word != "REPRODUCED"


def test_a_printed_spread_of_zero_counts_as_the_largest_that_rounds_to_it():
    side = published_values([Printed.parse("70.00 ± 0.00")], ddof=0, runs=5)[0]
    assert side.spread == Spread(pytest.approx(0.005 * np.sqrt(5 / 4)), 4, 5)
    found = judge_table([JudgedCell(side, spread(70.1, 0.2), 2.0)])[0]
    assert found.word == "REPRODUCED"
    assert "The printed spread of 0.00 is taken as 0.005" in found.reason


LOOKS = (5, 10, 20, 40)
COUNTS = st.lists(st.integers(0, 60), min_size=1, max_size=8)


def test_shares_are_the_steps_of_the_spending_function() -> None:
    spent = [math.log(1 + (math.e - 1) * n / 40) for n in LOOKS]
    assert shares(LOOKS, 40) == pytest.approx(np.diff([0, *spent]))
    assert shares([5], 5) == pytest.approx([1.0])


@given(COUNTS, st.integers(1, 50))
def test_shares_never_spend_more_than_there_is(counts: list[int], declared: int) -> None:
    found = shares(counts, declared)
    assert min(found) >= 0
    assert sum(found) <= 1 + 1e-12


@pytest.mark.parametrize(("trials", "look"), [(5, 0), (9, 0), (10, 1), (39, 2), (40, 3), (60, 3)])
def test_the_last_look_reached_counts_at_its_share_of_the_level(trials: int, look: int) -> None:
    counted, level = reached(LOOKS, trials)
    assert counted == LOOKS[look]
    # The shares are of all declared trials, so that what is spent adds up to 5 %.
    assert level == pytest.approx(1 - 0.05 * shares(LOOKS, 40)[look])


def test_without_a_look_all_trials_count_at_the_whole_level() -> None:
    assert reached((), 7) == (7, pytest.approx(0.95))
    assert reached(LOOKS, 4) == (4, pytest.approx(0.95))


def test_a_cell_judged_at_every_look_would_err_more_often_so_it_is_judged_once() -> None:
    random, cells = np.random.default_rng(0), 1_500
    wrong = {"REPRODUCED": 0, "DISCREPANT": 0}
    trials = random.standard_normal((cells, LOOKS[-1]))
    for own, printed in zip(trials, random.normal(3, 1, cells), strict=True):
        side = PublishedValue(printed, printed, printed)
        found = [JudgedCell(side, tuple(own[:look].tolist()), 3.0) for look in LOOKS]
        words = {judge_table([one])[0].word for one in found}
        for word in wrong:
            wrong[word] += word in words
    assert all(0.06 < count / cells < 0.12 for count in wrong.values())
