"""Linear probe: a linear classifier on representations of a frozen encoder.

Papers: fedrlc, Section VII-B (AdamW, 0.022); mfcl, Section 5.1; fcl, Section 6.1; after Kolesnikov
et al. 2019. Options have the spec's values.
Unstated choices: representations are standardised by the training images' mean and SD, so that one
learning rate serves encoders of any scale; no augmentation; the rate of the `cosine` schedule falls
to zero over all epochs, that of `steps` by `gamma` after each of `milestones`.
Evidence: `tests/methods/test_protocols.py` (against scikit-learn's logistic regression, and labels
that only a linear map of the representation gives).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fedrepro.methods.outcome import Outcome
from fedrepro.methods.protocols._head import HeadOptions, standardised, train_head
from fedrepro.methods.protocols.base import Protocol, Subject, once
from fedrepro.methods.training.pretraining import encode


@dataclass(frozen=True)
class LinearProbe(HeadOptions, Protocol):
    """Options of the classifier's training (`HeadOptions`)."""

    def measure(self, subject: Subject) -> Outcome:
        """The metric `accuracy` on the test images.

        Raises `ValueError` if there are no labels.
        """
        test = subject.held_out().to(subject.device)
        train = subject.train.to(subject.device)
        known, wanted = (images.known_labels("a linear probe") for images in (train, test))
        weights = subject.on_device("encoder")
        features, unseen = standardised(
            encode(subject.network, weights, train.images),
            encode(subject.network, weights, test.images),
        )
        layer, head = train_head(
            features, known, subject.n_classes, self, subject.seeds, subject.progress
        )
        with torch.no_grad():
            predicted = layer(head, unseen[None])[0].argmax(dim=1)
        accuracy = float((predicted == wanted).double().mean())
        return Outcome(metrics=once({"accuracy": accuracy}))
