"""Relations that formulas give between cells: a claim's expression, taken for every row.

`{row}` in the expression stands for a row's label and `{column}` for a column's, so that one
relation says of each row what its own cells must satisfy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from fedrepro.benchmark.claims.bind_cells import bind, matching
from fedrepro.benchmark.claims.nodes import Elementary
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec.model import Claim, Paper, Relation, Table

Label = tuple[str, ...]
Instance = tuple[str, tuple[Elementary, ...]]


def instances(relation: Relation, table: Table, paper: Paper) -> Iterator[Instance]:
    """For each row (and column) that the relation is about: its label, and the comparisons.

    Raises `SpecError` for a pattern without a row or column, an expression without `{row}` or
    `{column}` although patterns are given, and whatever makes it no claim.
    """
    rows = _places(relation, "row", relation.rows, [cell.row for cell in table.cells], table)
    columns = _places(
        relation, "column", relation.columns, [cell.column for cell in table.cells], table
    )
    for row, column in itertools.product(rows, columns):
        holds = relation.holds
        for name, label in (("row", row), ("column", column)):
            if label is not None:
                holds = holds.replace(f"{{{name}}}", "|".join(label))
        where = ", ".join("|".join(label) for label in (row, column) if label is not None)
        claim = Claim(f"{relation.id} ({where})" if where else relation.id, relation.says, holds)
        yield where, bind(claim, table, paper)


def _places(
    relation: Relation, what: str, patterns: Sequence[str], labels: Sequence[Label], table: Table
) -> list[Label | None]:
    """The labels that `{row}` or `{column}` runs over; one None where it does not occur."""
    every = list(dict.fromkeys(labels))
    if f"{{{what}}}" not in relation.holds:
        if patterns:
            raise SpecError(
                f"{table.file}, relation '{relation.id}': {what}s are given, "
                f"but the expression has no {{{what}}}"
            )
        return [None]
    if not patterns:
        return list(every)
    found = (
        matching(tuple(part.strip() for part in pattern.split("|")), every, what, table)
        for pattern in patterns
    )
    return list(dict.fromkeys(itertools.chain.from_iterable(found)))
