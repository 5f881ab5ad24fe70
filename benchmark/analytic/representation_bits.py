"""Bits of training phase 2 of a client (MFCL, Eq. 5).

Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from ..spec.model import Cell
from ._mfcl import client, with_code
from .base import Analytic, from_candidates


def recompute(cell: Cell) -> Analytic:
    """Bits that one client sends; raises as `client` does."""
    one = client(cell)
    return from_candidates(cell, with_code(one, "Eq. 5", one.sent_in_phase_2()))
