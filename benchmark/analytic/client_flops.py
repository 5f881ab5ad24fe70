"""Floating-point operations of a client (MFCL, Tables 3, 4 and 15; Section 5.4 has no formula).

Taken here: two for each multiply-add, the backward pass twice the forward one, both views of all
images in the local epochs of one round, of the module as listed with its decoder. A search over
other spans, layers and counts of a multiply-add gave at most one of the seven distinct values each,
and none a second one. So a cell that does not fit is `INCONCLUSIVE`: what convicts a print is a
formula of its paper.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from ...methods.costs.model_costs import FLOPS_PER_MULTIPLY_ADD
from ..spec.model import Cell
from ._mfcl import VIEWS, client
from ._network import measure_layers
from .base import Analytic, Candidate, from_candidates

_PASSES = 3
_OURS = "a reading of ours, as the paper has no formula for β"


def recompute(cell: Cell) -> Analytic:
    """Operations of one client; raises as `client` does."""
    one = client(cell)
    measured = one.network if one.networks else measure_layers(one.listed.layers, one.side)[0]
    networks = max(one.networks, 1)
    passes = _PASSES * VIEWS * one.images * one.epochs
    arithmetic = (
        f"{one.times}{FLOPS_PER_MULTIPLY_ADD} x {measured.multiply_adds:,} multiply-adds x "
        f"{_PASSES} passes x {VIEWS} views x {one.images:,} images x {one.epochs} local epochs"
    )
    value = networks * FLOPS_PER_MULTIPLY_ADD * measured.multiply_adds * passes
    stated = Candidate("all local epochs of one round", value, arithmetic, "β has no formula")
    return from_candidates(cell, [stated], ours=_OURS)
