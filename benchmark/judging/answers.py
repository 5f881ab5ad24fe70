"""How much of a table is seen here: PASS, FAIL or OPEN, with the numbers behind it.

The paper's own method is compared with the baselines that have the best published values.
`docs/verdicts.md` defines the words. Two or three rows cannot reach p = 5 %: they have two or six
orders.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..claims.answer import Known
from ..claims.nodes import Values
from ..metrics import metric as facts_of
from ..spec.model import Cell, Paper, Table
from ..stats import pattern as patterns
from ..stats.intervals import LEVEL, Floats, Interval, detectable, t_interval
from ..stats.pattern import Pattern, retention
from .observed import Names, columns_of, is_compared, pattern_of, source_of

TableWord = Literal["PASS", "FAIL", "OPEN", "NOT COMPARED", "NOT RUN"]
FEWEST_ROWS = 4
SEEN = 0.5  # the retention above which a printed pattern counts as seen


@dataclass(frozen=True)
class TableAnswer:
    """What trials say of one table and metric (`benchmark.stats.pattern`).

    `columns`: those of the same runs once; `joined` names the printed ones. `pairs`: how many are
    printed apart beyond rounding. `orderings`: the share of these that our means order alike.
    `rests_on`: the row, column or method without which retention changes most. `without_it`:
    retention without that. `shown_in_80`: the difference of two rows that this many trials show in
    80 %."""

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


@dataclass(frozen=True)
class Lead:
    """How far the own method is ahead; above zero is better.

    `against`: the baselines with the best published value in some column. `ahead`: in how many
    trials the own method is ahead. `shown_in_80`: the lead that this many trials show in 80 %.
    `baselines_ahead`: that are shown ahead of the own method here."""

    own: str
    against: tuple[str, ...]
    columns: int
    printed: float
    ours: Interval
    ahead: int
    trials: int
    shown_in_80: float | None
    baselines_ahead: tuple[str, ...]


Answered = tuple[TableWord, str, tuple[TableAnswer, ...], tuple[Lead, ...]]
"""A word with its reason, what trials say by metric, and leads. The first metric decides."""


def answer(table: Table, paper: Paper, known: Known, names: Names) -> Answered:
    """What trials say of a table."""
    printed, values = [one for one in table.cells if is_compared(one)], known.values
    if not printed:
        why = "It has no published numbers that trials could be compared with."
        if any(one.kind == "analytic" for one in table.cells):
            why = "Its numbers are calculated, not trained: its cells have their own words."
        return "NOT COMPARED", why, (), ()
    if not any(one.key in values for one in printed):
        whys = (known.lacking[one.key] for one in printed if one.key in known.lacking)
        return "NOT RUN", next(whys, "Nothing of it was selected."), (), ()
    found: list[TableAnswer] = []
    leads: list[Lead] = []
    metrics = dict.fromkeys(one.metric for one in printed)
    for name in sorted(metrics, key=lambda one: one != table.metric):
        columns = columns_of((one for one in printed if one.metric == name), values)
        whole = pattern_of(columns, values, names)
        shown = whole and whole.paired(known.looks)
        one = shown and answer_table(name or "", shown, printed_variance(table, paper, name))
        if not (whole and shown and one):
            if not found:
                why = f"Of its first metric, {name}, no two rows have paired trials."
                return "OPEN", why, (), ()
            continue
        # Of a metric without a direction there are no leads.
        if not found and (facts := facts_of(name)) is not None:
            most, less = shown.n if known.looks else None, facts.lower_is_better
            same_level = replace(whole, level=shown.level)
            every = (lead(same_level, own, paper.is_baseline, less, most) for own in paper.own)
            leads = [one for one in every if one is not None]
        found.append(one)
    word, reason = found[0].word, found[0].reason
    first = [one for one in printed if one.metric == found[0].metric]
    if incomplete := _incomplete(first, known):
        word, reason = "OPEN", incomplete
    elif any(one.ours.lies_below(0.0) for one in leads):
        reason += " The paper's own method is shown behind the best published baselines."
    numbers = [one for one in table.cells if one.printed.value is not None]
    skipped = {one.row for one in numbers if one.skip is not None or one.kind == "descriptive"}
    if skipped := skipped - {one.row for one in printed}:
        reason += f" Left out by the spec: {len(skipped)} of its rows with numbers."
    return word, reason, tuple(found), tuple(leads)


def _incomplete(printed: Sequence[Cell], known: Known) -> str | None:
    """Why a table is not answered as a whole: rows without trials, or trials that failed. Columns
    of which nothing was run are left out of the table."""
    shown = {one.column for one in printed if one.key in known.values}
    wanted = [one for one in printed if one.column in shown]
    rows = {one.row for one in wanted}
    if absent := {one.row for one in wanted if one.key not in known.values}:
        return f"{len(rows) - len(absent)} of {len(rows)} rows have all their trials."
    for one in wanted:
        if one.key in known.lacking:
            why = known.lacking[one.key].rstrip(".")
            return f"Fewer trials than planned: {one.label}: {why}."
    return None


def pooled(tables: Sequence[Table], values: Values, names: Names) -> TableAnswer | None:
    """All tables of the metric that most cells have, together; None without any."""
    printed = (cell for one in tables for cell in one.cells if cell.printed.value is not None)
    every = [cell.metric for cell in printed if cell.key in values]
    name = max(dict.fromkeys(every), key=every.count, default=None)
    columns = {
        f"{label} of table {one.id}": column
        for one in tables
        for label, column in columns_of((c for c in one.cells if c.metric == name), values).items()
        # One run alone compares nothing.
        if len({source_of(cell, values) for cell in column.values()}) > 1
    }
    pattern = pattern_of(columns, values, names)
    return None if pattern is None else answer_table(name or "", pattern.paired())


def printed_variance(table: Table, paper: Paper, metric: str | None) -> float | None:
    """The variance of one printed number: of the table's spreads, or of those taken for it."""
    for other in (table, *map(paper.table, table.sd.sources)):
        own = (one.printed.sd for one in other.cells if one.metric == metric)
        if spreads := [float(sd) ** 2 for sd in own if sd is not None]:
            runs = (other.sd.runs or 1) if other is table else 1
            return sum(spreads) / len(spreads) / runs
    return None


