"""FedEMA: clients mix what they receive into their own model, by how far the two have diverged.

Paper: Zhuang et al. 2022 (Divergence-aware Federated Self-Supervised Learning); fedrlc, Eq. 28 and
the text below it; calibre and mfcl compare with it. BYOL on every client, online networks averaged.
A client starts a round from γ x own + (1 - γ) x global, encoder, projector and predictor alike.
Here γ = min(λ |global - own|, 1). Each client has its own λ. It is set once, when the client first
has a model of its own, such that γ = τ (the autoscaler). The target network stays on the client.
Unstated: over which weights the norm goes (`distance`: one norm over encoder and projector, the
'encoder' of both papers); running statistics are mixed as weights are.
Seen: under Adam γ stays at 1 on digits: the distance does not fall, and clients train alone.
Evidence: `tests/methods/test_fedema.py` (by hand).
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from ...state import State
from ..base import Round, Task
from ..client_memory import ClientStates
from ._local_models import KeepsLocalModel, LocalModelMemory, distance_of, mixed


@dataclass
class ScaledMemory(LocalModelMemory):
    """scale: λ of each client; 0 where it has none yet."""

    scale: Tensor = field(default_factory=lambda: torch.zeros(0))


@dataclass(frozen=True)
class FedEMA(KeepsLocalModel):
    """autoscaler_tau: τ, the first share of a client's own model."""

    autoscaler_tau: float = 0.7

    def new_memory(self, task: Task) -> ScaledMemory:
        n_clients = task.federation.n_clients
        scale = torch.zeros(n_clients, device=task.device)
        none = ClientStates.of(n_clients)
        return ScaledMemory(none, online=ClientStates.of(n_clients), scale=scale)

    def merge(self, now: Round, received: State, own: State, memory: ScaledMemory) -> State:
        share = self._share(distance_of(self, received, own), now.clients, memory)
        return mixed(own, received, share)

    def _share(self, distance: Tensor, clients: Tensor, memory: ScaledMemory) -> Tensor:
        """γ of each client; sets λ of those that have none."""
        scale = memory.scale[clients]
        # A model that did not move (distance 0) has no scale yet; it is what was received.
        first = (scale == 0) & (distance > 0)
        scale = torch.where(first, self.autoscaler_tau / distance.clamp(min=1e-12), scale)
        memory.scale[clients] = scale
        return (scale * distance).clamp(max=1)
