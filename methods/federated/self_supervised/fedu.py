"""FedU: clients take the global encoder always, the global predictor only if little has diverged.

Paper: Zhuang et al. 2021 (Collaborative Unsupervised Visual Representation Learning from
Decentralized Data); fedrlc, calibre and mfcl compare with it. BYOL on every client, online networks
averaged. Divergence-aware predictor update: a client whose model is further than μ from the global
one keeps its own predictor. The target network stays on the client.
Unstated: how the divergence is measured (`distance` of `_local_models`; by default the mean over
layers); μ = 0.4, the authors' setting (EasyFL, `applications/fedssl/main.py`).
Evidence: `tests/methods/test_fedema.py` (by hand).
"""

from dataclasses import dataclass
from typing import Literal

import torch

from ...state import State, part
from ..base import Round
from ._local_models import KeepsLocalModel, LocalModelMemory, distance_of


@dataclass(frozen=True)
class FedU(KeepsLocalModel):
    """divergence_threshold: μ."""

    divergence_threshold: float = 0.4
    distance: Literal["norm", "layers", "convolutions"] = "layers"

    def merge(self, now: Round, received: State, own: State, memory: LocalModelMemory) -> State:
        far = distance_of(self, received, own) >= self.divergence_threshold
        merged = dict(received)
        for name, value in part(received, "predictor").items():
            merged[name] = torch.where(far.reshape(-1, *[1] * (value.dim() - 1)), own[name], value)
        return merged
