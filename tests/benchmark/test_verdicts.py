from decimal import Decimal

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from fedrepro.benchmark.judging.published import Published, published_sides
from fedrepro.benchmark.judging.verdicts import JudgedCell, assess, judge_table
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.stats.spread import Spread


def single(text: str) -> Published:
    return published_sides([Printed.parse(text)], ddof=None, runs=None)[0]


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
    assert found.word == word
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
    side = published_sides([wide], ddof=None, runs=None)[0]
    assert (side.low, side.high) == pytest.approx((41.25, 41.45))


def test_printed_deviations_are_converted_and_rounded_up():
    side = published_sides([Printed.parse("42.73 ± 0.69")], ddof=0, runs=5)[0]
    assert side.spread == Spread(pytest.approx(0.695 * np.sqrt(5 / 4)), 4, 5)


def test_a_deviation_of_unknown_kind_counts_as_the_wider_one():
    unknown, zero, one = (
        published_sides([Printed.parse("42.73 ± 0.69")], ddof=ddof, runs=3)[0].spread.sd
        for ddof in (None, 0, 1)
    )
    assert unknown == zero > one


def test_a_deviation_of_an_unknown_number_of_runs_is_refused():
    with pytest.raises(ValueError, match="runs"):
        published_sides([Printed.parse("42.73 ± 0.69")], ddof=0, runs=None)


def test_a_printed_spread_is_used_only_by_its_own_cell():
    sides = published_sides([Printed.parse("42.73"), Printed.parse("42.73 ± 0.69")], ddof=0, runs=5)
    assert sides[0].spread is None
    assert sides[1].spread is not None


def test_holm_takes_a_discrepancy_back_where_many_cells_were_tested():
    borderline = JudgedCell(single("70.00"), spread(73.55, 0.6), 2.0)
    others = [JudgedCell(single("70.00"), spread(70.0, 0.1), 2.0)] * 9
    assert judge_table([borderline])[0].word == "DISCREPANT"
    assert judge_table([borderline, *others])[0].word == "SHIFTED"
    one = assess(borderline)
    assert one is not None
    p = [one.p_beyond] + [1.0] * 9
    assert multipletests(p, method="holm")[1][0] > 0.05 > one.p_beyond


def test_equal_trials_or_a_single_one_decide_nothing():
    equal = verdict("70.00", (70.0, 70.0, 70.0))
    assert (equal.word, equal.trials_needed) == ("INCONCLUSIVE", None)
    one = verdict("70.00", (70.0,))
    assert (one.word, one.trials_needed) == ("INCONCLUSIVE", 2)


def test_inconclusive_says_how_many_trials_would_decide_and_is_right():
    side = Published(70.0, 69.995, 70.005, Spread(0.4, 4, 5))
    found = judge_table([JudgedCell(side, spread(70.3, 2.2, 4), 2.0)])[0]
    assert found.word == "INCONCLUSIVE"
    assert found.trials_needed is not None
    assert f"about {found.trials_needed} trials" in found.reason
    enough = JudgedCell(side, spread(70.3, 2.2, found.trials_needed), 2.0)
    assert judge_table([enough])[0].word == "REPRODUCED"
    short = JudgedCell(side, spread(70.3, 2.2, found.trials_needed - 1), 2.0)
    assert judge_table([short])[0].word != "REPRODUCED"


def test_inconclusive_says_when_no_number_of_trials_would_decide():
    found = verdict("70.00", spread(70.0, 3.0))
    assert found.trials_needed is None
    assert "no number of trials" in found.reason


def test_a_table_without_cells_has_no_verdicts():
    assert judge_table([]) == []
