"""Trained parameters of the encoder (CP-CFL, Section 4.5: about 2.4 M for the default one)."""

from __future__ import annotations

from ..spec.model import Cell
from ._network import encoder_cost
from .base import Analytic, encoder_of, in_unit


def recompute(cell: Cell) -> Analytic:
    """Parameters in the unit of the cell; running statistics are not counted."""
    cost, described = encoder_cost(cell)
    value = in_unit(cost.parameters, cell.unit)
    return Analytic(
        value=value,
        ours=encoder_of(cell).inferred or None,
        working=(
            described,
            f"trained parameters: {cost.parameters:,} = {value} {cell.unit or ''}".strip(),
        ),
    )
