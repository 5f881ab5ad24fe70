"""How clearly classes are separated within single clients, in the encoder's output.

Paper: calibre, Figures 2 and 6 show t-SNE maps of single clients and no number. The mean silhouette
coefficient of the classes of a client's test images, averaged over the clients that trained, is our
measure. A client has none whose images are of one class, or each of another; it does not count.
Evidence: `tests/methods/test_protocols.py` (scikit-learn).
"""

from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from ..metrics.cluster_agreement import silhouette
from ..outcome import Outcome
from ..training.pretraining import encode
from .base import Protocol, Subject, once


@dataclass(frozen=True)
class ClientSilhouette(Protocol):
    """The coefficient in the encoder's output, by Euclidean distance, client by client."""

    federated: ClassVar[bool] = True

    def measure(self, subject: Subject) -> Outcome:
        """The metric `silhouette`. Raises `ValueError` without labels, or if no client has one."""
        held, weights = subject.federation, subject.on_device()
        assert held is not None
        clients = zip(held.test_of[: held.n_training], held.test_labels(), strict=False)
        found = [
            silhouette(encode(subject.network, weights, held.test.images[own]), labels)
            for own, labels in clients
            if 1 < len(set(labels.tolist())) < len(labels)
        ]
        if not found:
            raise ValueError("no client has two test images of a class and one of another")
        return Outcome(metrics=once({"silhouette": fmean(found)}))
