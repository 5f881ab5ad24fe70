"""Federated fine-tuning: FedAvg with few local labels, from the encoder that a run has trained.

Paper: fcl, Section 6.3. Clients hold the same images as before, and each knows the labels of a
share of its images of each class. Supervised FedAvg trains encoder and a fresh classifier together.
Unstated: everything else (see the specs for what was taken); images are not augmented unless
`augments` says so. The classifier is the one that FedAvg would start from in the same trial.
Evidence: `tests/methods/test_fine_tuning.py` (from an untrained encoder it is FedAvg).
"""

from dataclasses import dataclass, fields, replace
from typing import ClassVar

from ..data.federation import Federation, labelled
from ..federated import loop
from ..federated.base import Task
from ..federated.supervised.fedavg import FedAvg
from ..nn.classifier import ENCODER, Classifier, dense_head
from ..outcome import Outcome
from ..seeds import Seeds
from ..state import part
from .base import Protocol, Subject


@dataclass(frozen=True)
class FederatedFineTuning(FedAvg, Protocol):
    """Options of FedAvg; `label_share`: share of each client's images whose labels are used."""

    federated: ClassVar[bool] = True

    label_share: float = 1.0

    def measure(self, subject: Subject) -> Outcome:
        """The metric `accuracy` of the averaged model at the end; `ValueError` without labels."""
        assert subject.federation is not None
        federation = with_labelled_share(subject.federation, self.label_share, subject.seeds)
        head = dense_head(subject.dim, (), subject.n_classes)
        task = Task(
            federation=federation,
            model=Classifier(subject.network, subject.dim, head),
            seeds=subject.seeds,
            device=subject.device,
            encoder=part(subject.weights, ENCODER),
            augmentation=subject.augmentation,
        )
        method = FedAvg(**{f.name: getattr(self, f.name) for f in fields(FedAvg)})
        outcome = loop.run(
            method, task, subject.progress, evaluate_every=0, checkpoint=subject.checkpoint
        )
        return replace(outcome, encoder=None)


def with_labelled_share(federation: Federation, share: float, seeds: Seeds) -> Federation:
    """The same clients with only their labelled images. Raises `ValueError` without labels."""
    labels = federation.train.known_labels("fine-tuning")
    train_of = tuple(
        labelled(own, labels, share, seeds.generator("labels", client))
        for client, own in enumerate(federation.train_of)
    )
    return replace(federation, train_of=train_of)
