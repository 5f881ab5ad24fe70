"""A number as it was printed: digits, trailing zeros, spread, and the values it may stand for.

Numbers stay text until a comparison needs them, and every comparison carries the rounding bounds:
41.20 stands for [41.195, 41.205].
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Literal, Self, get_args

_UNSIGNED = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,4})?"
_VALUE = re.compile(
    rf"(?P<about>[≈~])?\s*(?P<value>[-+−]?{_UNSIGNED})(?:\s*±\s*(?P<sd>{_UNSIGNED}))?", re.ASCII
)


Rule = Literal["half up", "half even"]
"""How a number midway between two printed ones is rounded; a text keeps to one rule."""
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True)
class Printed:
    """One printed cell.

    `text`: as printed, without the spread ("41.20", "≈ 23", "—", "2ST"). `value`: the number, None
    where the cell holds words or a dash. `sd`: the printed spread. `low`, `high`: where extraction
    or printing leaves the value uncertain, the range that it can lie in."""

    text: str
    value: Decimal | None = None
    sd: Decimal | None = None
    approximate: bool = False
    low: Decimal | None = None
    high: Decimal | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads '41.20', '2,378,304', '42.73 ± 0.69', '≈ 23', '—' or words."""
        stripped = text.strip()
        match = _VALUE.fullmatch(stripped)
        if match is None:
            return cls(text=stripped)
        shown, about = stripped.split("±")[0].strip(), match["about"] is not None
        sd = _decimal(match["sd"]) if match["sd"] else None
        return cls(shown, _decimal(match["value"]), sd, about)

    def __str__(self) -> str:
        """The cell as printed, with its spread; `parse` reads it back."""
        return self.text if self.sd is None else f"{self.text} ± {self.sd}"

    @property
    def is_blank(self) -> bool:
        """Whether the cell is a printed dash or empty."""
        return self.text in ("", "-", "–", "—")

    @property
    def is_dash(self) -> bool:
        """Whether a dash is printed, which says that there is no value."""
        return self.is_blank and self.text != ""

    @property
    def half_unit(self) -> Decimal:
        """Half a unit of the last printed digit, 41.20 → 0.005; `ValueError` without a number."""
        if self.value is None:
            raise ValueError(f"'{self.text}' is not a number")
        return half_unit(self.value)

    @cached_property
    def bounds(self) -> tuple[Decimal, Decimal]:
        """The closed interval of values that print like this one; `ValueError` without a number."""
        half = self.half_unit
        assert self.value is not None
        low = self.value if self.low is None else self.low
        high = self.value if self.high is None else self.high
        return low - half, high + half


def closed_ends(value: Decimal, rule: Rule) -> tuple[bool, bool]:
    """Whether the ends of the interval that prints like `value` print like it, too. Under either
    rule 12.35 prints as 12.4, but 12.45 as 12.5 (half up) or as 12.4 (half even). How "half up"
    treats a negative number differs between programs, so both of its ends count."""
    if rule == "half up":
        return True, value < 0
    even = value.as_tuple().digits[-1] % 2 == 0
    return even, even


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace("−", "-").replace(",", ""))


def half_unit(value: Decimal) -> Decimal:
    """Half a unit of the last digit of `value`: Decimal('41.20') → Decimal('0.005')."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is not finite")
    return Decimal(1).scaleb(exponent) / 2
