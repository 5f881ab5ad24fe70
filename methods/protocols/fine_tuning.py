"""Fine-tuning: encoder and a fresh classifier trained together on few labelled images.

Papers: fcl, Section 6.2 (20 epochs of SGD, two rates, after Caron et al. 2020); fedrlc, Section
VII-B (a new multi-layer perceptron). All weights are trained, and the classifier's rate is larger
in fcl. Labels are a share of each class, the same for all methods of a trial, whoever holds them.
Unstated: augmentation (none); batch normalisation in training (statistics of the batch; the running
ones, which the test images see, go on from those of pre-training).
Evidence: `tests/methods/test_fine_tuning.py` against torch.nn and torch.optim.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.federation import ImageSet, labelled, to_float
from ..nn.classifier import ENCODER, HEAD, Classifier, dense_head
from ..nn.layers import is_buffer
from ..outcome import Outcome
from ..seeds import Seeds
from ..state import State, part
from ..training.epochs import Epochs
from ..training.pretraining import batches, encode
from .base import Protocol, Subject, once
from .linear_probe import HeadOptions


@dataclass(frozen=True)
class FineTuning(HeadOptions, Protocol):
    """Options of the training (`HeadOptions`), whose learning rate is the encoder's. `label_share`:
    share of the images of each class whose labels are used. `head_learning_rate`: of the
    classifier, 0 for the encoder's; both follow the schedule. `head_widths`: its hidden layers."""

    label_share: float = 0.1
    head_learning_rate: float = 0.0
    head_widths: tuple[int, ...] = ()

    def measure(self, subject: Subject) -> Outcome:
        """The metric `accuracy` on the test images, and how many images had labels.
        Raises `ValueError` without labels, `DivergedError` where weights are no longer finite."""
        test = subject.held_out().to(subject.device)
        wanted = test.known_labels("fine-tuning")
        train = labelled_share(subject.train, self.label_share, subject.seeds).to(subject.device)
        head = dense_head(subject.dim, self.head_widths, subject.n_classes)
        model = Classifier(subject.network, subject.dim, head)
        state = model.new(subject.seeds.generator("weights", "fine-tuning"))
        state.update(part(subject.weights, ENCODER))
        state = {name: value.to(subject.device).clone() for name, value in state.items()}
        state = self._train(model, state, train, subject)
        with torch.no_grad():
            h = encode(model.encoder, state, test.images)
            predicted = model.logits(state, h[None])[0].argmax(dim=1)
        accuracy = float((predicted == wanted).double().mean())
        return Outcome(metrics=once({"accuracy": accuracy}), counts={"labels": len(train)})

    def _train(self, model: Classifier, fresh: State, train: ImageSet, subject: Subject) -> State:
        at: Epochs = subject.checkpoint.restored() or Epochs(fresh)
        state = at.weights
        labels = train.known_labels("fine-tuning")
        rates = {ENCODER: 1.0, HEAD: (self.head_learning_rate or self.learning_rate)}
        rates[HEAD] /= self.learning_rate
        steps = {name: self.optimizer_over(_trained(part(state, name))) for name in (ENCODER, HEAD)}
        order = subject.seeds.generator("fine-tuning", "order")
        optimizers = list(steps.values())
        progress = subject.progress
        for epoch in at.left(self.epochs, optimizers, subject.checkpoint, progress, order=order):
            for name, optimizer in steps.items():
                for group in optimizer.param_groups:
                    group["lr"] = self.rate(epoch) * rates[name]
            for batch in batches(len(train), self.batch_size, order, subject.device):
                logits = model(state, to_float(train.images[batch])[None], training=True)[0]
                for optimizer in optimizers:
                    optimizer.zero_grad(set_to_none=True)
                torch.autograd.backward(F.cross_entropy(logits, labels[batch]))
                for optimizer in optimizers:
                    optimizer.step()
        return state


def labelled_share(portion: ImageSet, share: float, seeds: Seeds) -> ImageSet:
    """The images that keep their labels, `share` of each class; `ValueError` without labels."""
    labels = portion.known_labels("fine-tuning")
    everything = torch.arange(len(portion), device=labels.device)
    chosen = labelled(everything, labels, share, seeds.generator("labels", "pooled"))
    return ImageSet(portion.images[chosen], labels[chosen])


def _trained(state: State) -> list[Tensor]:
    return [value.requires_grad_() for name, value in state.items() if not is_buffer(name)]
