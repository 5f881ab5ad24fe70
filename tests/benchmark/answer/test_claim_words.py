from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.claims.answer import ClaimAnswer, Known, answer_claim
from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.spec.model import Claim, Paper, Table
from tests.benchmark.audit.small_paper import cell

STEADY = [-0.3, 0.1, 0.4, -0.2, 0.0, 0.2, -0.1, -0.1, 0.3, -0.3]
"""Ten errors with mean zero and SD 0.24."""


def table(printed: Mapping[str, str], kind: str = "empirical", unit: str | None = "%") -> Table:
    metric = "accuracy" if unit == "%" else "loss"
    cells = tuple(
        cell(text, row, "c", kind=kind, metric=metric, unit=unit, experiment={})
        for row, text in printed.items()
    )
    return Table("1", "t", "1", "empirical", "accuracy", "%", paper="p", cells=cells)


def answered(
    holds: str,
    printed: Mapping[str, str],
    trials: Mapping[str, Sequence[float]],
    *,
    kind: str = "empirical",
    every_trial: bool = False,
    unit: str | None = "%",
    **known: object,
) -> ClaimAnswer:
    own = table(printed, kind, unit)
    paper = Paper("p", "t", "a", 2020, {}, tables=(own,))
    claim = Claim("c", "says", holds, every_trial=every_trial)
    values = {("1", (row,), ("c",)): dict(enumerate(one)) for row, one in trials.items()}
    return answer_claim(claim, bind(claim, own, paper), Known(values, **known))


def arms(**means: float) -> dict[str, list[float]]:
    """Trials about each mean; errors of neighbours are turned, so that nothing is paired away."""
    return {
        name: [mean + (1 if i % 2 else -1) * e for e in np.roll(STEADY, i)]
        for i, (name, mean) in enumerate(means.items())
    }


PRINTED = {"A": "60.0", "B": "50.0", "C": "50.0"}


MEANS = {60.0: "HOLDS", 56.0: "HOLDS", 53.0: "SAME DIRECTION", 50.3: "ABSENT", 45: "OPPOSITE"}


@pytest.mark.parametrize(("a", "word"), MEANS.items())
def test_the_word_follows_the_ratio_to_the_printed_difference(a: float, word: str) -> None:
    found = answered("'A' > 'B'", PRINTED, arms(A=a, B=50))
    assert found.word == word
    assert found.kind == "ratio"
    assert found.ratio.mean == pytest.approx((a - 50) / 10)
    assert found.levels.ours == pytest.approx((a, 50.0))
    assert found.levels.published == (60.0, 50.0)


def test_what_is_larger_than_the_printed_largest_here_takes_a_word_away() -> None:
    """B is printed largest, so its lead is measured; C is larger here, always or by turns."""
    printed = {"A": "60.0", "B": "50.0", "C": "40.0", "D": "49.0"}
    best = "'A' > max('B', 'C')"
    assert answered(best, printed, arms(A=60, B=50, C=40)).word == "HOLDS"
    ahead = answered(best, printed, arms(A=60, B=50, C=65))
    assert (ahead.word, ahead.shown, ahead.opposite) == ("OPEN", 0, 1)
    assert ahead.trials_ahead == 0
    assert ahead.ratio.mean == pytest.approx(1.0)
    turns = {"A": 60.0, "B": 50.0, "C": np.where(np.arange(10) % 2, 75.0, 40.0)}
    by_turns = {
        name: np.broadcast_to(mean, 10) + np.roll(STEADY, i)
        for i, (name, mean) in enumerate(turns.items())
    }
    found = answered(best, printed, by_turns)
    assert (found.word, found.shown, found.trials_ahead) == ("SAME DIRECTION", 0, 5)


def test_a_range_is_that_of_each_trial() -> None:
    """The printed extremes B and C are close here; D lies far from both."""
    printed = {"B": "50.0", "C": "49.0", "D": "49.5"}
    near = "max('B', 'C', 'D') - min('B', 'C', 'D') < 2"
    assert answered(near, printed, arms(B=50, C=49.5, D=49.7)).word == "HOLDS"
    far = answered(near, printed, arms(B=50, C=49.5, D=40))
    assert (far.word, far.shown, far.opposite) == ("OPEN", 0, 1)
    close = "max('B', 'C') ~ 1 'D'"
    assert answered(close, printed, arms(B=50, C=49.5, D=49.7)).word == "HOLDS"
    assert answered(close, printed, arms(B=50, C=60, D=49.7)).word == "OPPOSITE"


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e9])
@pytest.mark.parametrize("unit", [None, ""])
def test_words_do_not_hang_on_the_unit(scale: float, unit: str | None) -> None:
    """Losses of 0.003 that differ by 1e-6 are not equal; of any size, those in one part of 1e8 are.

    Printed numbers stay as they are: direction and equality alone are asked.
    """

    def word(apart: float) -> tuple[str, int]:
        a = [scale * (3 + apart * (1 + e)) for e in STEADY]
        b = [scale * (3 + 1e-9 * e) for e in STEADY]
        found = answered("'A' > 'B'", {"A": "", "B": ""}, {"A": a, "B": b}, unit=unit)
        return found.word, found.trials_ahead

    assert word(3e-4) == ("SAME DIRECTION", 10)
    assert word(3e-8) == ("OPEN", 0)


