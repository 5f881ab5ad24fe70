"""Where a training by epochs stands, so that it can be saved after any epoch and go on from there.
Evidence: `tests/benchmark/test_interrupted.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ..optim.optimizers import Optimizer
from ..state import State


@dataclass
class Epochs:
    """All that a training goes on from, after `done` epochs; memory: what the loss keeps."""

    weights: State
    memory: State = field(default_factory=dict)
    done: int = 0
    losses: list[float] = field(default_factory=list)
    streams: dict[str, Tensor] = field(default_factory=dict)
    moments: list[dict[str, Any]] = field(default_factory=list)

    def go_on(self, optimizers: list[Optimizer], **streams: torch.Generator) -> None:
        """Takes optimisers and streams to where they were; at the very beginning does nothing."""
        for optimizer, moments in zip(optimizers, self.moments, strict=False):
            optimizer.load_state_dict(moments)
        for name, state in self.streams.items():
            streams[name].set_state(state)

    def so_far(self, optimizers: list[Optimizer], **streams: torch.Generator) -> Epochs:
        """What is to be saved now."""
        moments = [optimizer.state_dict() for optimizer in optimizers]
        states = {name: stream.get_state() for name, stream in streams.items()}
        return replace(self, moments=moments, streams=states)
