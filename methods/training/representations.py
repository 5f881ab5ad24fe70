"""Training on representations: what a server does with views that clients have encoded for it.

Paper: MFCL, Section 2.1 (training phase 2) and Appendix A.2, Eq. 7. Every image has several vectors
of two views each, and SimCLR's loss on them trains the network behind the cut.
Memory: the representations of CIFAR-10 take 52 GB (50,000 images x 16 views x 64 x 16 x 16 floats),
and an epoch reads one vector in eight. So none is stored, but the random numbers of each view are,
103 bytes instead of 65,536. Each time a view is read it is drawn and encoded again, always alike.
Unstated: an image's vector in a batch (one, drawn for each epoch); when the rate falls (each step).
Evidence: `tests/methods/test_representations.py`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from ..data.views.augment import Augmentation, Parameters, apply
from ..nn.layers import is_buffer
from ..objectives.simclr import nt_xent
from ..optim.optimizers import make_optimizer
from ..seeds import Seeds
from ..state import State
from .local_loss import LocalOptions
from .pretraining import batches

Forward = Callable[[State, Tensor, bool], Tensor]
ENCODED_AT_ONCE = 64
"""Images whose two views go through the client module together: at Tiny-ImageNet's size one map of
such a piece takes 268 MB (128 views x 128 channels x 64 x 64 pixels)."""
_DRAWN_AT_ONCE = 250
"""Images whose random numbers are drawn together; another number draws other views."""


class Pairs(Protocol):
    """Representations of several pairs of views (vectors) of each of n images."""

    @property
    def n_bytes(self) -> int:
        """Bytes of all of them, as if they were held."""

    @property
    def vectors(self) -> int:
        """How many of each image there are."""

    def __len__(self) -> int:
        """Number of images."""

    def read(self, images: Tensor, vectors: Tensor) -> Tensor:
        """Those of `images` (int64, b), of each the one at `vectors` (int64, b): b x 2 x ..."""


@dataclass(frozen=True)
class DrawnPairs:
    """Random numbers of `vectors` pairs of views of each of n images, and the views they make.
    `images`: uint8, m x C x H x W. `own`: int64, n: places of the n images in `images`.
    `parameters`: of all views, in the order in which they were drawn. `first`, `apart`: int64, n:
    row of an image's first view there, and how far from each other its views lie."""

    images: Tensor
    own: Tensor
    vectors: int
    parameters: Parameters
    first: Tensor
    apart: Tensor

    def views(self, images: Tensor, vectors: Tensor) -> Tensor:
        """First views of all of `images` and then the second ones, 2 b x C x H x W in [0, 1]."""
        apart = self.apart[images]
        first = self.first[images] + 2 * vectors * apart
        raw = self.images[self.own[images].to(self.images.device)]
        return apply(raw, self.parameters.take(torch.cat([first, first + apart])))


def drawn_pairs(
    images: Tensor,
    own: Sequence[Tensor],
    vectors: int,
    augmentation: Augmentation,
    streams: Sequence[torch.Generator],
) -> DrawnPairs:
    """Pairs of views of the images of several clients, one client after the other. `own`: places of
    each client's images in `images`. `streams`: one for each client. `ValueError` for no image."""
    height, width = images.shape[2:]
    drawn, first, apart, rows = list[Parameters](), list[Tensor](), list[Tensor](), 0
    for held, stream in zip(own, streams, strict=True):
        for start in range(0, len(held), _DRAWN_AT_ONCE):
            n = min(_DRAWN_AT_ONCE, len(held) - start)
            drawn += [augmentation.draw(2 * n, height, width, stream) for _ in range(vectors)]
            first.append(torch.arange(rows, rows + n))
            apart.append(torch.full((n,), n))
            rows += 2 * vectors * n
    if not rows:
        raise ValueError("there are no images to encode")
    together = (torch.cat([getattr(one, f.name) for one in drawn]) for f in fields(Parameters))
    kept, places = Parameters(*together), torch.cat([held.cpu() for held in own])
    return DrawnPairs(images, places, vectors, kept, torch.cat(first), torch.cat(apart))


@dataclass(frozen=True)
class Representations:
    """What `module` makes of drawn pairs of views, encoded again whenever they are read. `twins`:
    whether the two views of an image pass through `module` as twins."""

    module: Forward
    state: State
    drawn: DrawnPairs
    twins: bool

    def __len__(self) -> int:
        return len(self.drawn.own)

    @property
    def vectors(self) -> int:
        return self.drawn.vectors

    @cached_property
    def n_bytes(self) -> int:
        one = self.read(torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
        return len(self) * self.vectors * one.numel() * one.element_size()

    @torch.no_grad()
    def read(self, images: Tensor, vectors: Tensor) -> Tensor:
        found = []
        for start in range(0, len(images), ENCODED_AT_ONCE):
            piece = slice(start, start + ENCODED_AT_ONCE)
            views = self.drawn.views(images[piece], vectors[piece]).unsqueeze(0)
            z = self.module(self.state, views, self.twins)[0]
            found.append(torch.stack(z.chunk(2), dim=1))
        return torch.cat(found)


def contrastive_training(
    network: Forward,
    state: State,
    z: Pairs,
    options: LocalOptions,
    schedule: str,
    temperature: float,
    seeds: Seeds,
    seen: Callable[[Tensor], object],
) -> tuple[State, Sequence[float]]:
    """`state` (one model) after training on `z`, and the mean loss of each epoch. `options`:
    batch_size counts images, each of two views; a last batch of one image is left out. `seen` is
    called with the images of each batch."""
    fresh = {name: value.clone() for name, value in state.items()}
    weights = [v.requires_grad_() for name, v in fresh.items() if not is_buffer(name)]
    # With the optimiser's own weight decay, where `LocalOptions` would have none.
    optimizer = make_optimizer(options.optimizer, weights, options.learning_rate)
    stream = seeds.generator("representations", "order")
    device, n, losses = weights[0].device, len(z), list[float]()
    steps = options.epochs * math.ceil(n / options.batch_size)
    for epoch in range(options.epochs):
        total = torch.zeros((), device=device)
        drawn = torch.randint(z.vectors, (n,), generator=stream)
        order = list(batches(n, options.batch_size, stream))
        for number, batch in enumerate(order):
            step = epoch * len(order) + number
            share = (1 + math.cos(math.pi * step / steps)) / 2 if schedule == "cosine" else 1.0
            for group in optimizer.param_groups:
                group["lr"] = options.learning_rate * share
            seen(batch)
            views = z.read(batch, drawn[batch]).transpose(0, 1).flatten(0, 1).unsqueeze(0)
            first, second = network(fresh, views, True).chunk(2, dim=1)
            loss = nt_xent(first, second, temperature).sum()
            optimizer.zero_grad(set_to_none=True)
            torch.autograd.backward(loss)
            optimizer.step()
            total += loss.detach() * len(batch)
        losses.append(float(total) / max(1, sum(map(len, order))))
    return {name: value.detach() for name, value in fresh.items()}, losses
