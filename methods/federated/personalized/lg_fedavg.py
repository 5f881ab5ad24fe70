"""LG-FedAvg: representations are local, the head on top of them is global.

Paper: Liang et al. 2020, Section 3 and Algorithm 1. Clients keep their encoders and average the
layers above. Both are trained together on the client.
Deviation: no warm start by FedAvg (their experiments begin with one; Calibre mentions none).
Unstated: how encoders begin (all alike), and what a novel client does. It has the first encoder and
the global head, and like everybody else adapts both.
Evidence: `tests/methods/test_personalized.py`.
"""

from typing import ClassVar

from ...nn.classifier import HEAD
from ...state import State
from ..base import Server, Task
from ._personalized import Personalized


class LGFedAvg(Personalized):
    """Only heads travel."""

    shared: ClassVar[tuple[str, ...]] = (HEAD,)

    def adapt(self, task: Task, server: Server, start: State) -> State:
        return self.adapted_by(task, self.local_loss(task, server), start)
