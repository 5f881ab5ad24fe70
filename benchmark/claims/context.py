"""What judging claims needs besides the claims: the trials, and what is known about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from ..spec.model import Cell
from ..stats.looks import Looks
from ..stats.outliers import Outliers, outliers
from .by_seed import Values
from .nodes import CellKey, key_of


@dataclass(frozen=True)
class Fallen:
    """The seeds of a cell whose trials fell far out. drop, rise: as of `Outliers`."""

    low: frozenset[int]
    high: frozenset[int]
    drop: float
    rise: float


@dataclass(frozen=True)
class ClaimContext:
    """What judging a table's claims needs besides the claims.

    values: all trials of the paper; of a cell that is counted, one.
    margin, unit, metric: of the claims' own table.
    scaled: cells whose runs depart from the published protocol.
    reasons: why a cell has no trials.
    incomplete: of a cell that has fewer trials than planned, how many and why.
    looks: by claim, when it was looked at; one look at all trials where there is no entry.
    fallen: by cell, its trials that fell far out of the others; no entry where that is not known.
    fallen_at: the same as an earlier look knew it, which had so many trials of each cell.
    recomputed: by counted cell, what its formula gives.
    awaited: cells that lack trials for a look that is declared and still to come.
    """

    values: Values
    margin: float | None
    unit: str | None
    scaled: frozenset[CellKey]
    reasons: Mapping[CellKey, str]
    incomplete: Mapping[CellKey, str] = field(default_factory=dict)
    looks: Mapping[str, Looks] = field(default_factory=dict)
    fallen: Mapping[CellKey, Fallen] = field(default_factory=dict)
    fallen_at: Callable[[int], Mapping[CellKey, Fallen]] | None = None
    recomputed: Mapping[CellKey, float] = field(default_factory=dict)
    metric: str | None = None
    awaited: frozenset[CellKey] = frozenset()

    def at_look(self, trials: int) -> ClaimContext:
        """What a look with so many trials knew, of later ones that have been made since nothing."""
        if self.fallen_at is None:
            return self
        return replace(self, fallen=self.fallen_at(trials))


def first_trials(values: Values, trials: int) -> Values:
    """The first trials of every cell, by seed."""
    return {key: dict(sorted(own.items())[:trials]) for key, own in values.items()}


def fallen_trials(cells: Iterable[Cell], values: Values) -> dict[CellKey, Fallen]:
    """Of every trained cell, the trials that fell far out, known from all cells of its table that
    show the same metric in the same unit."""
    groups: dict[tuple[str, str | None, str | None], list[CellKey]] = {}
    for cell in cells:
        if cell.kind != "analytic" and values.get(key_of(cell)):
            groups.setdefault((cell.table, cell.metric, cell.unit), []).append(key_of(cell))
    found: dict[CellKey, Fallen] = {}
    for keys in groups.values():
        arms = outliers([list(values[key].values()) for key in keys])
        found |= {key: _by_seed(key, one, values) for key, one in zip(keys, arms, strict=True)}
    return found


def _by_seed(key: CellKey, one: Outliers, values: Values) -> Fallen:
    low, high = (
        frozenset(seed for seed, is_far in zip(values[key], far, strict=True) if is_far)
        for far in (one.low, one.high)
    )
    return Fallen(low, high, one.drop, one.rise)
