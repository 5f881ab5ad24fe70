"""Before a run: how likely each judged cell is REPRODUCED if the paper is right."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..claims.nodes import CellKey, key_of
from ..planning.plan import Plan, PlannedCell
from ..spec.model import Cell
from ..stats.reach import (
    chance_in_the_limit,
    chance_of_reproduced,
    is_out_of_reach,
)
from .evidence import Evidence, Trials
from .published import Published, sides_of

_NAMED = 3
_NONE = 0.0005
"""A chance that is printed as 0.0 %."""


@dataclass(frozen=True)
class Chance:
    """The largest attainable chance of REPRODUCED of one cell.

    trials: that are planned.
    sd: that our trials are taken to have, and where it is from; None where only trials can tell.
    chance: with the planned trials, at a true difference of 0.
    limit: the same with any number of them.
    never: whether no number of trials and no result can give it.
    """

    cell: Cell
    trials: int
    margin: float
    sd: float | None
    sd_from: Literal["stored trials", "printed", "borrowed"] | None
    chance: float | None
    limit: float | None
    never: bool

    @property
    def is_hopeless(self) -> bool:
        """Whether there is no chance worth the name, with the planned trials or with many."""
        return self.never or max(self.chance or 0.0, self.limit or 0.0) < _NONE

    def as_plain(self) -> dict[str, Any]:
        """For a program."""
        own = {name: value for name, value in vars(self).items() if name != "cell"}
        cell = self.cell
        return {"table": cell.table, "row": cell.row, "column": cell.column, **own}


def chances(plan: Plan, store: Trials) -> tuple[Chance, ...]:
    """The chance of every cell that a run of the plan would hold against its print.

    Cells of a scaled run are never judged, so a plan of a reduced profile has none.
    """
    judged = [one for one in plan.cells if _is_judged(plan, one)]
    if not judged:
        return ()
    evidence = Evidence(plan, store)
    known = {one.cell.table for one in judged}
    sides: Mapping[CellKey, Published] = {
        key: side
        for table in plan.paper.tables
        if table.id in known
        for key, side in sides_of(plan.paper, table).items()
    }
    return tuple(
        _chance(plan, one, sides[key_of(one.cell)], evidence)
        for one in judged
        if key_of(one.cell) in sides and not evidence.departures(one)
    )


def lines(found: Sequence[Chance]) -> Iterator[str]:
    """For a reader: a line for every table of which something is known, one for all others."""
    if not found:
        yield "no cell is held against its print here: every one is scaled, or has no margin"
        return
    tables: dict[str, list[Chance]] = {}
    for one in found:
        tables.setdefault(one.cell.table, []).append(one)
    trials = " or ".join(map(str, sorted({one.trials for one in found})))
    yield f"chance of REPRODUCED with {trials} trials if the paper is right, by table:"
    open_ones = 0
    for table, cells in tables.items():
        known = [one.chance for one in cells if one.chance is not None]
        if not known:
            open_ones += len(cells)
            continue
        text = f"  {table}: {_span(known)} ({len(known)} of {len(cells)} cells)"
        hopeless = [one.cell.label for one in cells if one.chance is not None and one.is_hopeless]
        more = f"; none with any number of trials: {_names(hopeless)}"
        yield text + more if hopeless else text
    if open_ones:
        yield f"  {open_ones} cells of other tables: no spread is printed or stored; needs trials"


def _is_judged(plan: Plan, planned: PlannedCell) -> bool:
    cell = planned.cell
    return (
        cell.kind == "empirical"
        and planned.config is not None
        and not planned.departures
        and cell.printed.value is not None
        and plan.paper.table(cell.table).margin_of(cell) is not None
    )


def _chance(plan: Plan, planned: PlannedCell, side: Published, evidence: Evidence) -> Chance:
    cell, run = planned.cell, planned.config
    margin = plan.paper.table(cell.table).margin_of(cell)
    assert margin is not None
    assert run is not None
    spread, half = side.spread, (side.high - side.low) / 2
    n = plan.profile.last_look or len(plan.seeds(run))
    sample = evidence.samples[key_of(cell)]
    sd: float | None = None
    source: Literal["stored trials", "printed", "borrowed"] | None = None
    if sample is not None and sample.n > 1 and not sample.flat:
        sd, source = sample.sd, "stored trials"
    elif spread is not None:
        sd, source = spread.sd, "borrowed" if spread.runs == 1 else "printed"
    chance = limit = None
    if sd is not None:
        chance = chance_of_reproduced(margin.value, half, n, sd, spread) if n > 1 else 0.0
        limit = chance_in_the_limit(margin.value, half, sd, spread)
    never = spread is not None and is_out_of_reach(margin.value, half, spread)
    return Chance(cell, n, margin.value, sd, source, chance, limit, never)


def _span(chances: Iterable[float]) -> str:
    ordered = sorted(chances)
    low, middle, high = (
        f"{100 * one:.0f} %" for one in (ordered[0], statistics.median(ordered), ordered[-1])
    )
    return low if low == high else f"{low} to {high}, median {middle}"


def _names(labels: Sequence[str]) -> str:
    if len(labels) > _NAMED:
        return f"{len(labels)} cells"
    return ", ".join(f"'{label}'" for label in labels)
