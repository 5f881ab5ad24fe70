"""Values of all representations that a client sends in training phase 2 (MFCL, Section 5.4).

|z| is the module's output for one image times the client's images, sent in `rho` vectors. Each
vector holds two views of each image (16 for rho = 8), which the text's own example, 32 x 32 x 64 x
|D|, does not count. Methods without a second phase send none.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from ..spec.model import Cell
from ._mfcl import client
from .base import Analytic, Candidate, from_candidates


def recompute(cell: Cell) -> Analytic:
    """Values that one client sends; raises as `client` does."""
    sent = client(cell).sent_in_phase_2()
    return from_candidates(cell, [Candidate(s.name, s.values, s.how, s.source) for s in sent])
