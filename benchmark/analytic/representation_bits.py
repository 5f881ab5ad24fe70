"""Bits of training phase 2 of a client (MFCL, Eq. 5).

Eq. 5 multiplies by the code rate, as Eq. 4 does; the readings divide, as in `round_bits`.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from fractions import Fraction

from fedrepro.benchmark.analytic._mfcl import Client, client
from fedrepro.benchmark.analytic.base import Analytic, Candidate, from_candidates
from fedrepro.benchmark.analytic.representation_size import NO_SECOND_PHASE, Size, sizes
from fedrepro.benchmark.analytic.round_bits import CODED, CODED_SUPPORT, PRINTED_RATE
from fedrepro.benchmark.spec.model import Cell


def recompute(cell: Cell) -> Analytic:
    """Bits that one client sends; raises as `client` does."""
    one = client(cell)
    if one.networks:
        return from_candidates(cell, [NO_SECOND_PHASE])
    found = list(sizes(one))
    stated = found[0]
    candidates = [
        Candidate(
            f"Eq. 5 {PRINTED_RATE}",
            stated.values * one.value_bits * one.rate,
            f"{stated.values:,} values x {one.value_bits} bits x R",
            "Eq. 5",
        )
    ]
    for size in found:
        candidates.append(
            Candidate(
                f"Eq. 5 {CODED}, {size.name}",
                coded(one, size),
                f"{size.values:,} values x {one.value_bits} bits / R",
                None if size.support is None else f"{CODED_SUPPORT}; {size.support}",
            )
        )
    return from_candidates(cell, candidates)


def coded(one: Client, size: Size) -> Fraction:
    """Bits of representations of that size, with coding."""
    return size.values * one.value_bits / one.rate
