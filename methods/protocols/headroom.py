"""Headroom of a data set for an encoder's pre-training (`methods.metrics.headroom`)."""

from dataclasses import dataclass

from torch import Tensor

from ..data.federation import to_float
from ..metrics.headroom import of_each_class, probe_accuracy
from ..outcome import Outcome
from ..state import State, placed
from ..training.pretraining import encode
from .base import Protocol, Subject, once


@dataclass(frozen=True)
class Headroom(Protocol):
    """labels_per_class: how many labelled images of each class a probe learns from."""

    labels_per_class: int = 20

    def measure(self, subject: Subject) -> Outcome:
        """Accuracies of three probes; the first less the second. `ValueError` without labels."""
        train, test = subject.train, subject.held_out()
        known, wanted = (one.known_labels("a linear probe") for one in (train, test))
        drawn = subject.seeds.generator("headroom", "labels")
        chosen = of_each_class(known.cpu(), self.labels_per_class, drawn).to(known.device)
        seen, unseen = (x.to(subject.device) for x in (train.images[chosen], test.images))

        def encoded(weights: State) -> tuple[Tensor, Tensor]:
            return encode(subject.network, weights, seen), encode(subject.network, weights, unseen)

        def accuracy(features: Tensor, held_out: Tensor) -> float:
            return probe_accuracy(features, known[chosen], held_out, wanted)

        fresh = subject.network.new(subject.seeds.generator("headroom", "random features"))
        pretrained = accuracy(*encoded(subject.on_device("encoder")))
        random = accuracy(*encoded(placed(fresh, subject.device)))
        pixels = accuracy(to_float(seen).flatten(1), to_float(unseen).flatten(1))
        return Outcome(
            metrics=once(
                {
                    "headroom": pretrained - random,
                    "probe_pretrained": pretrained,
                    "probe_random": random,
                    "probe_pixels": pixels,
                }
            )
        )