def test_percentages_within_a_hundred_thousandth_of_a_point_are_equal() -> None:
    """The step of an accuracy in float32."""
    few = {"A": [60 + 4e-6 * i for i in (1, 2, 1, 2)], "B": [60.0] * 4}
    found = answered("'A' > 'B'", {"A": "", "B": ""}, few)
    assert (found.trials_ahead, found.reason) == (0, "0 of 1 comparisons ahead, 0 behind.")
    more = {"A": [60 + 4e-5 * i for i in (1, 2, 1, 2)], "B": [60.0] * 4}
    assert answered("'A' > 'B'", {"A": "", "B": ""}, more).trials_ahead == 4


def test_smaller_turns_a_comparison_round() -> None:
    assert answered("'B' < 'A'", PRINTED, arms(A=60, B=50)).word == "HOLDS"


def test_a_large_mean_does_not_hold_where_one_comparison_is_not_shown() -> None:
    found = answered("'A' > 'B', 'C'", PRINTED, arms(A=60, B=45, C=60))
    assert (found.word, found.shown, found.comparisons) == ("SAME DIRECTION", 1, 2)


def test_a_mean_does_not_outvote_a_comparison_that_is_shown_opposite() -> None:
    found = answered("'A' > 'B', 'C'", PRINTED, arms(A=60, B=40, C=62))
    assert (found.word, found.opposite) == ("OPEN", 1)
    assert found.reason == "1 of 2 comparisons shown opposite."


def test_wide_trials_are_open() -> None:
    trials = arms(A=60, B=50)
    trials["A"] = [60 + 200 * one for one in STEADY]
    assert answered("'A' > 'B'", PRINTED, trials).word == "OPEN"


@pytest.mark.parametrize("printed", [{"A": "", "B": "50.0"}, {"A": "50.0", "B": "60.0"}])
def test_without_a_printed_difference_as_claimed_direction_alone_counts(printed) -> None:
    found = answered("'A' > 'B'", printed, arms(A=60, B=50))
    assert (found.word, found.kind, found.ratio) == ("SAME DIRECTION", "direction", None)
    assert answered("'A' > 'B'", printed, arms(A=40, B=50)).word == "OPPOSITE"


def test_a_printed_difference_within_rounding_is_none() -> None:
    found = answered("'A' > 'B'", {"A": "50.05", "B": "50.0"}, arms(A=60, B=50))
    assert found.kind == "direction"


def test_a_stated_number_is_a_bound() -> None:
    for a, word in ((53.0, "HOLDS"), (52.0, "OPEN"), (51.0, "OPPOSITE")):
        found = answered("'A' - 'B' > 2", PRINTED, arms(A=a, B=50))
        assert (found.word, found.kind) == (word, "bound")


def test_closeness_takes_two_one_sided_tests() -> None:
    for b, word in ((60.3, "HOLDS"), (61.0, "OPEN"), (63.0, "OPPOSITE")):
        found = answered("'A' ~ 1 'B'", PRINTED, arms(A=60, B=b))
        assert (found.word, found.kind) == (word, "closeness")


def test_a_stated_size_is_compared_where_there_is_a_margin() -> None:
    trials = arms(A=60, B=50)
    assert answered("'A' - 'B' = 10", PRINTED, trials).word == "NOT COMPARED"
    held = answered("'A' - 'B' = 10", PRINTED, trials, margin=lambda one: 2.0)
    assert (held.word, held.printed) == ("HOLDS", 10.0)
    assert held.ours is not None
    assert held.ours.mean == pytest.approx(10, abs=1)
    assert answered("'A' - 'B' = 20", PRINTED, trials, margin=lambda one: 2.0).word == "OPPOSITE"


