"""Flops of one forward pass of the encoder for one image, two for each multiply-add.

CP-CFL Table E.22. Counted: convolutions and dense layers. The paper's tool, keras-flops, counts an
addition for each bias beside (and pooling and residual sums in a ResNet), at most 0.3 % in all.
Both ways the ResNets print as in the table, and the default CNN does not: 0.16456 G, or 0.16480 G
with biases, prints as 0.16 where the table has 0.17. Its strides were inferred from that number,
which is therefore not judged by it.
Evidence: `tests/benchmark/test_analytic.py`.
"""

from __future__ import annotations

from ..spec.model import Cell
from ._network import encoder_cost
from .base import Analytic, encoder_of, in_unit


def recompute(cell: Cell) -> Analytic:
    """Flops in the unit of the cell."""
    cost, described = encoder_cost(cell)
    kinds = " + ".join(f"{count:,} ({kind})" for kind, count in cost.multiply_adds_by_kind.items())
    value = in_unit(cost.flops, cell.unit)
    shown = f"{value} {cell.unit or ''}".strip()
    return Analytic(
        value=value,
        ours=encoder_of(cell).inferred or None,
        working=(
            described,
            f"multiply-adds: {kinds} = {cost.multiply_adds:,}",
            f"flops: 2 x {cost.multiply_adds:,} = {cost.flops:,} = {shown}",
        ),
    )
