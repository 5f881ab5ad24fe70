"""State of a training by epochs, so that it can be saved after any epoch and go on from there.
Evidence: `tests/benchmark/test_interrupted.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ..checkpoint import Checkpoint
from ..optim.optimizers import Optimizer
from ..outcome import DivergedError
from ..state import State


@dataclass
class Epochs:
    """All that a training goes on from, after `done` epochs; `memory`: what the loss remembers."""

    weights: State
    memory: State = field(default_factory=dict)
    done: int = 0
    losses: list[float] = field(default_factory=list)
    streams: dict[str, Tensor] = field(default_factory=dict)
    moments: list[dict[str, Any]] = field(default_factory=list)

    def left(
        self,
        epochs: int,
        optimizers: Sequence[Optimizer],
        checkpoint: Checkpoint,
        progress: Callable[[int, int], None],
        **streams: torch.Generator,
    ) -> Iterator[int]:
        """The epochs that are left of `epochs`, from 0; before each the training may be saved.
        Takes optimisers and streams to where they were. Raises `DivergedError` after an epoch that
        ends on numbers that are not finite: a finite loss can end on weights that are not."""
        for optimizer, moments in zip(optimizers, self.moments, strict=False):
            optimizer.load_state_dict(moments)
        for name, state in self.streams.items():
            streams[name].set_state(state)
        while self.done < epochs:
            checkpoint.at(lambda: self._so_far(optimizers, streams))
            yield self.done
            last = map(torch.tensor, self.losses[-1:])
            if not all(bool(value.isfinite().all()) for value in (*last, *self.weights.values())):
                raise DivergedError(self.done + 1)
            self.done += 1
            progress(self.done, epochs)

    def _so_far(
        self, optimizers: Sequence[Optimizer], streams: Mapping[str, torch.Generator]
    ) -> Epochs:
        moments = [optimizer.state_dict() for optimizer in optimizers]
        states = {name: stream.get_state() for name, stream in streams.items()}
        return replace(self, moments=moments, streams=states)
