"""Which cells of a paper results belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..claims.nodes import CellKey, key_of
from ..errors import FedreproError
from ..metrics import outside
from ..planning.plan import Plan, PlannedCell, make_plan
from ..results import ProtocolScale
from ..spec import limits
from ..spec.fields import Label
from ..spec.model import Cell, Paper, Profile, Table
from ..spec.problems import suggestion
from .rows import Row, shown

PROFILE = "external"
Values = Mapping[CellKey, Mapping[int, float]]
"""By cell and seed, in the cell's unit."""


@dataclass(frozen=True)
class Given:
    """Results by cell. seeds: of all of them, rising."""

    values: Values

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        return tuple(sorted({seed for trials in self.values.values() for seed in trials}))


def external_plan(paper: Paper, tables: Sequence[str], trials: int = 1) -> Plan:
    """The cells of some tables under the published protocol; nothing is to be run.

    Raises `SpecError` for a table that does not exist.
    """
    as_published = replace(paper, profiles={PROFILE: Profile(trials, name=PROFILE)})
    return replace(make_plan(as_published, PROFILE, tables=tables), runs=(), drawings=())


def why_not(cell: Cell) -> str | None:
    """Why a cell takes no results, or None if it takes some."""
    if cell.kind == "analytic":
        return "it is computed from a formula"
    if cell.kind == "descriptive":
        return "it is no measurement"
    if cell.printed.is_dash:
        return "the paper prints a dash there"
    return cell.skip


def bind_rows(rows: Iterable[Row], plan: Plan, protocol: ProtocolScale) -> Given:
    """Results by cell of a plan.

    Cells of one table that show one number of one run, as CP-CFL's Table 11 prints single trials
    beside their mean, share what is given for any of them, and must not contradict each other.

    Raises `FedreproError` for a name that the paper does not have, a cell that takes no results, a
    trial that is given twice, and a metric, round or unit that is not the cell's.
    """
    twins = _Twins(plan.cells)
    found: dict[CellKey, dict[int, Row]] = {}
    cells = {key_of(one.cell): one.cell for one in plan.cells}
    tables = {table.id: table for table in plan.paper.tables if table.id in plan.tables}
    for row in rows:
        cell = cell_of(row, tables)
        _check(row, cell, protocol)
        trials = found.setdefault(twins.first(cell), {})
        before = trials.get(row.seed)
        again = before is not None and (before.row, before.column) == (row.row, row.column)
        if before is not None and (again or before.value != row.value):
            other = f" for {before.row} @ {before.column}, which shows the same trials"
            raise FedreproError(
                f"{row.place}: seed {row.seed} of table {row.table}, {cell.label} is given twice; "
                f"first at {before.place}{'' if again else other}"
            )
        trials[row.seed] = row
    if not found:
        raise FedreproError("the results hold no value")
    most = max(map(len, found.values()))
    if most > limits.TRIALS:
        raise FedreproError(f"a cell has {most:,} trials; at most {limits.TRIALS:,} are read")
    _refuse_fractions(found, cells)
    return Given(
        {
            key: {
                seed: row.value * _scale(row, cell)
                for seed, row in sorted(found[twins.first(cell)].items())
            }
            for key, cell in cells.items()
            if twins.first(cell) in found and why_not(cell) is None
        }
    )


class _Twins:
    """Cells of one table that show the same number of the same run."""

    def __init__(self, cells: Sequence[PlannedCell]) -> None:
        groups: dict[tuple[object, ...], CellKey] = {}
        self._first: dict[CellKey, CellKey] = {}
        for one in cells:
            key = key_of(one.cell)
            if one.config is not None and why_not(one.cell) is None:
                of_run = (one.cell.table, one.config.key, one.cell.metric, one.cell.unit, one.read)
                self._first[key] = groups.setdefault(of_run, key)

    def first(self, cell: Cell) -> CellKey:
        """The first of the cells that share a cell's results."""
        return self._first.get(key_of(cell), key_of(cell))


def alike(plan: Plan) -> list[list[Cell]]:
    """The cells of a plan that take results, those together that share them."""
    twins, groups = _Twins(plan.cells), dict[CellKey, list[Cell]]()
    for one in plan.cells:
        if why_not(one.cell) is None:
            groups.setdefault(twins.first(one.cell), []).append(one.cell)
    return list(groups.values())


