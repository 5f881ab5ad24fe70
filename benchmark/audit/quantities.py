"""Which printed numbers are prints of one quantity: the same experiment, measure, round and trial.

Equal experiments may still be other runs. Two tables are taken to print the same runs if at least
half of the values that they share agree.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..claims.nodes import CellKey, key_of
from ..spec.model import Cell, Paper
from .identity import ComparableValue, numbers
from .rounding import can_be_one_value

Pair = tuple[ComparableValue, ComparableValue]


@dataclass(frozen=True)
class Shared:
    """The values of a paper that are printed more than once.

    groups: by quantity, where the paper prints several. pairs: by two tables, the values that they
    share.
    """

    groups: Sequence[Sequence[ComparableValue]]
    pairs: Mapping[tuple[str, str], Sequence[Pair]]

    def same_runs(self, one: ComparableValue, other: ComparableValue) -> bool:
        """Whether their tables print the same runs."""
        pairs = self.pairs[tables_of((one, other))]
        return 2 * sum(agree(*pair) for pair in pairs) >= len(pairs)


def shared_values(paper: Paper) -> Shared:
    """What a paper prints more than once."""
    groups = [alike for alike in same_quantity(paper) if len(alike) > 1]
    pairs: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for alike in groups:
        for pair in itertools.combinations(alike, 2):
            pairs[tables_of(pair)].append(pair)
    return Shared(groups, pairs)


def same_quantity(paper: Paper) -> list[list[ComparableValue]]:
    """The numbers of a paper, grouped by experiment, measure, round and trial."""
    groups: dict[tuple[object, ...], list[ComparableValue]] = defaultdict(list)
    for one in numbers(paper):
        groups[one.experiment, one.measure, one.round, one.cell.trial].append(one)
    return list(groups.values())


def quantities(paper: Paper) -> Mapping[CellKey, Sequence[Cell]]:
    """By cell, all cells that print its quantity, itself included; absent where it is alone.

    Only prints that agree, of tables that print the same runs: a quantity with two values is a
    finding of its own, and proves nothing else.
    """
    shared = shared_values(paper)
    found: dict[CellKey, Sequence[Cell]] = {}
    for alike in shared.groups:
        if all(
            agree(*pair) and shared.same_runs(*pair) for pair in itertools.combinations(alike, 2)
        ):
            cells = [one.cell for one in alike]
            found |= {key_of(cell): cells for cell in cells}
    return found


def agree(one: ComparableValue, other: ComparableValue) -> bool:
    """Whether both can print one value."""
    return can_be_one_value(one.bounds, other.bounds)


def tables_of(pair: Pair) -> tuple[str, str]:
    """The tables that print the two values."""
    return pair[0].cell.table, pair[1].cell.table
