"""HeteroFL: clients with less computing power train a part of every layer's channels.

Paper: Diao et al. 2020, "HeteroFL"; as MFCL's baseline, Table 4. A client of level r holds the
first channels, a share r of them, of the global network. The server averages each weight over the
clients that hold it. The cross-entropy leaves out classes that a client lacks (logits set to 0).
Deviations: running statistics are averaged like weights, not collected after training. Nothing is
scaled by 1/r, which batch normalisation undoes. All rows of the last layer are averaged.
Unstated in MFCL: the levels (those of Diao et al., one after the other over the clients).
Evidence: `tests/methods/test_supervised.py`.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from ...later import later
from ...nn.classifier import ENCODER
from ...state import State, part, repeat
from ...training.local import Supervised
from ...training.local_loss import Batch, LocalOptions
from ..base import Memory, Message, Round, Server
from ..with_labels import WithLabels


class PresentClasses(Supervised):
    """Cross-entropy with the logits of classes that a client lacks set to 0."""

    def __init__(self, now: Round, share: float) -> None:
        task = now.task
        super().__init__(task.narrowed_model(share), task.federation.train, None)
        # One tensor for each client: members of a batch are then looked up without an index.
        self.lacking = (task.federation.class_counts()[now.clients] == 0).to(task.device).unbind()

    def logits(self, state: State, client_state: State, batch: Batch) -> Tensor:
        lacking = torch.stack([self.lacking[member] for member in batch.members]).unsqueeze(1)
        return super().logits(state, client_state, batch).masked_fill(lacking, 0.0)


def sliced(state: State, like: State) -> State:
    """The first entries of every tensor, as many as `like` has along each dimension but models."""
    return {
        name: value[(slice(None), *(slice(size) for size in like[name].shape[1:]))].contiguous()
        for name, value in state.items()
    }


def overlapping_average(old: State, held: list[State]) -> State:
    """Each weight's mean over the models that hold it (`held`: stacks of one shape), or `old`."""
    averaged: State = {}
    for name, value in old.items():
        total, count = torch.zeros_like(value[0]), torch.zeros_like(value[0])
        for stack in held:
            own = stack[name]
            where = tuple(slice(size) for size in own.shape[1:])
            total[where] += own.sum(0)
            count[where] += len(own)
        mean = torch.where(count > 0, total / count.clamp(min=1), value[0])
        averaged[name] = mean.unsqueeze(0)
    return averaged


Share = Annotated[float, Field(gt=0, le=1)]
"""A part of a network."""


@dataclass(frozen=True)
class HeteroFL(WithLabels):
    """levels: shares of the channels, one a client in turn. `clip_norm`: of gradients, or None."""

    levels: Annotated[tuple[Share, ...], Field(min_length=1)] = (1.0, 0.5, 0.25, 0.125, 0.0625)
    clip_norm: float | None = later(None)

    def local_options(self, t: int) -> LocalOptions:
        return replace(super().local_options(t), clip_norm=self.clip_norm)

    def _by_level(self, clients: Tensor) -> dict[float, Tensor]:
        own = clients % len(self.levels)
        found = {level: (own == i).nonzero().flatten() for i, level in enumerate(self.levels)}
        return {level: at for level, at in found.items() if len(at)}

    def broadcast(self, now: Round, server: Server) -> Message:
        sent = {}
        for level, at in self._by_level(now.clients).items():
            like = now.task.narrowed_model(level).new(torch.Generator())
            sent[f"weights {level:g}"] = repeat(sliced(server, like), len(at))
        return Message(per_client=sent)

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        sent = {}
        for level, at in self._by_level(now.clients).items():
            name, own = f"weights {level:g}", now.of(now.clients[at])
            loss = PresentClasses(own, level)
            sent[name] = self.train(own, loss, download.per_client[name]).state
        return Message(per_client=sent)

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        return overlapping_average(server, list(upload.per_client.values()))

    def encoder(self, server: Server) -> State | None:
        return part(server, ENCODER)
