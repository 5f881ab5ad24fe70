"""FedBABU: the body is trained and averaged under a head that stays random; heads come afterwards.

Paper: Oh et al. 2022, Algorithm 1. Calibre (Section II) has clients fine-tune the head alone on
the fixed encoder; Oh et al. compare that with fine-tuning everything, their default.
Evidence: `tests/methods/test_personalized.py` (the head does not move before personalisation).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from methods.engine.local import Supervised
from methods.engine.steps import Work
from methods.federated._personalized import Personalized
from methods.federated.base import Task
from methods.models.classifier import ENCODER
from methods.state import State


class _Body(Supervised):
    """Cross-entropy through a head that is not trained."""

    def learns(self, name: str, epoch: int) -> bool:
        return name.startswith(ENCODER + ".")


@dataclass(frozen=True)
class FedBABU(Personalized):
    """Only bodies travel; everybody has the same random head."""

    shared: ClassVar[tuple[str, ...]] = (ENCODER,)

    def work(self, task: Task, received: State) -> Work:
        return _Body(task.model, task.federation.train, None)
