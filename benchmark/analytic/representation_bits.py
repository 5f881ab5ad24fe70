"""Bits of training phase 2 of a client (MFCL, Eq. 5).

Eq. 5 multiplies by the code rate, as Eq. 4 does; the readings divide, as in `round_bits`.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from ..spec.model import Cell
from ._mfcl import client, with_code
from .base import Analytic, from_candidates
from .representation_size import NO_SECOND_PHASE, sizes


def recompute(cell: Cell) -> Analytic:
    """Bits that one client sends; raises as `client` does."""
    one = client(cell)
    if one.networks:
        return from_candidates(cell, [NO_SECOND_PHASE])
    found = [
        (size.name, size.support, size.values, f"{size.values:,} values") for size in sizes(one)
    ]
    return from_candidates(cell, list(with_code(one, "Eq. 5", found)))
