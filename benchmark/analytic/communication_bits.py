"""Bits that a client exchanges in the whole training (MFCL, Section 5.4: Eq. 4 plus Eq. 5).

The same module is taken in both phases.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from ..spec.model import Cell
from ._mfcl import Sent, client, with_code
from .base import Analytic, from_candidates


def recompute(cell: Cell) -> Analytic:
    """Bits of all rounds and of phase 2; raises as `client` does."""
    one = client(cell)
    sent = []
    for trained, second in zip(one.trained(), one.sent_in_phase_2(), strict=True):
        weights = trained.whole.weights
        values = 2 * weights * one.rounds + second.values
        how = f"(2 x {weights:,} weights x {one.rounds} rounds + {second.values:,} values)"
        sent.append(Sent(trained.name, trained.source, values, how))
    return from_candidates(cell, with_code(one, "Eqs. 4 and 5", sent))