def lead(
    pattern: Pattern,
    own: str,
    is_baseline: Callable[[str], bool],
    lower_is_better: bool = False,
    most: int | None = None,
) -> Lead | None:
    """The lead over all columns that have the own method and a baseline; None without any. Trials
    are paired for each comparison by itself. `most`: how many count at most; None for all."""
    if own not in pattern.rows:
        return None
    mine, sign = pattern.rows.index(own), -1.0 if lower_is_better else 1.0
    printed, there = sign * pattern.printed, ~np.isnan(pattern.printed)
    rivals = [i for i, row in enumerate(pattern.rows) if row != own and is_baseline(row)]
    columns = [c for c in range(len(pattern.columns)) if there[mine, c] and there[rivals, c].any()]

    def ahead_of(against: Sequence[tuple[int, int]]) -> Floats | None:
        """Own minus rival averaged over columns, by trial; None below two paired trials."""
        apart = [pattern.trials[mine, c] - pattern.trials[row, c] for row, c in against]
        found = sign * np.mean(apart, axis=0)
        found = found[~np.isnan(found)][:most]
        return found if len(found) > 1 else None

    best = [(rivals[int(np.nanargmax(printed[rivals, c]))], c) for c in columns]
    values = ahead_of(best) if best else None
    if values is None:
        return None
    baselines_ahead = []
    for row in rivals:
        met = [(row, c) for c in columns if there[row, c]]
        found = ahead_of(met) if met else None
        ours = None if found is None else t_interval(found, pattern.level, pattern.tie)
        if ours is not None and ours.lies_below(0.0):
            baselines_ahead.append(pattern.rows[row])
    return Lead(
        own=own,
        against=tuple(sorted({pattern.rows[row] for row, _ in best})),
        columns=len(best),
        printed=float(np.mean([printed[mine, c] - printed[row, c] for row, c in best])),
        ours=t_interval(values, pattern.level, pattern.tie),
        ahead=int((values > pattern.tie).sum()),
        trials=len(values),
        shown_in_80=detectable(float(values.std(ddof=1)), len(values), pattern.level),
        baselines_ahead=tuple(baselines_ahead),
    )


def answer_table(
    metric: str, pattern: Pattern, printed_variance: float | None = None
) -> TableAnswer | None:
    """What paired trials say; None below two of them, and where printed values do not differ.
    `printed_variance`: of one printed number, where the paper gives it."""
    slopes = retention(pattern.printed, pattern.trials) if pattern.n > 1 else None
    if slopes is None:
        return None
    level, parts = pattern.level, patterns.left_out(pattern)
    slope = t_interval(slopes, level)
    without = {name: t_interval(one, level) for name, one in parts.items() if one is not None}
    alone = [name for name in parts if name not in without]
    rests_on = max(without, key=lambda name: abs(without[name].mean - slope.mean), default=None)
    alike = patterns.orderings(replace(pattern, trials=pattern.means[..., None]))
    p = patterns.relabelling_p(pattern.printed, pattern.means)
    true_slope = patterns.reliability(pattern, printed_variance)
    # Rows with trials of their own.
    own = {row.tobytes() for row in np.nan_to_num(pattern.trials, nan=-1.0)}
    word, reason = _word(slope, p, true_slope, len(own), without, alone)
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
        joined=pattern.joined,
    )


def _word(
    slope: Interval,
    p: float,
    true_slope: float,
    rows: int,
    without: Mapping[str, Interval],
    alone: Sequence[str],
) -> tuple[TableWord, str]:
    """The word of a table, and why. `alone`: parts without which published values do not differ."""
    if slope.low is None or slope.high is None:
        return "OPEN", "All trials are equal, which tells nothing of their spread."
    if rows < FEWEST_ROWS:
        said = f"{rows} rows with trials of their own have too few orders"
        return "OPEN", f"{said} for a relabelling test."
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
    return "OPEN", "The differences here may be more or less than half as large."


def bare_label(name: str) -> str:
    """A part that was left out, by its label alone where that says enough."""
    return name.removeprefix("row ").removeprefix("method ").replace("|", " ")
