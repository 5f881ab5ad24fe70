"""Which part a client's model responds to in images half of one class and half of another.

Paper: mfcl, Section 5.5 and Figure 4: a "saliency map of gradients" of a picture with a car on the
left half, an airplane on the right. Two clients have many images of one and few of the other.
Unstated, and what is done here:
* What is differentiated, as there are no classes to score: the length of the network's output
  (`methods.metrics.images`).
* How one global network gives a map for each client: by the client's own module of the last round,
  before the average, in front of the second server's network.
* Where the halves come from: test images.
The metric is ours: the share of the saliency on the half of the class that the client has few
images of. A network that sees both halves alike has a share near a half.
Evidence: `tests/methods/test_protocols.py`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import NonNegativeInt, PositiveInt
from torch import Tensor

from ..data.federation import ImageSet, to_float
from ..metrics.images import left_share, saliency
from ..nn.modular import with_module_of
from ..outcome import PICTURE, Outcome
from .base import Protocol, Subject, once


@dataclass(frozen=True)
class Saliency(Protocol):
    """client: whose module. `left`, `right`: classes of the halves. `images`: at most so many."""

    federated: ClassVar[bool] = True

    client: NonNegativeInt = 0
    left: NonNegativeInt = 1
    right: NonNegativeInt = 0
    images: PositiveInt = 100

    def __post_init__(self) -> None:
        if self.left == self.right:
            raise ValueError("left and right must be different classes")

    def measure(self, subject: Subject) -> Outcome:
        """The metric `rare_share`, and pictures of the first image and its saliency."""
        assert subject.federation is not None
        weights = with_module_of(subject.on_device(), self.client)
        made = halves(subject.held_out(), self.left, self.right, self.images).to(subject.device)
        maps = saliency(subject.network, weights, to_float(made))
        held = subject.federation.class_counts()[self.client]
        share = float(left_share(maps).mean())
        rare_is_left = held[self.left] < held[self.right]
        return Outcome(
            metrics=once({"rare_share": share if rare_is_left else 1 - share}),
            arrays={
                f"{PICTURE}test image": made[0].permute(1, 2, 0).cpu().numpy(),
                f"{PICTURE}saliency": _grey(maps[0]),
            },
        )


def halves(portion: ImageSet, left: int, right: int, most: int) -> Tensor:
    """At most `most` uint8 images, half of class `left` and half of class `right`, in their order.
    Raises `ValueError` if the portion has no labels or no image of one of the classes."""
    labels = portion.known_labels("a picture of two classes")
    ours, theirs = (portion.images[labels == c] for c in (left, right))
    count = min(len(ours), len(theirs), most)
    if count == 0:
        raise ValueError(f"class {left} or {right} has no image")
    width = ours.shape[3] // 2
    return torch.cat([ours[:count, :, :, :width], theirs[:count, :, :, width:]], dim=3)


def _grey(one: Tensor) -> NDArray[np.uint8]:
    scaled = one / one.max().clamp(min=torch.finfo(one.dtype).tiny)
    return (scaled * 255).round().to(torch.uint8).unsqueeze(2).cpu().numpy()
