"""The encoder of a cell's experiment, built and measured."""

from __future__ import annotations

from functools import lru_cache

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec import settings
from fedrepro.benchmark.spec.model import Cell
from fedrepro.methods.costs.model_costs import NetworkCost, network_cost
from fedrepro.methods.encoders.base import Encoder


def encoder_cost(cell: Cell) -> tuple[NetworkCost, str]:
    """The cost of the cell's encoder at its image size, and a line that says what was measured.

    Raises `SpecError` if the experiment lacks a setting.
    """
    name, size, channels = (
        settings.get(cell.experiment, path)
        for path in ("encoder.name", "clients.image_size", "clients.channels")
    )
    if name is None or size is None or channels is None:
        raise SpecError(
            f"{cell.paper}, table {cell.table}, {cell.label}: formula '{cell.formula}' needs "
            "encoder.name, clients.image_size and clients.channels"
        )
    encoder = settings.build("encoder", name, cell.experiment["encoder"])
    return _cost(encoder, channels, size), f"{encoder} for {channels} x {size} x {size} images"


@lru_cache(maxsize=64)
def _cost(encoder: Encoder, channels: int, size: int) -> NetworkCost:
    """Kept, since verdicts and the audit ask for the same few encoders cell by cell."""
    return network_cost(encoder.build(channels, size), channels, size, size)
