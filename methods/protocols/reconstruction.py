"""The attack on representations: what can their receiver see of the images?

Paper: MFCL, Section 5.6.2, four cases. C1: the servers collude, so the attacker knows the client
module; C0: it takes one with random weights. D1: clients apply DataMix; D0: they do not.
Unstated: everything else (Table 8 shows pictures and names no procedure). The attacker searches for
pixels with the representation that it was sent. The mean of both rebuilt views is its estimate of
the image. `view_error` and `image_error` measure how far these are off, over the steps of the
attack.
Evidence: `tests/methods/test_protocols.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.federation import to_float
from ..metrics.images import pixel_error
from ..nn.layers import Layer
from ..nn.modular import MODULE, two_modules
from ..nn.normalisation import TwinNorm
from ..outcome import PICTURE, Curve, Outcome
from ..privacy.datamix import datamix
from ..state import State, placed
from .base import Protocol, Subject

POINTS = 10
"""Points of a curve after the start."""


def rebuilt(
    module: Layer,
    state: State,
    z: Tensor,
    shape: tuple[int, ...],
    steps: int,
    learning_rate: float,
    twins: bool,
) -> Iterator[Tensor]:
    """Images in [0, 1], 2n x C x H x W, whose representations by `module` come near `z`. They are
    grey at first, then those of every step of Adam on logits of pixels. `z`: 2n x ..., the first
    views of n images and then the second ones (`twins`). `shape`: of an image."""
    logits = torch.zeros(1, len(z), *shape, device=z.device, requires_grad=True)
    optimizer = torch.optim.Adam([logits], lr=learning_rate)
    yield logits.detach()[0].sigmoid()
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = (module(state, logits.sigmoid(), twins)[0] - z).square().mean()
        torch.autograd.backward(loss)
        optimizer.step()
        yield logits.detach()[0].sigmoid()


@dataclass(frozen=True)
class Reconstruction(Protocol):
    """`collusion`: C1. `mixed`: D1. `victims`: images attacked. The others: of the attack."""

    tests: ClassVar[bool] = False
    draws_views: ClassVar[bool] = True

    collusion: bool = True
    mixed: bool = False
    victims: int = 16
    attack_steps: int = 300
    attack_learning_rate: float = 0.1

    def measure(self, subject: Subject) -> Outcome:
        """`view_error` and `image_error` over the steps of the attack, from 1, and pictures."""
        network = two_modules(subject.network)
        assert subject.augmentation is not None
        images = subject.train.images[: self.victims].to(subject.device)
        stream = subject.seeds.generator("reconstruction", "views")
        views = torch.cat(subject.augmentation.views(images, 2, stream))
        own = subject.on_device(MODULE)
        twins = any(isinstance(layer, TwinNorm) for layer in network.module)
        with torch.no_grad():
            z = network.module(own, views.unsqueeze(0), twins)[0]
        if self.mixed:
            pairs = torch.stack(z.chunk(2), dim=1)
            z = torch.cat(datamix(pairs, subject.seeds.generator("datamix")).unbind(1))
        known = own
        if not self.collusion:
            drawn = network.module.new(subject.seeds.generator("weights", "attacker"))
            known = placed(drawn, subject.device)

        rounds: list[int] = []
        errors: dict[str, list[float]] = {"view_error": [], "image_error": []}
        every = max(1, self.attack_steps // POINTS)

        shape, steps = tuple(images.shape[1:]), self.attack_steps
        rate = self.attack_learning_rate
        found = views
        for step, found in enumerate(rebuilt(network.module, known, z, shape, steps, rate, twins)):
            if step % every == 0:
                rounds.append(step + 1)
                errors["view_error"].append(pixel_error(found, views))
                guess = (found[: len(images)] + found[len(images) :]) / 2
                errors["image_error"].append(pixel_error(guess, to_float(images)))
        first, second = (views[at] for at in (0, len(images)))
        guess = (found[0] + found[len(images)]) / 2
        shown = {"view 1": first, "view 2": second, "reconstructed": guess}
        return Outcome(
            metrics={name: Curve(tuple(rounds), tuple(values)) for name, values in errors.items()},
            arrays={f"{PICTURE}{name}": _picture(x) for name, x in shown.items()},
        )


def _picture(x: Tensor) -> NDArray[np.uint8]:
    return (x.clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0).cpu().numpy()
