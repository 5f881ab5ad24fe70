"""What judging claims needs besides the claims: the trials, and what is known about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..stats.looks import Looks
from .by_seed import Values
from .nodes import CellKey


@dataclass(frozen=True)
class ClaimContext:
    """What judging a table's claims needs besides the claims.

    Attributes:
        values: all trials of the paper; of a cell that is counted, one.
        margin, unit: of the claims' own table.
        scaled: cells whose runs depart from the published protocol.
        reasons: why a cell has no trials.
        incomplete: of a cell that has fewer trials than planned, how many and why.
        looks: with how many trials claims are looked at, rising; none means once, with all there
            are.
        recomputed: by counted cell, what its formula gives.
    """

    values: Values
    margin: float | None
    unit: str | None
    scaled: frozenset[CellKey]
    reasons: Mapping[CellKey, str]
    incomplete: Mapping[CellKey, str] = field(default_factory=dict)
    looks: tuple[int, ...] = ()
    recomputed: Mapping[CellKey, float] = field(default_factory=dict)

    def looks_at(self, trials: int) -> Looks:
        """The looks that so many paired trials have reached."""
        counts = tuple(look for look in self.looks if look <= trials)
        return Looks(counts, self.looks[-1]) if counts else Looks((trials,), trials)
