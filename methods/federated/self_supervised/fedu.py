"""FedU: clients take the global encoder always, the global predictor only if little has diverged.

Paper: Zhuang et al. 2021 (Collaborative Unsupervised Visual Representation Learning from
Decentralized Data); fedrlc, calibre and mfcl compare with it. BYOL on every client, online networks
averaged. Divergence-aware predictor update: a client whose model is further than μ from the global
one keeps its own predictor. The target network stays on the client.
Unstated: how the divergence is measured. Taken: the mean over the encoder's and projector's weight
tensors (kernels; no biases or norms) of their L2 distance, so that μ does not depend on the depth;
μ = 0.4, the authors' setting.
Evidence: `tests/methods/test_fedema.py` (two clients by hand).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedrepro.methods.federated.base import Memory, Task
from fedrepro.methods.federated.self_supervised._local_models import KeepsLocalModel
from fedrepro.methods.state import State, part


@dataclass(frozen=True)
class FedU(KeepsLocalModel):
    """divergence_threshold: μ."""

    divergence_threshold: float = 0.4

    def merge(
        self, task: Task, received: State, own: State, t: int, clients: Tensor, memory: Memory
    ) -> State:
        far = mean_layer_distance(received, own) >= self.divergence_threshold
        merged = dict(received)
        for name, value in part(received, "predictor").items():
            merged[name] = torch.where(far.reshape(-1, *[1] * (value.dim() - 1)), own[name], value)
        return merged


def mean_layer_distance(a: State, b: State) -> Tensor:
    """Mean L2 distance of the kernels of stacked encoders and projectors, (models,)."""
    names = (*part(a, "encoder"), *part(a, "projector"))
    kernels = [name for name in names if name.endswith(".weight") and a[name].dim() > 2]
    return torch.stack([(a[name] - b[name]).flatten(1).norm(dim=1) for name in kernels]).mean(0)
