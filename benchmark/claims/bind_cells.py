"""From a parsed claim to elementary comparisons between concrete cells.

A list without 'at' means the columns of the nearest 'at' to its right, together with its 'in'. So
an 'at' at the end of a claim holds for all lists. Without any 'at' all columns are meant. A
comparison in which several lists name the same several columns is made column by column; any other
is made between every pair. A function whose parentheses hold the 'at' takes its columns together.
Printed dashes that only a wildcard reached are passed over. In a relation, `{row}` stands for a
row's label and `{column}` for a column's: one expression says of each row what its own cells must
satisfy.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..errors import SpecError
from ..spec import limits
from ..spec.fields import Label
from ..spec.model import Cell, Claim, Paper, Relation, Table, matches
from ..spec.problems import nearest
from .grammar import Aggregate, Arithmetic, Cells, Chain, Expression, Number, parse
from .nodes import Elementary, Node, common_unit, is_trained, unit_of
from .printed import why_never_above, why_unbreakable


def bind(claim: Claim, table: Table, paper: Paper, what: str = "claim") -> tuple[Elementary, ...]:
    """The elementary comparisons of a claim, all of which must be shown for it to hold.

    Raises `SpecError` for text that is no claim, a pattern without a cell, a cell that holds words,
    and units that cannot be compared. Also for a comparison of numbers alone or one that no run
    could break, for equality in every trial, and for a control that can never be seen."""
    try:
        found = _Resolver(table, paper).comparisons(parse(claim.holds))
        _check(claim, found)
    except SpecError as error:
        raise SpecError(f"{table.file}, {what} '{claim.id}': {error}") from None
    return found


def _check(claim: Claim, found: Sequence[Elementary]) -> None:
    relations = {one.relation for one in found}
    if len(relations) > 1 and relations != {">", "<"}:
        raise SpecError("a claim has '>' and '<', or '=', or '~'; make several claims of it")
    if claim.every_trial and relations & {"=", "~"}:
        raise SpecError("a claim with every_trial needs '>' or '<'")
    for one in found:
        if not one.leaves:
            raise SpecError("a comparison names no cell")
        if (why := why_unbreakable(one)) is not None:
            raise SpecError(f"'{one.text}' cannot fail: {why}")
        if claim.control is None:
            continue
        if relations & {"=", "~"} or not all(map(is_trained, one.leaves)):
            raise SpecError("a control is '>' or '<' between trained cells")
        if (why := why_never_above(one, claim.control.least)) is not None:
            raise SpecError(why)


def instances(
    relation: Relation, table: Table, paper: Paper
) -> Iterator[tuple[str, tuple[Elementary, ...]]]:
    """For each row (and column) that the relation is about: its label, and the comparisons. Raises
    `SpecError` for a pattern without a row, an expression without `{row}` although patterns are
    given, and whatever makes it no claim."""
    rows: Sequence[Label | None] = table.rows if "{row}" in relation.holds else [None]
    columns: Sequence[Label | None] = table.columns if "{column}" in relation.holds else [None]
    if relation.rows:
        if rows == [None]:
            said = "rows are given, but the expression has no {row}"
            raise SpecError(f"{table.file}, relation '{relation.id}': {said}")
        patterns = (tuple(part.strip() for part in one.split("|")) for one in relation.rows)
        rows = _all_matching(patterns, table.rows, "row", table)
    for row, column in itertools.product(rows, columns):
        holds = relation.holds
        for name, label in (("row", row), ("column", column)):
            if label is not None:
                holds = holds.replace(f"{{{name}}}", "|".join(label))
        where = ", ".join("|".join(label) for label in (row, column) if label is not None)
        claim = Claim(f"{relation.id} ({where})" if where else relation.id, relation.says, holds)
        yield where, bind(claim, table, paper, "relation")


@dataclass(frozen=True)
class _Resolver:
    table: Table
    paper: Paper

    def comparisons(self, chain: Chain) -> tuple[Elementary, ...]:
        sides, nearest = list(chain.sides), chain.trailing
        lists = (cells for side in sides for cells in _lists(side))
        named = nearest is not None or any(one.columns and not one.whole for one in lists)
        for index in reversed(range(len(sides))):
            sides[index], nearest = self.inherit(sides[index], nearest, named)
        found: list[Elementary] = []
        for (relation, tolerance), *both in zip(chain.relations, sides, sides[1:], strict=False):
            pairs: list[tuple[Node, Node]] = []
            for column in self.shared_columns(both):
                pairs += _pairs(*(self.expand(side, column) for side in both))
                _bounded(len(pairs), "comparisons", limits.COMPARISONS)
            for pair in pairs:
                unit = common_unit(map(unit_of, pair), "compared")
                found.append(Elementary(relation, tolerance, *pair, unit, self.table.id))
        _bounded(len(found), "comparisons", limits.COMPARISONS)
        _bounded(sum(len(one.leaves) for one in found), "cells", limits.NAMED_CELLS)
        return tuple(found)

    def inherit(
        self, side: Expression, nearest: Cells | None, named: bool
    ) -> tuple[Expression, Cells | None]:
        """The expression with columns for every list, and the 'at' that lists on its left take."""
        match side:
            case Number():
                return side, nearest
            case Aggregate():
                cells, after = self.inherit(side.cells, nearest, named)
                assert isinstance(cells, Cells)
                return replace(side, cells=cells), nearest if side.cells.whole else after
            case Arithmetic():
                right, nearest = self.inherit(side.right, nearest, named)
                left, nearest = self.inherit(side.left, nearest, named)
                return replace(side, left=left, right=right), nearest
            case Cells():
                if side.columns is not None:
                    return side, side
                if nearest is not None:
                    side = replace(side, columns=nearest.columns, table=side.table or nearest.table)
                if side.columns is not None:
                    return side, nearest
                columns = self.find_table(side).columns
                if named and len(columns) > 1:
                    said = f"'{'|'.join(side.rows[0])}' has no column: write at 'COLUMN' behind it"
                    raise SpecError(f"{said}, or behind the last row")
                return replace(side, columns=columns), nearest

    def shared_columns(self, sides: Iterable[Expression]) -> Sequence[Label | None]:
        """The several columns that a comparison runs over, one after the other; else one None."""
        several = [
            columns
            for side in sides
            for cells in _lists(side)
            if not cells.whole and len(columns := self.columns_of(cells)) > 1
        ]
        same = several and all(columns == several[0] for columns in several)
        return several[0] if same else [None]

    def expand(self, side: Expression, column: Label | None) -> list[Node]:
        """The single values that an expression stands for (in one of the shared columns)."""
        match side:
            case Number():
                return [side]
            case Cells():
                return list(self.leaves(side, column))
            case Aggregate():
                return [Aggregate(side.name, self.leaves(side.cells, column))]
            case Arithmetic():
                sides = (self.expand(one, column) for one in (side.left, side.right))
                return [Arithmetic(side.sign, *pair) for pair in _pairs(*sides)]

    def leaves(self, cells: Cells, column: Label | None) -> tuple[Cell, ...]:
        table, columns = self.find_table(cells), self.columns_of(cells)
        if column is not None and column in columns and not cells.whole:
            columns = [column]
        rows, wild = dict[Label, None](), set[Label]()
        for pattern in cells.rows:
            matched = matching(pattern, table.rows, "row", table)
            rows.update(dict.fromkeys(matched))
            if "*" in pattern:
                wild.update(matched)
        places = itertools.product(rows, columns)
        found = [cell for place in places if (cell := table.by_place.get(place)) is not None]
        if not found:
            raise SpecError(f"table {table.id} has no cell at '{'|'.join(cells.rows[0])}'")
        for cell in found:
            if cell.printed.value is None and not cell.printed.is_blank:
                said = f"the cell {cell.label} holds words ('{cell.printed.text}')"
                raise SpecError(f"{said}, which cannot be compared; leave it out")
        printed = [cell for cell in found if not (cell.row in wild and cell.printed.is_dash)]
        return tuple(printed or found)

    def columns_of(self, cells: Cells) -> list[Label]:
        table = self.find_table(cells)
        if cells.columns is None or cells.columns is table.columns:
            return list(table.columns)
        return _all_matching(cells.columns, table.columns, "column", table)

    def find_table(self, cells: Cells) -> Table:
        tables = {one.id: one for one in self.paper.tables} | {self.table.id: self.table}
        table = self.table if cells.table is None else tables.get(cells.table)
        if table is None:
            hint = _nearest(str(cells.table), list(tables))
            raise SpecError(f"the paper has no table '{cells.table}'{hint}")
        if not table.cells:
            raise SpecError(f"table {table.id} prints no values; name a table with in '...'")
        return table


def _all_matching(
    patterns: Iterable[Label], labels: Sequence[Label], what: str, table: Table
) -> list[Label]:
    found = (matching(pattern, labels, what, table) for pattern in patterns)
    return list(dict.fromkeys(itertools.chain.from_iterable(found)))


def matching(pattern: Label, labels: Sequence[Label], what: str, table: Table) -> list[Label]:
    """The labels that a pattern means; `what`: 'row' or 'column'. `SpecError` names the nearest."""
    if "*" not in pattern and pattern in labels:
        return [pattern]
    text, known = "|".join(pattern), ["|".join(label) for label in labels]
    if found := [label for label in labels if matches(text, label)]:
        return found
    lengths = sorted({len(label) for label in labels})
    reason = f"matches no {what} of table {table.id}"
    if len(pattern) not in lengths:
        expected = " or ".join(map(str, lengths))
        reason = f"has {len(pattern)} label part(s) where table {table.id} has {expected}"
    raise SpecError(f"'{text}' {reason}{_nearest(text, known)}")


def _nearest(name: str, known: Sequence[str]) -> str:
    return f" (nearest: '{nearest(name, known, cutoff=0.0)}')" if known else ""


def _lists(side: Expression) -> Iterator[Cells]:
    match side:
        case Cells():
            yield side
        case Aggregate():
            yield side.cells
        case Arithmetic():
            yield from _lists(side.left)
            yield from _lists(side.right)


def _pairs(left: Sequence[Node], right: Sequence[Node]) -> list[tuple[Node, Node]]:
    _bounded(len(left) * len(right), "comparisons", limits.COMPARISONS)
    return list(itertools.product(left, right))


def _bounded(count: int, what: str, most: int) -> None:
    if count > most:
        raise SpecError(f"makes {count:,} {what}; at most {most:,} are allowed")
