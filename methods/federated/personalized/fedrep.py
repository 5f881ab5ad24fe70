"""FedRep: in every round a client trains its own head on the received body, then the body.

Paper: Collins et al. 2021, Algorithm 1: τ updates of the head with the body fixed, then one epoch
of the body with the head fixed; bodies are averaged, heads stay.
Unstated by Calibre: how its 3 local epochs are divided. Taken: all but the last for the head. While
the head is trained, the body is in evaluation mode and every image is encoded once.
Evidence: `tests/methods/test_personalized.py` (each half leaves the other untouched).
"""

from dataclasses import dataclass
from typing import ClassVar

from ...nn.classifier import ENCODER
from ...state import State
from ...training.local import Supervised
from ...training.local_loss import LocalLoss
from ..base import Task
from ._personalized import Personalized


class HeadThenBody(Supervised):
    """Cross-entropy; the head learns for `head_epochs`, then the encoder."""

    def __init__(self, task: Task, head_epochs: int) -> None:
        super().__init__(task.model, task.federation.train, None)
        self.head_epochs = head_epochs

    def _frozen(self, epoch: int) -> bool:
        return epoch < self.head_epochs

    def learns(self, name: str, epoch: int) -> bool:
        return name.startswith(ENCODER + ".") != self._frozen(epoch)


@dataclass(frozen=True)
class FedRep(Personalized):
    """body_epochs: how many of the local epochs, the last ones, train the body."""

    shared: ClassVar[tuple[str, ...]] = (ENCODER,)

    body_epochs: int = 1

    def local_loss(self, task: Task, received: State) -> LocalLoss:
        return HeadThenBody(task, max(0, self.local_epochs - self.body_epochs))
