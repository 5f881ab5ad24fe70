"""How much of a table is seen here: PASS, FAIL or OPEN, with the numbers behind it.

In it the paper's own method stands against the baselines that are printed best.
`docs/verdicts.md` defines the words. Two or three rows cannot reach p = 5 %: they have two or six
orders.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..metrics import metric as facts_of
from ..spec.model import Cell, CellKey, Paper, Table
from ..stats import pattern as patterns
from ..stats.intervals import Interval, detectable, t_interval
from ..stats.pattern import Floats, Pattern, retention
from ..stats.t_tests import LEVEL, reached
from .observed import (
    Column,
    Observed,
    columns_of,
    is_compared,
    once,
    paired,
    pattern_of,
    tie_of,
)

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


Names = Mapping[str | None, str]


@dataclass(frozen=True)
class Lead:
    """How far the own method is ahead; above zero is better.

    Attributes:
        against: the baselines that are printed best in some column.
        ahead: in how many trials the own method is ahead.
        shown_in_80: the lead that this many trials show in 80 %.
        baselines_ahead: that are shown ahead of the own method here.
    """

    own: str
    against: tuple[str, ...]
    columns: int
    printed: float
    ours: Interval
    ahead: int
    trials: int
    shown_in_80: float | None
    baselines_ahead: tuple[str, ...]


@dataclass(frozen=True)
class Answered:
    """What trials say of a table, by metric; the first decides, and leads are by it."""

    word: TableWord
    reason: str
    answers: tuple[TableAnswer, ...] = ()
    leads: tuple[Lead, ...] = ()


def answer(
    table: Table,
    paper: Paper,
    cells: Sequence[Observed],
    lacking: Mapping[CellKey, str],
    names: Names,
    looks: Sequence[int] = (),
) -> Answered:
    """What trials say of a table.

    cells: of the table, those that have trials. lacking: by cell without all of its trials, why.
    names: of methods, as printed. looks: declared numbers of trials.
    """
    printed = [one for one in table.cells if is_compared(one)]
    if not printed:
        why = "It has no published numbers that trials could be compared with."
        if any(one.kind == "analytic" for one in table.cells):
            why = "Its numbers are calculated, not trained: its cells have their own words."
        return Answered("NOT COMPARED", why)
    if not any(is_compared(one.cell) for one in cells):
        whys = dict.fromkeys(lacking[one.key] for one in printed if one.key in lacking)
        return Answered("NOT RUN", next(iter(whys), "Nothing of it was selected."))
    found: list[TableAnswer] = []
    leads: tuple[Lead, ...] = ()
    metrics = dict.fromkeys(one.metric for one in printed)
    for name in sorted(metrics, key=lambda one: one != table.metric):
        own = [one for one in cells if one.cell.metric == name]
        columns, joined = once(columns_of(own).items())
        whole = None if not columns else pattern_of(columns, names)
        n, level = (0, 0.95) if whole is None else reached(looks, whole.n)
        one = None
        if whole is not None and n > 1:
            one = answer_table(
                name or "",
                replace(whole, trials=whole.trials[..., :n]),
                printed_variance=printed_variance(table, paper, name),
                level=level,
                joined=joined,
            )
        if one is None and not found:
            return Answered("OPEN", f"Of its first metric, {name}, no two rows have paired trials.")
        # Of a metric without a direction there are no leads.
        if one is not None and not found and (facts := facts_of(name)) is not None:
            used, most = list(columns.values()), n if looks else None
            lower, rivals = facts.lower_is_better, paper.is_baseline
            every = (lead(used, own, rivals, lower, level, most) for own in paper.own)
            leads = tuple(one for one in every if one is not None)
        found += filter(None, [one])
    word, reason = found[0].word, found[0].reason
    if incomplete := _incomplete(printed, cells, found[0].metric, lacking):
        word, reason = "OPEN", incomplete
    elif any(one.ours.lies_below(0.0) for one in leads):
        reason += " The paper's own method is shown behind the best published baselines."
    return Answered(word, reason, tuple(found), leads)


def _incomplete(
    printed: Sequence[Cell],
    cells: Sequence[Observed],
    metric: str,
    lacking: Mapping[CellKey, str],
) -> str | None:
    """Why a table is not answered as a whole: rows without trials, or trials that failed.

    Columns of which nothing was run are left out of the table.
    """
    there = {one.cell.key for one in cells}
    shown = {one.cell.column for one in cells if is_compared(one.cell)}
    wanted = [one for one in printed if one.metric == metric and one.column in shown]
    rows = {one.row for one in wanted}
    if absent := {one.row for one in wanted if one.key not in there}:
        return f"{len(rows) - len(absent)} of {len(rows)} rows have all their trials."
    for one in wanted:
        if one.key in lacking:
            return f"Fewer trials than planned: {one.label}: {lacking[one.key].rstrip('.')}."
    return None


def pooled(tables: Mapping[str, Sequence[Observed]], names: Names) -> TableAnswer | None:
    """All tables of the metric that most cells have, together; None without any."""
    every = [one.cell.metric for cells in tables.values() for one in cells]
    name = max(dict.fromkeys(every), key=every.count, default=None)
    columns, _ = once(
        (f"{table}: {label}", column)
        for table, cells in tables.items()
        for label, column in columns_of(one for one in cells if one.cell.metric == name).items()
        if len({one.source for one in column.values()}) > 1  # one run alone compares nothing
    )
    pattern = pattern_of(columns, names) if columns else None
    return answer_table(name or "", pattern) if pattern and pattern.n > 1 else None


def printed_variance(table: Table, paper: Paper, metric: str | None) -> float | None:
    """The variance of one printed number: of the table's spreads, or of those that it borrows."""
    for other in (table, *map(paper.table, table.sd.sources)):
        own = (one.printed.sd for one in other.cells if one.metric == metric)
        if spreads := [float(sd) ** 2 for sd in own if sd is not None]:
            runs = (other.sd.runs or 1) if other is table else 1
            return sum(spreads) / len(spreads) / runs
    return None


