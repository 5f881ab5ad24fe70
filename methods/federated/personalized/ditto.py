"""Ditto: FedAvg, and a personal model for each client that is held near the global one.

Paper: Li et al. 2021, Algorithm 1. The personal model's step is v ← v - η (∇F(v) + λ (v - w)),
where w is the global model that the client received. Accuracies are those of v.
Unstated by Calibre: λ, which Li et al. choose for each data set; 0.1 is taken. Personal models make
as many steps as global ones, on the same batches.
Evidence: `tests/methods/test_two_models.py` (the proximal step by hand).
"""

from dataclasses import dataclass

from torch import Tensor

from ...state import State
from ...training.local_loss import Batch, squared_distance
from ..base import Task
from ._two_models import TwoModels, WithPersonalModel, personal


class _Proximal(TwoModels):
    """F(v) + λ/2 |v - w|²; `anchor` is w, one model."""

    def __init__(self, task: Task, adapting: bool, anchor: State, proximity: float) -> None:
        super().__init__(task, adapting)
        self.anchor, self.proximity = anchor, proximity

    def personal_loss(self, state: State, x: Tensor, batch: Batch) -> Tensor:
        own = personal(state)
        return self.loss_of(own, x, batch) + self.proximity / 2 * squared_distance(own, self.anchor)


@dataclass(frozen=True)
class Ditto(WithPersonalModel):
    """proximity: λ."""

    proximity: float = 0.1

    def both(self, task: Task, received: State, adapting: bool) -> TwoModels:
        return _Proximal(task, adapting, received, self.proximity)
