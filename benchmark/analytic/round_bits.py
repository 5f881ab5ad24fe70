"""Bits that a client exchanges in one round of training phase 1 (MFCL, Eq. 4 for T = 1).

Eq. 4 multiplies by the code rate R = 1/3. A code of that rate sends three bits for each one, so a
reading divides. The decoder goes both ways (footnote 3 and Algorithm 1); readings without it are
shown for what they give.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..spec.model import Cell
from ._mfcl import (
    CODED,
    CODED_SUPPORT,
    PRINTED_RATE,
    Client,
    client,
    with_code,
)
from .base import Analytic, Candidate, from_candidates


def recompute(cell: Cell) -> Analytic:
    """Bits in both directions; raises as `client` does."""
    one = client(cell)
    if not one.networks:
        return from_candidates(cell, list(_modular(one)))
    return from_candidates(cell, list(end_to_end(one, 1)))


def end_to_end(one: Client, rounds: int) -> Iterator[Candidate]:
    """The whole network in both directions, in `rounds` rounds."""
    times = "" if rounds == 1 else f" x {rounds} rounds"
    networks = one.end_to_end()
    for network in networks:
        weights = network.measured.weights
        counted = f"2 x {weights:,} weights x {one.value_bits} bits{times}"
        bits = 2 * weights * one.value_bits * rounds
        if network.encoder == one.encoder and network.side == one.side:
            yield Candidate(f"Eq. 4 {PRINTED_RATE}", bits * one.rate, f"{counted} x R", "Eq. 4")
        support = None if network.support is None else CODED_SUPPORT
        name = f"Eq. 4 {CODED}" + (f", {network.name}" if len(networks) > 1 else "")
        yield Candidate(name, bits / one.rate, f"{counted} / R", support)


def _modular(one: Client) -> Iterator[Candidate]:
    modules, bits = one.modules(), one.value_bits
    weights = [module.trained.weights for module in modules]
    yield from with_code(
        one,
        "Eq. 4",
        [
            (module.name, module.support, 2 * n, f"2 x {n:,} weights")
            for module, n in zip(modules, weights, strict=True)
        ],
    )
    whole, alone = weights[0], modules[0].alone.weights
    yield Candidate(
        "client module without decoder both ways, divided by R",
        2 * alone * bits / one.rate,
        f"2 x {alone:,} weights x {bits} bits / R",
        None,
    )
    yield Candidate(
        "module and decoder one way, module alone the other, divided by R",
        (whole + alone) * bits / one.rate,
        f"({whole:,} + {alone:,}) weights x {bits} bits / R",
        None,
    )
