"""Bits that a client exchanges in the whole training (MFCL, Section 5.4: Eq. 4 plus Eq. 5).

Readings as in `round_bits` and `representation_size`, the same module in both phases.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from ..spec.model import Cell
from ._mfcl import client, with_code
from .base import Analytic, from_candidates
from .representation_size import sizes
from .round_bits import end_to_end


def recompute(cell: Cell) -> Analytic:
    """Bits of all rounds and of phase 2; raises as `client` does."""
    one = client(cell)
    if one.networks:
        return from_candidates(cell, list(end_to_end(one, one.rounds)))
    found = []
    for size in sizes(one):
        weights = size.module.trained.weights
        text = f"(2 x {weights:,} weights x {one.rounds} rounds + {size.values:,} values)"
        count = 2 * weights * one.rounds + size.values
        found.append((size.name, size.support, count, text))
    return from_candidates(cell, list(with_code(one, "Eqs. 4 and 5", found)))
