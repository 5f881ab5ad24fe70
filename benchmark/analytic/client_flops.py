"""Floating-point operations of a client (MFCL, Tables 3, 4 and 15; Section 5.4 has no formula).

Stated as the spec takes it: two for each multiply-add, the backward pass twice the forward one,
both views of all images in the local epochs of one round. Readings: what span is covered, whether a
multiply-add counts one, and which layers there are.
A blind search over thousands of further combinations hit no more than one of the seven distinct
values each, and only FedSimCLR's and FedEMA's on ResNet-50, with 5000 images in place of the 1000,
images of 224 x 224, or one step a round behind the ImageNet stem. None fits a second cell, so they
are taken for chance and not listed.
So a cell that fits none of them is `INCONCLUSIVE`: what convicts a print is a formula of its paper.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...methods.costs.model_costs import FLOPS_PER_MULTIPLY_ADD
from ..spec.model import Cell
from ._mfcl import VIEWS, Client, client
from .base import Analytic, Candidate, from_candidates

_PASSES = 3
_SUPPORT = "β has no formula"
_OURS = "readings of ours, as the paper has no formula for β"


def recompute(cell: Cell) -> Analytic:
    """Operations of one client; raises as `client` does."""
    one = client(cell)
    trained = list(_trained(one))
    candidates = [
        Candidate(
            f"{span}, {name}, {operations} a multiply-add",
            networks * operations * multiply_adds * passes,
            (f"{networks} networks x " if networks > 1 else "")
            + f"{operations} x {multiply_adds:,} multiply-adds x {arithmetic}",
            f"{_SUPPORT}; {support}",
        )
        for operations in (FLOPS_PER_MULTIPLY_ADD, 1)
        for span, passes, arithmetic in _spans(one)
        for name, support, multiply_adds, networks in trained
    ]
    return from_candidates(cell, candidates, ours=_OURS)


def _spans(one: Client) -> Iterator[tuple[str, int, str]]:
    """Readings of what is counted: name, forward passes of one image that it costs, arithmetic."""
    training = f"{_PASSES} passes x {VIEWS} views"
    epoch, counted = one.images * VIEWS * _PASSES, f"{training} x {one.images:,} images"
    a_round, rounds = f"{counted} x {one.epochs} epochs", f"{one.rounds} rounds"
    if one.epochs > 1:
        yield f"a round of {one.epochs} epochs", one.epochs * epoch, a_round
    yield "an epoch", epoch, counted
    yield "a step", one.batch * VIEWS * _PASSES, f"{training} x {one.batch} images"
    yield "the forward pass of one image", 1, "1 image"
    yield f"all {rounds}", one.rounds * one.epochs * epoch, f"{a_round} x {rounds}"


def _trained(one: Client) -> Iterator[tuple[str, str, int, int]]:
    """Readings of what is trained: name, support, multiply-adds, number of networks."""
    if one.networks:
        for network in one.end_to_end():
            if network.support is not None:
                cost = network.measured.multiply_adds
                yield network.name, network.support, cost, one.networks
        return
    modules = one.modules()
    first, others = modules[:2], modules[2:]
    readings = [(module, True) for module in reversed(first)]
    readings += [(module, False) for module in modules] + [(module, True) for module in others]
    for module, decoder in readings:
        cost = (module.trained if decoder else module.alone).multiply_adds
        name = f"{module.name} {'with' if decoder else 'without'} decoder"
        yield name, str(module.support), cost, 1
