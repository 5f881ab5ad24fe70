"""Tables of a plan, and in them the paper's own method against the baselines printed best."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..metrics import metric as facts_of
from ..spec.model import Cell, CellKey, Paper, Table
from ..stats.intervals import Interval, detectable, t_interval
from ..stats.pattern import Floats
from ..stats.t_tests import reached
from .observed import (
    Column,
    Observed,
    columns_of,
    is_compared,
    once,
    paired_seeds,
    pattern_of,
    printed_names,
    tie_of,
)
from .table_answer import TableAnswer, TableWord, answer_table


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
    looks: Sequence[int] = (),
) -> Answered:
    """What trials say of a table.

    cells: of the table, those that have trials. lacking: by cell without all of its trials, why.
    looks: declared numbers of trials.
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
    found: list[tuple[TableAnswer, tuple[Lead, ...]]] = []
    metrics = dict.fromkeys(one.metric for one in printed)
    for name in sorted(metrics, key=lambda one: one != table.metric):
        own = [one for one in cells if one.cell.metric == name]
        whole = _by_metric(name, own, table, paper, looks)
        if whole is not None:
            found.append(whole)
        elif not found:
            return Answered("OPEN", f"Of its first metric, {name}, no two rows have paired trials.")
    first, leads = found[0]
    word, reason = first.word, first.reason
    incomplete = _incomplete(printed, cells, first, lacking)
    if incomplete:
        word, reason = "OPEN", incomplete
    elif any(one.ours.lies_below(0.0) for one in leads):
        reason += " The paper's own method is shown behind the best published baselines."
    return Answered(word, reason, tuple(one for one, _ in found), leads)


def _incomplete(
    printed: Sequence[Cell],
    cells: Sequence[Observed],
    first: TableAnswer,
    lacking: Mapping[CellKey, str],
) -> str | None:
    """Why a table is not answered as a whole: rows without trials, or trials that failed.

    Columns of which nothing was run are left out of the table.
    """
    there = {one.cell.key for one in cells}
    shown = {one.cell.column for one in cells if is_compared(one.cell)}
    wanted = [one for one in printed if one.metric == first.metric and one.column in shown]
    rows = {one.row for one in wanted}
    absent = {one.row for one in wanted if one.key not in there}
    if absent:
        return f"{len(rows) - len(absent)} of {len(rows)} rows have all their trials."
    for one in wanted:
        if one.key in lacking:
            return f"Fewer trials than planned: {one.label}: {lacking[one.key].rstrip('.')}."
    return None


def _by_metric(
    name: str | None, cells: Sequence[Observed], table: Table, paper: Paper, looks: Sequence[int]
) -> tuple[TableAnswer, tuple[Lead, ...]] | None:
    """The answer with the leads; None where nothing can be compared.

    There are no leads by a metric of which nobody said whether more is better.
    """
    columns = once(columns_of(cells).items())
    if not columns.cells:
        return None
    pattern = pattern_of(columns.cells, printed_names(paper.tables))
    n, level = reached(looks, pattern.n)
    if n < 2:
        return None
    found = answer_table(
        name or "",
        replace(pattern, trials=pattern.trials[..., :n]),
        printed_variance=printed_variance(table, paper, name),
        level=level,
        joined=columns.joined,
    )
    facts = facts_of(name)
    if found is None or facts is None:
        return None if found is None else (found, ())
    used, most = list(columns.cells.values()), n if looks else None
    lower, is_baseline = facts.lower_is_better, paper.is_baseline
    leads = (
        lead(used, own, is_baseline, lower_is_better=lower, level=level, most=most)
        for own in paper.own
    )
    return found, tuple(one for one in leads if one is not None)


def pooled(tables: Mapping[str, Sequence[Observed]], paper: Paper) -> TableAnswer | None:
    """All tables of the metric that most cells have, together; None without any."""
    every = [one.cell.metric for cells in tables.values() for one in cells]
    name = max(dict.fromkeys(every), key=every.count, default=None)
    columns = once(
        (f"{table}: {label}", column)
        for table, cells in tables.items()
        for label, column in columns_of(one for one in cells if one.cell.metric == name).items()
        if len({one.source for one in column.values()}) > 1  # one run alone compares nothing
    )
    if not columns.cells:
        return None
    pattern = pattern_of(columns.cells, printed_names(paper.tables))
    return answer_table(name or "", pattern) if pattern.n > 1 else None


def printed_variance(table: Table, paper: Paper, metric: str | None) -> float | None:
    """The variance of one printed number: of the table's spreads, or of those that it borrows."""
    for other in (table, *map(paper.table, table.sd.sources)):
        spreads = [
            float(cell.printed.sd) ** 2
            for cell in other.cells
            if cell.printed.sd is not None and cell.metric == metric
        ]
        if spreads:
            runs = (other.sd.runs or 1) if other is table else 1
            return sum(spreads) / len(spreads) / runs
    return None


def lead(
    columns: Sequence[Column],
    own: str,
    is_baseline: Callable[[str], bool],
    *,
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
    if not rivals:
        return None
    best = [(one, max(rows, key=lambda row: sign * one[row].printed)) for one, rows in rivals]
    values = _differences(best, own, sign, most)
    if values is None:
        return None
    step = tie_of([one for column, _ in rivals for one in column.values()])
    ahead = []
    for rival in dict.fromkeys(row for _, rows in rivals for row in rows):
        against = [(column, rival) for column, _ in rivals if rival in column]
        found = _differences(against, own, sign, most)
        if found is not None and t_interval(found, level, step).lies_below(0.0):
            ahead.append(rival)
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
        baselines_ahead=tuple(ahead),
    )


def _differences(
    against: Sequence[tuple[Column, str]], own: str, sign: float, most: int | None
) -> Floats | None:
    """Own minus rival averaged over columns, by trial; None below two paired trials."""
    pairs = [(column[own], column[row]) for column, row in against]
    seeds = paired_seeds([cell for pair in pairs for cell in pair])[:most]
    if len(seeds) < 2:
        return None
    found = [[a.trials[seed] - b.trials[seed] for seed in seeds] for a, b in pairs]
    return np.asarray(sign * np.mean(found, axis=0))
