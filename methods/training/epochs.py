"""Where a training by epochs stands, so that it can be saved after any batch and go on from there.

Evidence: `tests/methods/test_interrupted.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ..optim.optimizers import Optimizer
from ..state import State


@dataclass
class Epochs:
    """All that a training goes on from.

    weights, memory: what is trained, and what the loss keeps beside it. epoch: how many are done.
    batches, images, total: of the present one, how many are done and the sum of their losses.
    losses: of each epoch that is done. order: state of the stream that orders the images, at the
    beginning of the present epoch. others: present states of further streams. moments: of the
    optimisers.
    """

    weights: State
    memory: State = field(default_factory=dict)
    epoch: int = 0
    batches: int = 0
    images: int = 0
    total: Tensor | None = None
    losses: list[float] = field(default_factory=list)
    order: Tensor | None = None
    others: dict[str, Tensor] = field(default_factory=dict)
    moments: list[dict[str, Any]] = field(default_factory=list)

    def go_on(self, optimizers: list[Optimizer], **streams: torch.Generator) -> None:
        """Takes optimisers and streams to where they were; at the very beginning does nothing.

        streams: `order`, and those of `others`.
        """
        for optimizer, moments in zip(optimizers, self.moments, strict=False):
            optimizer.load_state_dict(moments)
        for name, stream in streams.items():
            state = self.order if name == "order" else self.others.get(name)
            if state is not None:
                stream.set_state(state)

    def begin(self, order: torch.Generator, device: torch.device | str) -> Tensor:
        """Begins the next epoch, or goes on with the one that was interrupted; its sum so far."""
        self.order = order.get_state()
        if self.batches == 0:
            self.images, self.total = 0, torch.zeros((), device=device)
        assert self.total is not None
        return self.total

    def passed(self, images: int) -> None:
        """A batch of so many images is done."""
        self.batches, self.images = self.batches + 1, self.images + images

    def end(self) -> None:
        """The epoch is done."""
        assert self.total is not None
        self.losses.append(float(self.total) / max(1, self.images))
        self.epoch, self.batches = self.epoch + 1, 0

    def so_far(
        self, optimizers: list[Optimizer], others: Mapping[str, torch.Generator] | None = None
    ) -> Epochs:
        """What is to be saved now."""
        moments = [optimizer.state_dict() for optimizer in optimizers]
        states = {name: stream.get_state() for name, stream in (others or {}).items()}
        return replace(self, moments=moments, others=states)
