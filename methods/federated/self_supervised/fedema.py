"""FedEMA: clients mix what they receive into their own model, by how far the two have diverged.

Paper: Zhuang et al. 2022 (Divergence-aware Federated Self-Supervised Learning); fedrlc, Eq. 28 and
the text below it; calibre and mfcl compare with it. BYOL on every client, online networks averaged.
A client starts a round from γ x own + (1 - γ) x global, encoder, projector and predictor alike,
with γ = min(λ |global - own|, 1). λ is each client's own and is set once, when it first has a model
of its own, such that γ = τ (the autoscaler). The target network stays on the client.
Unstated: over which weights the norm goes (one norm over encoder and projector, the 'encoder' of
both papers); running statistics are mixed as weights are.
Evidence: `tests/methods/test_fedema.py` (two clients by hand).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedrepro.methods.federated.base import Memory, Task
from fedrepro.methods.federated.self_supervised._local_models import (
    KeepsLocalModel,
    encoder_distance,
    mixed,
    remember,
)
from fedrepro.methods.state import State


@dataclass(frozen=True)
class FedEMA(KeepsLocalModel):
    """autoscaler_tau: τ, the first share of a client's own model."""

    autoscaler_tau: float = 0.7

    def merge(
        self, task: Task, received: State, own: State, t: int, clients: Tensor, memory: Memory
    ) -> State:
        distance = encoder_distance(received, own)
        return mixed(own, received, self._share(distance, task, clients, memory))

    def _share(self, distance: Tensor, task: Task, clients: Tensor, memory: Memory) -> Tensor:
        """γ of each client; sets λ of those that have none."""
        if "scale" not in memory:
            fresh = {"scale": torch.zeros_like(distance)}
            remember(memory, "scale", task.federation.n_clients, clients, fresh)
        scale = memory["scale"]["scale"][clients]
        # A model that did not move (distance 0) has no scale yet; it is what was received.
        first = (scale == 0) & (distance > 0)
        scale = torch.where(first, self.autoscaler_tau / distance.clamp(min=1e-12), scale)
        remember(memory, "scale", task.federation.n_clients, clients, {"scale": scale})
        return (scale * distance).clamp(max=1)
