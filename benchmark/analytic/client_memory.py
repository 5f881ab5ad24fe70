"""Bytes that a client needs in training: weights, gradients and feature maps (MFCL, Eq. 6).

Eq. 6 multiplies all three by the size 2K of a mini-batch and by four bytes. Feature maps are taken
to be those of convolutions and dense layers. Whether the decoder belongs to the client's weights it
leaves open. That it does not was found by a search over readings that hit the print with it, so a
fit is weak evidence: what fits ResNet-18's 11e7 does not fit ResNet-50's 23e7.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from ..spec.model import Cell
from ._mfcl import VIEWS, client
from ._network import Measured
from .base import Analytic, Candidate, from_candidates

_ALONE = "Appendix B.2.3: footprints are those of the client modules"
_SEARCHED = 20
"""Readings of Eq. 6 among which the search found those that fit a module."""


def recompute(cell: Cell) -> Analytic:
    """Bytes of one client; raises as `client` does."""
    one = client(cell)
    views, networks = VIEWS * one.batch, max(one.networks, 1)

    def eq_6(name: str, measured: Measured, source: str) -> Candidate:
        values = (2 * measured.weights + measured.convolved) * views
        counted = f"(2 x {measured.weights:,} + {measured.convolved:,}) x {views}"
        how = f"{one.times}{counted} x {one.value_bytes} bytes"
        return Candidate(name, networks * values * one.value_bytes, how, f"{source}; Eq. 6")

    found = []
    for trained in one.trained():
        if trained.alone is None:
            found.append(eq_6("the whole network", trained.whole, trained.source))
        else:
            source = trained.source
            found.append(eq_6(f"{trained.name} with decoder", trained.whole, source))
            alone = f"{trained.name} without decoder"
            found.append(eq_6(alone, trained.alone, f"{source}; {_ALONE}"))
    return from_candidates(cell, found, searched=0 if one.networks else _SEARCHED)
