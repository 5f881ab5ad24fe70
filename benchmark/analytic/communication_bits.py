"""Bits that a client exchanges in the whole training (MFCL, Section 5.4: Eq. 4 plus Eq. 5).

Readings as in `round_bits` and `representation_size`, the same module in both phases.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fedrepro.benchmark.analytic._mfcl import Client, client
from fedrepro.benchmark.analytic.base import Analytic, Candidate, from_candidates
from fedrepro.benchmark.analytic.representation_bits import coded
from fedrepro.benchmark.analytic.representation_size import sizes
from fedrepro.benchmark.analytic.round_bits import (
    CODED,
    CODED_SUPPORT,
    PRINTED_RATE,
    both_ways,
    end_to_end,
)
from fedrepro.benchmark.spec.model import Cell


def recompute(cell: Cell) -> Analytic:
    """Bits of all rounds and of phase 2; raises as `client` does."""
    one = client(cell)
    candidates = end_to_end(one, one.rounds) if one.networks else _modular(one)
    return from_candidates(cell, list(candidates))


def _modular(one: Client) -> Iterator[Candidate]:
    found = list(sizes(one))
    stated = found[0]
    weights, bits = stated.module.trained.weights, one.value_bits
    yield Candidate(
        f"Eqs. 4 and 5 {PRINTED_RATE}",
        (2 * weights * one.rounds + stated.values) * bits * one.rate,
        f"(2 x {weights:,} weights x {one.rounds} rounds + {stated.values:,} values) x {bits} bits "
        "x R",
        "Eqs. 4 and 5",
    )
    for size in found:
        weights = size.module.trained.weights
        yield Candidate(
            f"Eqs. 4 and 5 {CODED}, {size.name}",
            both_ways(one, size.module) * one.rounds + coded(one, size),
            f"(2 x {weights:,} weights x {one.rounds} rounds + {size.values:,} values) x {bits} "
            "bits / R",
            None if size.support is None else f"{CODED_SUPPORT}; {size.support}",
        )
