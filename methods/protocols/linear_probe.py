"""Linear probe: a linear classifier on representations of a frozen encoder.

Papers: fedrlc, Section VII-B (AdamW, 0.022); mfcl, Section 5.1; fcl, Section 6.1; after Kolesnikov
et al. 2019. Options have the spec's values.
Unstated: representations are standardised by the training images' mean and SD, so that one learning
rate serves encoders of any scale (`standardised`). The code of FedEMA does not do so (EasyFL's
`applications/fedssl/linear_evaluation.py`). Images are not augmented.
Evidence: `tests/methods/test_fine_tuning.py` (scikit-learn's logistic regression).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ..checkpoint import NEVER, Checkpoint
from ..nn.layers import Linear
from ..optim.optimizers import Optimizer, OptimizerName, make_optimizer
from ..outcome import Outcome
from ..seeds import Seeds
from ..state import State, placed
from ..training.epochs import Epochs
from ..training.pretraining import batches, encode
from .base import Protocol, Subject, once


@dataclass(frozen=True)
class HeadOptions:
    """How a head is trained. `schedule`: of the learning rate, `constant`, `cosine` (to zero over
    all epochs) or `steps` (times `gamma` after each epoch of `milestones`)."""

    epochs: int = 100
    batch_size: int = 128
    optimizer: OptimizerName = "adam"
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
        return make_optimizer(
            self.optimizer, weights, self.learning_rate, self.sgd_momentum, self.weight_decay
        )


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
    checkpoint: Checkpoint = NEVER,
) -> tuple[Linear, State]:
    """A linear layer (`head.*`) trained on `features` (n x dim); may raise `DivergedError`."""
    layer = Linear("head", features.shape[1], n_classes)
    drawn = layer.new(seeds.generator("weights", "linear evaluation"))
    fresh = placed(drawn, features.device)
    at: Epochs = checkpoint.restored() or Epochs(fresh)
    head = {name: value.requires_grad_() for name, value in at.weights.items()}
    steps = options.optimizer_over(list(head.values()))
    order = seeds.generator("linear evaluation", "order")
    for epoch in at.left(options.epochs, [steps], checkpoint, progress, order=order):
        for group in steps.param_groups:
            group["lr"] = options.rate(epoch)
        for batch in batches(len(features), options.batch_size, order, features.device):
            steps.zero_grad(set_to_none=True)
            loss = F.cross_entropy(layer(head, features[batch][None])[0], labels[batch])
            torch.autograd.backward(loss)
            steps.step()
    return layer, {name: value.detach() for name, value in head.items()}


@dataclass(frozen=True)
class LinearProbe(HeadOptions, Protocol):
    """Options of `HeadOptions`; `standardised`: units to mean 0 and SD 1 over training images."""

    standardised: bool = True

    def measure(self, subject: Subject) -> Outcome:
        """The metric `accuracy` on the test images. Raises `ValueError` without labels."""
        test = subject.held_out().to(subject.device)
        train = subject.train.to(subject.device)
        known, wanted = (images.known_labels("a linear probe") for images in (train, test))
        weights = subject.on_device("encoder")
        features, unseen = (encode(subject.network, weights, x.images) for x in (train, test))
        if self.standardised:
            features, unseen = standardised(features, unseen)
        layer, head = train_head(
            features,
            known,
            subject.n_classes,
            self,
            subject.seeds,
            subject.progress,
            subject.checkpoint,
        )
        with torch.no_grad():
            predicted = layer(head, unseen[None])[0].argmax(dim=1)
        accuracy = float((predicted == wanted).double().mean())
        return Outcome(metrics=once({"accuracy": accuracy}))
