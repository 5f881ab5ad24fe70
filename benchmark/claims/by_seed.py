"""A comparison's two sides trial by trial: pairing by seed, arithmetic, and which cell is the best.

The largest of several cells, taken anew in each trial, is larger than the largest mean: by half to
one SD for five equal cells. A claim is about means, as printed tables show them. So a comparison of
`max` and `min` is taken apart into comparisons of single cells: A > max(B, C) is A > B and A > C,
and max(A, B) > C is A > C or B > C (`branches`). Where that is not possible, the cell of the best
mean stands for all of them (`picked`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .grammar import Number
from .nodes import Aggregate, Arithmetic, CellKey, Elementary, Leaf, Node

Values = Mapping[CellKey, Mapping[int, float]]
"""By cell: its trials by seed, in the unit of the table; no entry where nothing was run."""
SeedArrays = Mapping[CellKey, NDArray[np.float64]]
"""By cell: its trials at the seeds of a comparison. [seeds]"""
Branches = list[list[Node]]
"""Differences of single cells: one row must be above zero in all its columns."""
MOST_BRANCHES = 256
_SIGNS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


def is_exact(leaf: Leaf) -> bool:
    """Whether a cell is counted or computed, so that no trial of it differs from another."""
    return leaf.cell.kind == "analytic"


def paired_seeds(comparison: Elementary, values: Values) -> list[int]:
    """The seeds that all trained cells of a comparison have; of counted ones alone, the first."""
    trained = [leaf.key for leaf in comparison.leaves if not is_exact(leaf)]
    if not trained:
        return [0]
    trials = [values.get(key, {}).keys() for key in trained]
    return sorted(set(trials[0]).intersection(*trials[1:]))


def arrays(comparison: Elementary, values: Values, seeds: Sequence[int]) -> SeedArrays:
    """The trials of a comparison's cells; what is counted once is the same at every seed."""
    found = {}
    for leaf in comparison.leaves:
        trials = values[leaf.key]
        once = next(iter(trials.values())) if is_exact(leaf) else None
        found[leaf.key] = np.array([trials[s] if once is None else once for s in seeds], np.float64)
    return found


def evaluate(node: Node, trials: SeedArrays) -> NDArray[np.float64]:
    """The value of a node trial by trial, not finite where a divisor is zero. [seeds]"""
    match node:
        case Number():
            return np.full(len(next(iter(trials.values()), ())), float(node.value))
        case Leaf():
            return trials[node.key]
        case Aggregate():
            stacked = np.stack([trials[leaf.key] for leaf in node.leaves])
            if node.name == "mean":
                return np.asarray(stacked.mean(axis=0))
            return np.asarray(stacked.max(axis=0) if node.name == "max" else stacked.min(axis=0))
        case Arithmetic():
            left, right = (evaluate(side, trials) for side in (node.left, node.right))
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                return np.asarray(_SIGNS[node.sign](left, right))


def picked(node: Node, trials: SeedArrays) -> Node:
    """The node with the cell of the largest or smallest mean in the place of `max` and `min`."""
    match node:
        case Aggregate(name="max" | "min"):
            best = max if node.name == "max" else min
            return best(node.leaves, key=lambda leaf: float(trials[leaf.key].mean()))
        case Arithmetic():
            left, right = picked(node.left, trials), picked(node.right, trials)
            return replace(node, left=left, right=right)
        case _:
            return node


def branches(node: Node, trials: SeedArrays) -> Branches:
    """The differences whose signs decide whether the mean of `node` is above zero.

    A sum of largest and smallest means is above zero if, for one choice of the cells that raise it,
    it is so for every choice of those that lower it. Products and ratios of cells have no such
    order: there the cell of the best mean is picked, and so in sums of very many choices.
    """
    found = _branches(node, 1)
    few = found is not None and len(found) * len(found[0]) <= MOST_BRANCHES
    return found if found is not None and few else [[picked(node, trials)]]


def _branches(node: Node, sign: int) -> Branches | None:
    match node:
        case Aggregate(name="max" | "min"):
            raises = (node.name == "max") == (sign > 0)
            return [[leaf] for leaf in node.leaves] if raises else [list(node.leaves)]
        case Arithmetic():
            if node.sign in "+-":
                turned = sign if node.sign == "+" else -sign
                left, right = _branches(node.left, sign), _branches(node.right, turned)
                return None if left is None or right is None else _joined(node, left, right)
            if isinstance(node.right, Number) and node.right.value > 0:
                scaled = _branches(node.left, sign)
                return scaled and _joined(node, scaled, [[node.right]])
            if isinstance(node.left, Number) and node.left.value > 0 and node.sign == "*":
                scaled = _branches(node.right, sign)
                return scaled and _joined(node, [[node.left]], scaled)
            return None if _chooses(node) else [[node]]
        case _:
            return [[node]]


def _joined(node: Arithmetic, left: Branches, right: Branches) -> Branches | None:
    if len(left) * len(left[0]) * len(right) * len(right[0]) > MOST_BRANCHES:
        return None
    return [
        [replace(node, left=one, right=other) for one in row for other in column]
        for row in left
        for column in right
    ]


def _chooses(node: Node) -> bool:
    match node:
        case Aggregate():
            return node.name != "mean"
        case Arithmetic():
            return _chooses(node.left) or _chooses(node.right)
        case _:
            return False
