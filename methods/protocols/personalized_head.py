"""Personalised heads: every client trains a linear head of its own on the global encoder.

Paper: Calibre, Section V-A: after training, all clients, novel ones too, download the encoder. They
train a linear head for 10 epochs (SGD, 0.05, batches of 32); accuracies are on own test images.
Unstated: how heads begin (all alike, at random); representations are used as they are.
Evidence: `tests/methods/test_fine_tuning.py`.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from ..metrics import fairness
from ..nn.classifier import ENCODER, Classifier, dense_head
from ..optim.optimizers import OptimizerName
from ..outcome import Outcome
from ..state import placed, repeat
from ..training.evaluate import probabilities
from ..training.local import adapted_heads
from ..training.local_loss import LocalOptions
from .base import Protocol, Subject, once


@dataclass(frozen=True)
class PersonalizedHead(Protocol):
    """How a head is trained; `epochs` are passes over a client's images."""

    federated: ClassVar[bool] = True

    epochs: int = 10
    batch_size: int = 32
    optimizer: OptimizerName = "sgd"
    learning_rate: float = 0.05

    def measure(self, subject: Subject) -> Outcome:
        """`accuracy`, `accuracy_variance`, `accuracy_sd`, and the same of novel clients."""
        federation = subject.federation
        assert federation is not None
        head = dense_head(subject.dim, (), federation.n_classes)
        model = Classifier(subject.network, subject.dim, head)
        first = head.new(subject.seeds.generator("weights", "personalized head"))
        heads = placed(first, subject.device)
        start = repeat({**subject.on_device(ENCODER), **heads}, federation.n_clients)
        options = LocalOptions(self.epochs, self.batch_size, self.learning_rate, self.optimizer)
        adapted = adapted_heads(model, start, federation, options, subject.seeds, 0)
        everyone = torch.arange(federation.n_clients)
        predicted = probabilities(model, adapted, everyone, federation.test, federation.test_of)
        evaluation = fairness.evaluate(predicted, federation.test_labels(), federation.novel)
        return Outcome(
            metrics=once(evaluation.metrics),
            arrays={
                f"client_{name}": values.cpu().numpy()[None]
                for name, values in evaluation.per_client.items()
            },
        )
