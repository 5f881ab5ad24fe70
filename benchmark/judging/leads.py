"""The paper's own method against the best printed baseline of each column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..stats.intervals import Interval, detectable, t_interval
from ..stats.pattern import Floats
from .observed import Column, paired_seeds, tie_of


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
        (column, [row for row in column if row != own and is_baseline(row)])
        for column in columns
        if own in column
    ]
    rivals = [(column, rows) for column, rows in rivals if rows]
    if not rivals:
        return None
    best = [
        (column, max(rows, key=lambda row: sign * column[row].printed)) for column, rows in rivals
    ]
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