def lead(
    columns: Sequence[Column],
    own: str,
    is_baseline: Callable[[str], bool],
    lower_is_better: bool = False,
    level: float = 0.95,
    most: int | None = None,
) -> Lead | None:
    """The lead over all columns that have the own method and a baseline; None without any.

    columns: those of the same runs once. most: how many paired trials count; None for all.
    """
    sign = -1.0 if lower_is_better else 1.0
    rivals = [
        (column, rows)
        for column in columns
        if own in column and (rows := [row for row in column if row != own and is_baseline(row)])
    ]

    def ahead_of(against: Sequence[tuple[Column, str]]) -> Floats | None:
        """Own minus rival averaged over columns, by trial; None below two paired trials."""
        pairs = [(column[own], column[row]) for column, row in against]
        seeds = paired([cell for pair in pairs for cell in pair])[:most]
        found = [[a.trials[seed] - b.trials[seed] for seed in seeds] for a, b in pairs]
        return np.asarray(sign * np.mean(found, axis=0)) if len(seeds) > 1 else None

    best = [(one, max(rows, key=lambda row: sign * one[row].printed)) for one, rows in rivals]
    values = ahead_of(best) if best else None
    if values is None:
        return None
    step = tie_of([one for column, _ in rivals for one in column.values()])
    baselines_ahead = []
    for rival in dict.fromkeys(row for _, rows in rivals for row in rows):
        found = ahead_of([(column, rival) for column, _ in rivals if rival in column])
        if found is not None and t_interval(found, level, step).lies_below(0.0):
            baselines_ahead.append(rival)
    printed = [sign * (column[own].printed - column[row].printed) for column, row in best]
    return Lead(
        own=own,
        against=tuple(sorted({row for _, row in best})),
        columns=len(best),
        printed=float(np.mean(printed)),
        ours=t_interval(values, level, step),
        ahead=int((values > step).sum()),
        trials=len(values),
        shown_in_80=detectable(float(values.std(ddof=1)), len(values), level),
        baselines_ahead=tuple(baselines_ahead),
    )


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
