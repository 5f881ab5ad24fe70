"""Personal heads: every client trains a head of its own on representations of a frozen encoder.

Paper: Calibre, Section V-A (a linear head, 10 epochs of SGD with 0.05, batches of 32); the
fine-tuning of FedAvg-FT, SCAFFOLD-FT, FedPer, FedRep and FedBABU.
Unstated: whether the encoder is in training mode (no: its running statistics stay); augmentation
(none).
Evidence: `tests/methods/test_personalized.py` (against one head after the other in torch.nn).
"""

from __future__ import annotations

import torch

from fedrepro.methods.data.federation import Federation
from fedrepro.methods.nn.classifier import Classifier
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from fedrepro.methods.training.local import train_clients
from fedrepro.methods.training.local_loss import LocalOptions


def adapted_heads(
    model: Classifier,
    start: State,
    federation: Federation,
    options: LocalOptions,
    seeds: Seeds,
    t: int,
) -> State:
    """The models of all clients with their heads trained, all heads at once.

    start: stacked over all clients. t: names the random stream that orders a client's images.
    """
    everyone = torch.arange(federation.n_clients)
    return train_clients(
        model, start, everyone, federation, everyone, options, seeds, t, encoder_epochs=0
    )
