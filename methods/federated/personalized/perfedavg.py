"""PerFedAvg (FO): a model from which one gradient step makes a good personal one.

Paper: Fallah et al. 2020, Algorithm 1, first-order variant, which leaves out second derivatives.
With independent batches D and D', w' = w - α ∇f(w; D), then w ← w - β ∇f(w'; D').
Unstated: α (0.01, as in their experiments). D and D' are the two halves of a batch; a batch of one
image serves as both. β is the learning rate of the local optimiser.
Calibre gives every client 10 epochs to adapt; they are plain steps of the whole model.
Evidence: `tests/methods/test_personalized.py` (a step by hand on a quadratic).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ...state import State
from ...training.local import Supervised, cross_entropies
from ...training.local_loss import Batch, LocalLoss
from ..base import Server, Task
from ._personalized import Personalized


def stepped(state: State, losses: Tensor, step_size: float) -> State:
    """w - α ∇f(w) of stacked models; the gradient is a constant in later derivatives.
    `losses`: (models,), of the weights in `state` that require a gradient; others stay."""
    weights = {name: value for name, value in state.items() if value.requires_grad}
    gradients = torch.autograd.grad(losses.sum(), list(weights.values()))
    moved = {
        name: value - step_size * gradient
        for (name, value), gradient in zip(weights.items(), gradients, strict=True)
    }
    return {**state, **moved}


class _Meta(Supervised):
    """The loss after one step on the other half of the batch."""

    def __init__(self, task: Task, step_size: float) -> None:
        super().__init__(task.model, task.federation.train, None)
        self.step_size = step_size

    def is_batch_independent(self) -> bool:
        """No: which images make the step ahead depends on how many there are."""
        return False

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        x, labels = self.images(batch), self.labels[batch.index]
        half = max(1, labels.shape[1] // 2)
        ahead = stepped(state, self._loss_on(state, x[:, :half], labels[:, :half]), self.step_size)
        rest = slice(half if labels.shape[1] > 1 else 0, None)
        return self._loss_on(ahead, x[:, rest], labels[:, rest])

    def _loss_on(self, state: State, x: Tensor, labels: Tensor) -> Tensor:
        logits = self.model(state, x, training=True)  # models x half x classes
        return cross_entropies(logits, labels).mean(dim=1)  # models


@dataclass(frozen=True)
class PerFedAvg(Personalized):
    """step_size: α, of the step that a client is expected to make."""

    step_size: float = 0.01

    def local_loss(self, task: Task, received: State) -> LocalLoss:
        return _Meta(task, self.step_size)

    def adapt(self, task: Task, server: Server, start: State) -> State:
        return self.adapted_by(task, super().local_loss(task, server), start)
