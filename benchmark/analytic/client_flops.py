"""Floating-point operations of a client (MFCL, Tables 3, 4 and 15; Section 5.4 has no formula).

Stated as the spec takes it: two for each multiply-add, the backward pass twice the forward one,
both views of all images in the local epochs of one round. Readings: what span is covered, whether a
multiply-add counts one, and which layers there are.
A blind search over thousands of further combinations hit no more than one of the seven distinct
values each, and only FedSimCLR's and FedEMA's on ResNet-50, with 5000 images in place of the 1000,
images of 224 x 224, or one step a round behind the ImageNet stem. None fits a second cell, so they
are taken for chance and not listed.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fedrepro.benchmark.analytic._mfcl import VIEWS, Client, client
from fedrepro.benchmark.analytic.base import Analytic, Candidate, from_candidates
from fedrepro.benchmark.spec.model import Cell
from fedrepro.methods.costs.model_costs import FLOPS_PER_MULTIPLY_ADD

_PASSES = 3
_SUPPORT = "β has no formula"


@dataclass(frozen=True)
class _Span:
    """A part of the training: how many forward passes of one image it costs."""

    name: str
    passes: int
    arithmetic: str


def recompute(cell: Cell) -> Analytic:
    """Operations of one client; raises as `client` does."""
    one = client(cell)
    trained = list(_trained(one))
    candidates = [
        Candidate(
            f"{span.name}, {name}, {operations} a multiply-add",
            networks * operations * multiply_adds * span.passes,
            (f"{networks} networks x " if networks > 1 else "")
            + f"{operations} x {multiply_adds:,} multiply-adds x {span.arithmetic}",
            f"{_SUPPORT}; {support}",
        )
        for operations in (FLOPS_PER_MULTIPLY_ADD, 1)
        for span in _spans(one)
        for name, support, multiply_adds, networks in trained
    ]
    return from_candidates(cell, candidates)


def _spans(one: Client) -> list[_Span]:
    training = f"{_PASSES} passes x {VIEWS} views"
    epoch = one.images * VIEWS * _PASSES
    whole = _Span("an epoch", epoch, f"{training} x {one.images:,} images")
    a_round = _Span(
        f"a round of {one.epochs} epochs",
        one.epochs * epoch,
        f"{training} x {one.images:,} images x {one.epochs} epochs",
    )
    return [
        *([a_round] if one.epochs > 1 else []),
        whole,
        _Span("a step", one.batch * VIEWS * _PASSES, f"{training} x {one.batch} images"),
        _Span("the forward pass of one image", 1, "1 image"),
        _Span(
            f"all {one.rounds} rounds",
            one.rounds * one.epochs * epoch,
            f"{a_round.arithmetic} x {one.rounds} rounds",
        ),
    ]


def _trained(one: Client) -> Iterator[tuple[str, str, int, int]]:
    """Readings of what is trained: name, support, multiply-adds, number of networks."""
    if one.networks:
        for network in one.end_to_end():
            if network.support is not None:
                cost = network.measured.multiply_adds
                yield network.name, network.support, cost, one.networks
        return
    modules = one.modules()
    for module in reversed(modules[:2]):
        yield f"{module.name} with decoder", str(module.support), module.trained.multiply_adds, 1
    for module in modules:
        yield f"{module.name} without decoder", str(module.support), module.alone.multiply_adds, 1
    for module in modules[2:]:
        yield f"{module.name} with decoder", str(module.support), module.trained.multiply_adds, 1
