"""FedBABU: the body is trained and averaged under a head that stays random; heads come afterwards.

Paper: Oh et al. 2022, Algorithm 1. Calibre (Section II) has clients fine-tune the head alone on
the fixed encoder; Oh et al. compare that with fine-tuning everything, their default.
Evidence: `tests/methods/test_personalized.py` (the head does not move before personalisation).
"""

from typing import ClassVar

from ...nn.classifier import ENCODER
from ...state import State
from ...training.local_loss import LocalLoss
from ..base import Task
from ._personalized import Personalized
from .fedrep import HeadThenBody


class FedBABU(Personalized):
    """Only bodies travel; everybody has the same random head."""

    shared: ClassVar[tuple[str, ...]] = (ENCODER,)

    def local_loss(self, task: Task, received: State) -> LocalLoss:
        return HeadThenBody(task, head_epochs=0)
