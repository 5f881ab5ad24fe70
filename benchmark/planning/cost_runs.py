"""The run that counts the costs of a cell's method, at the paper's own setting in every profile."""

from __future__ import annotations

import dataclasses

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.planning.plan_run import Resolver
from fedrepro.benchmark.spec.model import Cell, Profile
from fedrepro.benchmark.spec.settings import get

COUNTED = ("communication-bits", "client-flops", "client-memory")
"""Formulas whose costs are also counted from rounds that a method makes
(`methods.costs.counting`)."""


class CostRuns:
    """The runs behind counted costs."""

    def __init__(self) -> None:
        self._published = Resolver(Profile("as published", 1, ()))

    def of(self, cell: Cell) -> RunConfig | None:
        """The run behind the count of an analytic cell; None for cells that are not counted.

        Raises `SpecError` if a setting is missing or has the wrong type.
        """
        if cell.kind != "analytic" or cell.skip is not None or cell.formula not in COUNTED:
            return None
        images = get(cell.experiment, "costs.images")
        if not isinstance(images, int):
            return None
        settings = {name: value for name, value in cell.experiment.items() if name != "costs"}
        bound = dataclasses.replace(cell, experiment=settings, overrides={})
        found = self._published.resolve(bound, "accuracy").config
        if found is None:
            return None
        trained = found if found.start is None else found.start
        assert trained.clients is not None
        clients = {
            "count": trained.clients["count"],
            "images": images,
            "code_rate": str(get(cell.experiment, "costs.code_rate")),
        }
        return dataclasses.replace(trained, stage="costs", clients=clients)