@pytest.mark.parametrize(
    ("holds", "a", "word"),
    [
        ("'A' - 'B' = 10", 50.0, "OPEN"),
        ("'A' - 'B' = 10", 30.0, "OPEN"),
        ("'A' - 'B' = 20", 58.0, "OPEN"),
        ("'A' - 'B' = 20", 63.0, "HOLDS"),
        ("'A' = 'B' + 10", 57.0, "HOLDS"),
        ("'A' / 'B' = 1.2", 50.0, "OPEN"),
        ("'A' - 'B' ~ 30 10", 45.0, "OPEN"),
        ("'A' ~ 30 'B'", 45.0, "HOLDS"),
    ],
)
def test_no_margin_takes_none_for_a_stated_size(holds: str, a: float, word: str) -> None:
    found = answered(holds, PRINTED, arms(A=a, B=50), margin=lambda one: 40.0)
    assert found.word == word


def test_what_is_said_of_every_trial_holds_only_in_all() -> None:
    trials = arms(A=60, B=50)
    assert answered("'A' > 'B'", PRINTED, trials, every_trial=True).word == "HOLDS"
    two = {"A": [60.0, 70.0], "B": [59.9, 60.0]}
    assert answered("'A' > 'B'", PRINTED, two, every_trial=True).word == "OPEN"
    trials["A"] = [*trials["A"][:9], 49.0]
    found = answered("'A' > 'B'", PRINTED, trials, every_trial=True)
    assert (found.word, found.reason) == ("OPEN", "9 of 10 trials as stated.")


def test_counted_numbers_need_no_interval() -> None:
    counts = {"A": [9.0], "B": [5.0], "C": [9.0]}
    printed = {"A": "9", "B": "5", "C": "9"}
    for holds, word in (
        ("'A' > 'B'", "HOLDS"),
        ("'A' > 'B', 'C'", "OPEN"),
        ("'B' > 'A'", "OPPOSITE"),
        ("'A' = 'C'", "HOLDS"),
        ("'A' ~ 4 'B'", "HOLDS"),
        ("'A' ~ 3 'B'", "OPPOSITE"),
    ):
        found = answered(holds, printed, counts, kind="analytic")
        assert (found.word, found.kind) == (word, "counted"), holds


def test_a_zero_divisor_is_not_compared() -> None:
    trials = {"A": [1.0] * 5, "B": [0.0] * 5}
    assert answered("'A' / 'B' > 1", PRINTED, trials).word == "NOT COMPARED"


@pytest.mark.parametrize("every_trial", [False, True])
@pytest.mark.parametrize("holds", ["'A' > 'B'", "'A' - 'B' > 2", "'A' ~ 20 'B'", "'A' - 'B' = 10"])
def test_equal_trials_are_no_evidence(holds: str, every_trial: bool) -> None:
    copies = {"A": [60.0] * 10, "B": [50.0] * 10}
    found = answered(
        holds, PRINTED, copies, every_trial=every_trial and ">" in holds, margin=lambda one: 2.0
    )
    assert found.word == "OPEN"


def test_a_comparison_whose_trials_are_equal_is_not_shown() -> None:
    trials = {"A": [60.0] * 10, "B": [50.0] * 10, "C": arms(C=50)["C"]}
    found = answered("'A' > 'B', 'C'", PRINTED, trials)
    assert (found.word, found.shown) == ("SAME DIRECTION", 1)


def test_what_is_missing_is_said() -> None:
    key = ("1", ("B",), ("c",))
    found = answered("'A' > 'B'", PRINTED, arms(A=60), lacking={key: "no stand-in"})
    assert (found.word, found.reason) == ("NOT RUN", "B @ c: no stand-in.")
    found = answered("'A' > 'B'", PRINTED, arms(A=60, B=50), lacking={key: "9 of 10 finished"})
    assert (found.word, found.reason[:38]) == ("OPEN", "Fewer trials than planned: B @ c: 9 of")


def test_only_seeds_that_all_cells_have_are_paired() -> None:
    trials = arms(A=60, B=50)
    trials["B"] = trials["B"][:4]
    assert answered("'A' > 'B'", PRINTED, trials).trials == 4


def test_a_look_sees_the_first_trials_at_its_part_of_the_level() -> None:
    trials = arms(A=60, B=50)
    looked = answered("'A' > 'B'", PRINTED, trials, looks=(5, 20))
    whole = answered("'A' > 'B'", PRINTED, {name: one[:5] for name, one in trials.items()})
    assert looked.trials == 5
    assert looked.ours.low < whole.ours.low
    assert looked.ours.mean == pytest.approx(whole.ours.mean)


@given(st.floats(0.01, 100), st.integers(0, 1000))
def test_scaling_printed_and_own_values_alike_changes_no_word(scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    trials = {name: rng.normal(55, 5, 6) for name in "AB"}

    def word(factor: float) -> str:
        printed = {
            name: f"{Decimal(text) * Decimal(factor):.12f}" for name, text in PRINTED.items()
        }
        own = {name: list(one * factor) for name, one in trials.items()}
        return answered("'A' > 'B'", printed, own).word

    assert word(scale) == word(1.0)