def tables_of(rows: Iterable[Row], paper: Paper) -> list[str]:
    """The ids of the tables that results name, in the paper's order; raises as `bind_rows`."""
    known = {table.id for table in paper.tables}
    named = {row.table: row for row in reversed(list(rows))}
    for name, row in reversed(named.items()):
        if name not in known:
            raise FedreproError(
                f"{row.place}: paper {paper.id} has no table '{shown(name)}'"
                f"{suggestion(name, known)}"
            )
    return [table.id for table in paper.tables if table.id in named]


def cell_of(row: Row, tables: Mapping[str, Table]) -> Cell:
    """The cell of a result, among the tables by id; raises as `bind_rows`."""
    if row.table not in tables:
        hint = suggestion(row.table, tables)
        raise FedreproError(f"{row.place}: table '{shown(row.table)}' is not one of these{hint}")
    table = tables[row.table]
    place = (
        (_one(row.place, "row", row.row, table.rows, table)),
        (_one(row.place, "column", row.column, table.columns, table)),
    )
    cell = table.by_place.get(place)
    if cell is None:
        raise FedreproError(
            f"{row.place}: table {table.id} has no cell {shown(row.row)} @ {shown(row.column)}"
        )
    reason = why_not(cell)
    if reason is not None:
        raise FedreproError(
            f"{row.place}: table {table.id}, {cell.label} takes no results: {reason}"
        )
    return cell


def _one(place: str, what: str, name: str, labels: Sequence[Label], table: Table) -> Label:
    known = {"|".join(label): label for label in labels}
    if name not in known:
        raise FedreproError(
            f"{place}: table {table.id} has no {what} '{shown(name)}'{suggestion(name, known)}"
        )
    return known[name]


def _check(row: Row, cell: Cell, protocol: ProtocolScale) -> None:
    if row.metric not in (None, cell.metric):
        raise FedreproError(
            f"{row.place}: {cell.label} shows {cell.metric}, not '{shown(row.metric or '')}'"
        )
    at = str(cell.read.at)
    if protocol == "full" and row.round not in (None, at):
        raise FedreproError(
            f"{row.place}: {cell.label} is read at round {at}, not {shown(row.round or '')}; "
            "that is not the published protocol"
        )
    known = {cell.unit or "", *(("%", "fraction") if _is_share(cell) else ())}
    if row.unit is not None and row.unit not in known:
        raise FedreproError(
            f"{row.place}: {cell.label} is in {cell.unit or 'plain numbers'}, not in "
            f"'{shown(row.unit)}'"
        )
    problem = outside(row.value * _scale(row, cell), cell.metric, cell.unit)
    if problem is not None:
        raise FedreproError(f"{row.place}: {cell.label}: {problem}")


def _is_share(cell: Cell) -> bool:
    """Whether fractions and percent of it can be told from each other by a factor of 100."""
    return cell.unit == "%"


def _scale(row: Row, cell: Cell) -> float:
    return 100.0 if row.unit == "fraction" and _is_share(cell) else 1.0


def _refuse_fractions(
    found: Mapping[CellKey, Mapping[int, Row]], cells: Mapping[CellKey, Cell]
) -> None:
    """Raises `FedreproError` where all values of a row in percent look like fractions.

    A row that declares its unit is taken at its word, and so is one of values that print so.
    """
    groups: dict[tuple[str, str | None, Label], list[Row]] = {}
    printed: dict[tuple[str, str | None, Label], list[float]] = {}
    for key, trials in found.items():
        cell = cells[key]
        if _is_share(cell):
            of_row = (cell.table, cell.metric, cell.row)
            groups.setdefault(of_row, []).extend(trials.values())
            if cell.printed.value is not None:
                printed.setdefault(of_row, []).append(float(cell.printed.value))
    for (table, metric, label), rows in groups.items():
        small = all(row.unit is None and 0 <= row.value <= 1 for row in rows)
        if small and not any(value <= 1 for value in printed.get((table, metric, label), ())):
            raise FedreproError(
                f"{rows[0].place}: table {table} has {metric} in percent, and all values given for "
                f"{'|'.join(label)} lie between 0 and 1; give percent, or say 'fraction' (or '%') "
                "in a column unit"
            )
