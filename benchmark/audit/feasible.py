"""Can all of these inequalities hold at once? An answer 'no' comes with its proof.

By Farkas' lemma a system of linear inequalities has no solution exactly if some of them, each
multiplied by a positive number and added, leave 0 <= c with c < 0 (or 0 < c with c = 0, where one
of them is strict). Linear programming finds the multipliers in floating point; they are then solved
for anew in fractions, and the sum is checked. What cannot be checked counts as solvable.

The multipliers are those at a corner of the programme, so that no inequality can be left out:
Gleeson and Ryan, Identifying minimally infeasible subsystems of inequalities (1990).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .linear import Inequality

_STRICT = 1e-4
"""By so much of its row's largest weight a strict inequality is narrowed in floating point."""
_NONE = 1e-9
"""Multipliers up to this are zero."""
MOST_WEIGHTS = 4_000_000
"""Systems with a larger matrix are not asked, and count as solvable; a paper's have thousands."""


@dataclass(frozen=True)
class Proof:
    """Positive multipliers of some inequalities (by index), and what they leave: 0 <= `left`.

    strict: whether they leave 0 < `left`.
    """

    multipliers: tuple[tuple[int, Fraction], ...]
    left: Fraction
    strict: bool


def contradiction(rows: Sequence[Inequality]) -> Proof | None:
    """A proof that no values satisfy all rows, from as few as it can; None if there is none."""
    found = _candidate(rows) if rows else None
    return None if found is None else _proof(rows, found)


def _candidate(rows: Sequence[Inequality]) -> list[int] | None:
    """The rows of the likeliest contradiction, found in floating point."""
    from scipy.optimize import linprog  # only an audit needs it

    quantities = list(dict.fromkeys(key for row in rows for key in row.form.weights))
    if len(quantities) * len(rows) > MOST_WEIGHTS:
        return None
    place = {key: i for i, key in enumerate(quantities)}
    centres, widths = _scales(rows)
    weights = np.zeros((len(rows), len(quantities)))
    bounds = np.zeros(len(rows))
    for i, row in enumerate(rows):
        shifted = row.form.constant
        for key, weight in row.form.weights.items():
            shifted += weight * centres.get(key, Fraction(0))
            weights[i, place[key]] = float(weight * widths.get(key, Fraction(1)))
        scale = float(np.abs(weights[i]).max()) or 1.0
        weights[i] /= scale
        bounds[i] = -float(shifted) / scale - (_STRICT if row.strict else 0.0)
    equal = np.vstack([weights.T, np.ones(len(rows))])
    result = linprog(bounds, A_eq=equal, b_eq=[0.0] * len(quantities) + [1.0], method="highs-ds")
    if result.status != 0 or result.x is None or float(bounds @ result.x) >= 0:
        return None
    return [i for i, value in enumerate(result.x) if value > _NONE]


def _scales(rows: Sequence[Inequality]) -> tuple[dict[object, Fraction], dict[object, Fraction]]:
    """The middle and half the width of each quantity's box, as the rows of one quantity give it."""
    ends: dict[object, list[Fraction]] = {}
    for row in rows:
        if len(row.form.weights) == 1:
            ((key, weight),) = row.form.weights.items()
            ends.setdefault(key, []).append(-row.form.constant / weight)
    centres = {key: (min(both) + max(both)) / 2 for key, both in ends.items()}
    widths = {key: (max(both) - min(both)) / 2 or Fraction(1) for key, both in ends.items()}
    return centres, widths


def _proof(rows: Sequence[Inequality], used: Sequence[int]) -> Proof | None:
    """The multipliers of these rows in fractions; None if they prove nothing."""
    multipliers = _null_vector([rows[i] for i in used])
    if multipliers is None:
        return None
    if any(one < 0 for one in multipliers):
        multipliers = [-one for one in multipliers]
    kept = [(i, one) for i, one in zip(used, multipliers, strict=True) if one]
    if not kept or any(one < 0 for _, one in kept):
        return None
    left = -sum((one * rows[i].form.constant for i, one in kept), Fraction(0))
    strict = any(rows[i].strict for i, _ in kept)
    least = min(one for _, one in kept)
    proves = left < 0 or (strict and left == 0)
    scaled = tuple((i, one / least) for i, one in kept)
    return Proof(scaled, left / least, strict) if proves else None


def _null_vector(rows: Sequence[Inequality]) -> list[Fraction] | None:
    """The one vector (but for a factor) that cancels all quantities; None if there are others."""
    quantities = list(dict.fromkeys(key for row in rows for key in row.form.weights))
    matrix = [[row.form.weights.get(key, Fraction(0)) for row in rows] for key in quantities]
    pivots: list[int] = []
    for column in range(len(rows)):
        rank = len(pivots)
        pivot = next((i for i in range(rank, len(matrix)) if matrix[i][column]), None)
        if pivot is None:
            continue
        matrix[rank], matrix[pivot] = matrix[pivot], matrix[rank]
        head = matrix[rank][column]
        matrix[rank] = [value / head for value in matrix[rank]]
        for i, line in enumerate(matrix):
            if i != rank and line[column]:
                factor = line[column]
                matrix[i] = [a - factor * b for a, b in zip(line, matrix[rank], strict=True)]
        pivots.append(column)
    free = [column for column in range(len(rows)) if column not in pivots]
    if len(free) != 1:
        return None
    vector = [Fraction(0)] * len(rows)
    vector[free[0]] = Fraction(1)
    for i, column in enumerate(pivots):
        vector[column] = -matrix[i][free[0]]
    return vector
