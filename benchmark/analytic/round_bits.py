"""Bits that a client exchanges in one round of training phase 1 (MFCL, Eq. 4 for T = 1).

The decoder goes both ways (footnote 3 and Algorithm 1).
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from ..spec.model import Cell
from ._mfcl import Sent, client, with_code
from .base import Analytic, from_candidates


def recompute(cell: Cell) -> Analytic:
    """Bits in both directions; raises as `client` does."""
    one = client(cell)
    sent = []
    for trained in one.trained():
        weights = trained.whole.weights
        sent.append(Sent(trained.name, trained.source, 2 * weights, f"2 x {weights:,} weights"))
    return from_candidates(cell, with_code(one, "Eq. 4", sent))
