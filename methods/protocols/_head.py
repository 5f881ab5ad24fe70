"""A linear head on representations: its options, and its training."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from fedrepro.methods.nn.layers import Linear
from fedrepro.methods.optim.optimizers import Optimizer, make_optimizer
from fedrepro.methods.outcome import DivergedError
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from fedrepro.methods.training.pretraining import batches


@dataclass(frozen=True)
class HeadOptions:
    """How a head is trained.

    epochs: passes over the images. batch_size: images. optimizer: a name of
    `methods.optim.optimizers`.
    learning_rate: at the start. sgd_momentum, weight_decay: of the optimiser. schedule: `constant`,
    `cosine` (to zero over all epochs) or `steps` (times `gamma` after each epoch of `milestones`).
    """

    epochs: int = 100
    batch_size: int = 128
    optimizer: str = "adam"
    learning_rate: float = 1e-3
    sgd_momentum: float = 0.0
    weight_decay: float = 0.0
    schedule: Literal["constant", "cosine", "steps"] = "constant"
    milestones: tuple[int, ...] = ()
    gamma: float = 0.1

    def rate(self, epoch: int) -> float:
        """Learning rate in `epoch`, from 0."""
        if self.schedule == "cosine":
            return self.learning_rate * (1 + math.cos(math.pi * epoch / self.epochs)) / 2
        if self.schedule == "steps":
            passed = sum(epoch >= milestone for milestone in self.milestones)
            return self.learning_rate * self.gamma**passed
        return self.learning_rate

    def optimizer_over(self, weights: list[Tensor]) -> Optimizer:
        """A fresh optimiser over leaf tensors."""
        more = {"momentum": self.sgd_momentum} if self.optimizer == "sgd" else {}
        if self.weight_decay:
            more["weight_decay"] = self.weight_decay
        return make_optimizer(self.optimizer, weights, self.learning_rate, **more)


def standardised(features: Tensor, unseen: Tensor) -> tuple[Tensor, Tensor]:
    """Both n x dim, by mean and SD of `features`; a unit that never fires stays at zero."""
    spread, mean = torch.std_mean(features, dim=0, correction=0)
    scale = spread.clamp(min=1e-6)
    return (features - mean) / scale, (unseen - mean) / scale


def train_head(
    features: Tensor,
    labels: Tensor,
    n_classes: int,
    options: HeadOptions,
    seeds: Seeds,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Linear, State]:
    """A linear layer (`head.*`) trained on `features` (n x dim) by cross-entropy.

    Raises `DivergedError` with the epoch if its weights leave the finite numbers.
    """
    layer = Linear("head", features.shape[1], n_classes)
    fresh = layer.new(seeds.generator("weights", "linear evaluation"))
    head = {name: value.to(features.device).requires_grad_() for name, value in fresh.items()}
    steps = options.optimizer_over(list(head.values()))
    order = seeds.generator("linear evaluation", "order")
    for epoch in range(options.epochs):
        for group in steps.param_groups:
            group["lr"] = options.rate(epoch)
        for batch in batches(len(features), options.batch_size, order, features.device):
            steps.zero_grad(set_to_none=True)
            loss = F.cross_entropy(layer(head, features[batch][None])[0], labels[batch])
            torch.autograd.backward(loss)
            steps.step()
        if not all(bool(value.isfinite().all()) for value in head.values()):
            raise DivergedError(epoch + 1)
        progress(epoch + 1, options.epochs)
    return layer, {name: value.detach() for name, value in head.items()}
