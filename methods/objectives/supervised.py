"""Supervised pre-training: a classifier is trained with labels, and only its encoder is used.

Paper: CP-CFL, Section 4.6 (Table 8): the model (θ_f, θ_c) with cross-entropy, then θ_f alone.
Unstated: augmentation (none; `augmented` turns it on); the head for 100 classes (a layer, as θ_c).
Evidence: `tests/methods/test_objectives.py` against a plain loop over the definition.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from ..nn.classifier import HEAD
from ..nn.layers import Layer, dense_layers
from ..state import State
from .base import Learner, Objective, Views


class SupervisedLearner(Learner):
    """Encoder and a linear head."""

    def __init__(self, encoder: Layer, dim: int, n_classes: int) -> None:
        self.encoder = encoder
        self.head = dense_layers(HEAD, dim, (n_classes,))
        self.networks = (self.encoder, self.head)

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        """Mean cross-entropy of the one view. Raises `ValueError` without labels."""
        if labels is None:
            raise ValueError("supervised pre-training needs labels, and these images have none")
        h = self.encoder(state, views[0], training=True)  # models x batch x dim
        logits = self.head(state, h, training=True)  # models x batch x classes
        return F.cross_entropy(logits.transpose(1, 2), labels, reduction="none").mean(1)


@dataclass(frozen=True)
class SupervisedPretraining(Objective):
    """Options of supervised pre-training; `augmented`: one augmented view instead of the image."""

    uses_labels: ClassVar[bool] = True
    n_views: ClassVar[int] = 1

    augmented: bool = False

    @property
    def draws_views(self) -> bool:
        return self.augmented

    def build(self, encoder: Layer, dim: int, n_classes: int) -> SupervisedLearner:
        return SupervisedLearner(encoder, dim, n_classes)
