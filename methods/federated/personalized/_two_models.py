"""A global and a personal model of each client, trained in the same steps: Ditto, APFL.

A client's state holds the personal model under `personal.<name>`. A step's loss is the sum of two,
each of which reaches its own model alone, so one optimiser takes the steps that two would.
Unstated: where a personal model begins (at the global model that the client first receives); a
novel client adapts one from the final global model.
Evidence: `tests/methods/test_two_models.py`.
"""

from abc import abstractmethod
from dataclasses import dataclass

from torch import Tensor

from ...state import State
from ...training.local import Supervised, cross_entropies
from ...training.local_loss import Batch
from ..base import Server, Task
from ._personalized import Personalized

PERSONAL = "personal."


def personal(state: State) -> State:
    """The personal model under the names of a model."""
    return {n.removeprefix(PERSONAL): v for n, v in state.items() if n.startswith(PERSONAL)}


def common(state: State) -> State:
    """The global model."""
    return {name: value for name, value in state.items() if not name.startswith(PERSONAL)}


class TwoModels(Supervised):
    """Sum of the losses of both models; of the personal one alone where a client adapts."""

    def __init__(self, task: Task, adapting: bool) -> None:
        super().__init__(task.model, task.federation.train, None)
        self.adapting = adapting

    @property
    def image_bytes(self) -> int:
        return 2 * super().image_bytes

    def learns(self, name: str, epoch: int) -> bool:
        return name.startswith(PERSONAL) or not self.adapting

    @abstractmethod
    def personal_loss(self, state: State, x: Tensor, batch: Batch) -> Tensor:
        """Each client's personal loss, (models,), on `x`; no gradient into the global one."""

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        x = self.images(batch)  # models x batch x C x H x W
        loss = self.personal_loss(state, x, batch)
        return loss if self.adapting else loss + self.loss_of(common(state), x, batch)

    def loss_of(self, model: State, x: Tensor, batch: Batch) -> Tensor:
        logits = self.model(model, x, training=True)
        return batch.mean(cross_entropies(logits, self.labels[batch.index]))


@dataclass(frozen=True)
class WithPersonalModel(Personalized):
    """Everything is shared but the personal models."""

    @abstractmethod
    def both(self, task: Task, received: State, adapting: bool) -> TwoModels:
        """What is minimised in a round, or in adapting to a fixed global model."""

    def personal_model(self, state: State) -> State:
        """The model that a client uses, from its state."""
        return personal(state)

    def private(self, initial: State, received: State) -> State:
        return {PERSONAL + name: value for name, value in received.items()}

    def local_loss(self, task: Task, received: State) -> TwoModels:
        return self.both(task, received, adapting=False)

    def adapt(self, task: Task, server: Server, start: State) -> State:
        loss = self.both(task, server, adapting=True)
        return self.personal_model(self.adapted_by(task, loss, start))
