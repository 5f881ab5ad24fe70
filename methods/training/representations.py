"""Training on representations: what a server does with views that clients have encoded for it.

Paper: MFCL, Section 2.1 (training phase 2) and Appendix A.2, Eq. 7: every image comes as several
vectors of two views each, and the network behind the cut is trained by SimCLR's loss on them.
Unstated: which of an image's vectors is in a batch (one, drawn for each image and epoch); whether
the rate falls by step or by epoch (by step).
Evidence: `tests/methods/test_representations.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.objectives.simclr import nt_xent
from fedrepro.methods.optim.optimizers import make_optimizer
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from fedrepro.methods.training.pretraining import batches

Forward = Callable[[State, Tensor, bool], Tensor]
AT_ONCE = 250
"""Images that are encoded together."""


@torch.no_grad()
def encoded_views(
    module: Forward,
    state: State,
    images: Tensor,
    vectors: int,
    augmentation: Augmentation,
    generator: torch.Generator,
    twins: bool,
) -> Tensor:
    """Representations images x vectors x 2 x channels x height x width of uint8 images.

    twins: whether the two views of an image pass through `module` as twins.
    """
    found: Tensor | None = None
    for first in range(0, len(images), AT_ONCE):
        piece = images[first : first + AT_ONCE]
        for vector in range(vectors):
            views = torch.cat(augmentation.views(piece, 2, generator)).unsqueeze(0)
            z = module(state, views, twins)[0]
            if found is None:
                found = z.new_empty(len(images), vectors, 2, *z.shape[1:])
            found[first : first + len(piece), vector] = torch.stack(z.chunk(2), dim=1)
    if found is None:
        raise ValueError("there are no images to encode")
    return found


@dataclass(frozen=True)
class RepresentationOptions:
    """How the server trains: batch_size counts images, of which each has two views."""

    epochs: int
    batch_size: int
    learning_rate: float
    optimizer: str
    schedule: str
    temperature: float

    def rate(self, step: int, steps: int) -> float:
        """Of step `step` (from 0) of `steps`."""
        share = (1 + math.cos(math.pi * step / steps)) / 2 if self.schedule == "cosine" else 1.0
        return self.learning_rate * share


def contrastive_training(
    network: Forward, state: State, z: Tensor, options: RepresentationOptions, seeds: Seeds
) -> tuple[State, Sequence[float]]:
    """`state` (one model) after training on `z`, and the mean loss of each epoch.

    z: images x vectors x 2 x ..., as `encoded_views` gives them. A last batch of a single image is
    left out.
    """
    trained = {name: value.clone() for name, value in state.items()}
    weights = [v.requires_grad_() for name, v in trained.items() if not is_buffer(name)]
    optimizer = make_optimizer(options.optimizer, weights, options.learning_rate)
    stream = seeds.generator("representations", "order")
    n, vectors = z.shape[:2]
    steps, done = options.epochs * math.ceil(n / options.batch_size), 0
    losses = []
    for _ in range(options.epochs):
        drawn = torch.randint(vectors, (n,), generator=stream).to(z.device)
        total, images = torch.zeros((), device=z.device), 0
        for batch in batches(n, options.batch_size, stream, z.device):
            for group in optimizer.param_groups:
                group["lr"] = options.rate(done, steps)
            views = z[batch, drawn[batch]].transpose(0, 1).flatten(0, 1).unsqueeze(0)
            first, second = network(trained, views, True).chunk(2, dim=1)
            loss = nt_xent(first, second, options.temperature).sum()
            optimizer.zero_grad(set_to_none=True)
            torch.autograd.backward(loss)
            optimizer.step()
            total += loss.detach() * len(batch)
            images, done = images + len(batch), done + 1
        losses.append(float(total) / max(1, images))
    return {name: value.detach() for name, value in trained.items()}, losses
