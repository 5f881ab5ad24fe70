"""How much of a table is seen here: PASS, FAIL or OPEN, with the numbers behind it.

`docs/verdicts.md` defines the words. Two or three rows cannot reach p = 5 %: they have two or six
orders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..stats import pattern as patterns
from ..stats.intervals import Interval, detectable, t_interval
from ..stats.pattern import Pattern, retention
from ..stats.t_tests import LEVEL

TableWord = Literal["PASS", "FAIL", "OPEN", "NOT COMPARED", "NOT RUN"]
FEWEST_ROWS = 4
SEEN = 0.5
"""The retention above which a printed pattern counts as seen."""


@dataclass(frozen=True)
class TableAnswer:
    """What trials say of one table and metric (`benchmark.stats.pattern`).

    Attributes:
        columns: those of the same runs once; `joined` names the printed ones.
        pairs: how many are printed apart beyond rounding.
        orderings: the share of these that our means order alike.
        rests_on: the row, column or method without which retention changes most.
        without_it: retention without that.
        shown_in_80: the difference of two rows that this many trials show in 80 %.
    """

    metric: str
    word: TableWord
    reason: str
    rows: int
    columns: int
    trials: int
    retention: Interval
    reliability: float
    pairs: int
    orderings: float | None
    relabelling_p: float
    rests_on: str | None
    without_it: Interval | None
    shown_in_80: float | None
    joined: tuple[tuple[str, ...], ...] = ()


def answer_table(
    metric: str,
    pattern: Pattern,
    *,
    printed_variance: float | None = None,
    level: float = 0.95,
    joined: tuple[tuple[str, ...], ...] = (),
) -> TableAnswer | None:
    """What trials say of a pattern; None where its printed values do not differ.

    pattern: at least two paired trials. printed_variance: of one printed number, where the paper
    tells it.
    """
    slopes = retention(pattern.printed, pattern.trials)
    if slopes is None:
        return None
    slope, parts = t_interval(slopes, level), patterns.left_out(pattern)
    without = {name: t_interval(one, level) for name, one in parts.items() if one is not None}
    alone = [name for name in parts if name not in without]
    rests_on = max(without, key=lambda name: abs(without[name].mean - slope.mean), default=None)
    alike = patterns.orderings(replace(pattern, trials=pattern.means[..., None]))
    p = patterns.relabelling_p(pattern.printed, pattern.means)
    true_slope = patterns.reliability(pattern, printed_variance)
    word, reason = _word(slope, p, true_slope, patterns.distinct_rows(pattern), without, alone)
    sd = patterns.differences_sd(pattern)
    return TableAnswer(
        metric=metric,
        word=word,
        reason=reason,
        rows=len(pattern.rows),
        columns=len(pattern.columns),
        trials=pattern.n,
        retention=slope,
        reliability=true_slope,
        pairs=len(alike),
        orderings=float(alike.mean()) if len(alike) else None,
        relabelling_p=p,
        rests_on=rests_on,
        without_it=None if rests_on is None else without[rests_on],
        shown_in_80=None if sd is None else detectable(sd, pattern.n, level),
        joined=joined,
    )


def _word(
    slope: Interval,
    p: float,
    true_slope: float,
    rows: int,
    without: Mapping[str, Interval],
    alone: Sequence[str],
) -> tuple[TableWord, str]:
    """The word of a table, and why. alone: parts without which the print does not differ."""
    if slope.low is None or slope.high is None:
        return "OPEN", "All trials are equal, which tells nothing of their spread."
    if rows < FEWEST_ROWS:
        return "OPEN", f"{rows} rows of different runs have too few orders for a relabelling test."
    if slope.low > SEEN and p <= LEVEL:
        if alone:
            return "OPEN", f"All published differences are those of {bare_label(alone[0])}."
        falls = [name for name, one in without.items() if one.mean <= SEEN]
        if not falls:
            return "PASS", "The published differences are seen, whichever part is left out."
        kept = bare_label(min(falls, key=lambda name: without[name].mean))
        return "OPEN", f"It rests on {kept} alone."
    if slope.high < SEEN:
        if p <= LEVEL:
            return "OPEN", "Same order, smaller differences."
        rises = [name for name, one in without.items() if one.mean >= SEEN]
        if rises:
            kept = bare_label(max(rises, key=lambda name: without[name].mean))
            return "OPEN", f"Without {kept} at least half of the published differences are seen."
        if slope.high < true_slope / 2:
            return "FAIL", "The published differences are not seen, whichever part is left out."
        return "OPEN", "The published differences are hardly larger than the noise of one run."
    if slope.low > SEEN:
        return "OPEN", f"Other orders of the rows fit as well (relabelling p = {p:.2g})."
    return "OPEN", "The interval of the retention includes one half."


def bare_label(name: str) -> str:
    """A part that was left out, by its label alone where that says enough."""
    return name.removeprefix("row ").removeprefix("method ").replace("|", " ")
