from decimal import ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.spec.printed import Printed

ROUNDINGS = (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_HALF_DOWN)

decimals = st.decimals(-10_000, 10_000, places=6)
places = st.integers(0, 4)


def rounded(value: Decimal, digits: int, rounding: str) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-digits), rounding=rounding)


@given(decimals, places, st.sampled_from(ROUNDINGS))
def test_bounds_hold_every_value_that_prints_so(value: Decimal, digits: int, rounding: str) -> None:
    printed = Printed.parse(f"{rounded(value, digits, rounding):f}")
    low, high = printed.bounds
    assert low <= value <= high


@given(decimals, places, st.fractions(-2, 2))
def test_bounds_hold_none_that_prints_otherwise(value: Decimal, digits: int, shift: object) -> None:
    printed = Printed.parse(f"{rounded(value, digits, ROUND_HALF_EVEN):f}")
    assert printed.value is not None
    unit = Decimal(1).scaleb(-digits)
    other = printed.value + unit * Decimal(shift.numerator) / Decimal(shift.denominator)  # type: ignore[attr-defined]
    low, high = printed.bounds
    reachable = any(rounded(other, digits, rounding) == printed.value for rounding in ROUNDINGS)
    assert (low <= other <= high) == reachable


@given(
    decimals, places, st.none() | st.decimals(0, 100, places=2), st.sampled_from(["", "≈ ", "~"])
)
def test_what_is_printed_again_reads_the_same(
    value: Decimal, digits: int, sd: Decimal | None, about: str
) -> None:
    text = f"{about}{rounded(value, digits, ROUND_HALF_UP):f}"
    full = text if sd is None else f"{text} ± {sd:f}"
    printed = Printed.parse(full)
    assert str(printed) == full
    assert Printed.parse(str(printed)) == printed
    assert (printed.text, printed.sd, printed.approximate) == (text, sd, bool(about))


@pytest.mark.parametrize(("text", "value", "sd"), [
    ("41.20", "41.20", None),
    ("42.73 ± 0.69", "42.73", "0.69"),
    ("42.73±0.70", "42.73", "0.70"),
    ("−3.5", "-3.5", None),
    ("2,378,304", "2378304", None),
    ("0.17", "0.17", None),
])  # fmt: skip
def test_digits_are_kept(text: str, value: str, sd: str | None) -> None:
    printed = Printed.parse(text)
    assert str(printed.value) == value
    assert (None if printed.sd is None else str(printed.sd)) == sd


@pytest.mark.parametrize(
    "text", ["2ST", "42,73", "42.73 +- 0.69", "1.2.3", "yes", "42.73 ± -1", "٤١"]
)
def test_words_have_no_value(text: str) -> None:
    printed = Printed.parse(text)
    assert printed.value is None
    with pytest.raises(ValueError, match="not a number"):
        _ = printed.bounds


@pytest.mark.parametrize("text", ["—", "-", "–", "", "  "])
def test_dashes_are_blank(text: str) -> None:
    assert Printed.parse(text).is_blank
    assert Printed.parse(text).is_dash == bool(text.strip())
    assert not Printed.parse("0").is_blank
