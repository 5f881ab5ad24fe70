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

    values: all trials of the paper; of a cell that is counted, one.
    margin, unit: of the claims' own table.
    scaled: cells whose runs depart from the published protocol.
    reasons: why a cell has no trials.
    incomplete: of a cell that has fewer trials than planned, how many and why.
    looks: by claim, when it was looked at; one look at all trials where there is no entry.
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
    recomputed: Mapping[CellKey, float] = field(default_factory=dict)
    awaited: frozenset[CellKey] = frozenset()
