"""Cross-dataset relevance: how alike an encoder finds pre-training and client images.

Paper: CP-CFL, Section 4.3 and Table 5: 300 images of each data set, mean of Eq. 7 over all pairs
of their representations.
Unstated: what happens where both sides hold the same images (a pair of identical images compares
an image with itself and is left out, so that overlap does not raise the score); a data set
with fewer images (all of them are taken); images without any activity (similarity 0, since Eq. 7 is
undefined there).
Evidence: `tests/methods/test_relevance.py` against a plain loop over Eq. 7.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.nn.layers import Layer
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from fedrepro.methods.training.pretraining import encode


def relevance(
    encoder: Layer,
    state: State,
    pretraining: ImageSet,
    clients: ImageSet,
    seeds: Seeds,
    n: int = 300,
    device: torch.device | str = "cpu",
) -> float:
    """Mean cosine similarity between `n` images of each portion, in [-1, 1].

    `state` holds one encoder. Both portions must have the size and channels that it reads.

    Raises `ValueError` if no pair of different images is left.
    """
    weights = {name: value.to(device) for name, value in state.items()}
    ours = sample(pretraining, n, seeds.generator("relevance", "pretraining")).to(device)
    theirs = sample(clients, n, seeds.generator("relevance", "clients")).to(device)
    a, b = (F.normalize(encode(encoder, weights, x).double()) for x in (ours, theirs))
    different = ~identical(ours, theirs)
    if not bool(different.any()):
        raise ValueError("relevance needs at least one pair of different images")
    return float((a @ b.t())[different].mean())


def sample(portion: ImageSet, n: int, generator: torch.Generator) -> Tensor:
    """`n` different images of a portion, or all of them if there are fewer."""
    chosen = torch.randperm(len(portion), generator=generator)[:n]
    return portion.images[chosen.to(portion.images.device)]


def identical(a: Tensor, b: Tensor) -> Tensor:
    """Which images of `a` equal which of `b` in every pixel; bool, len(a) x len(b)."""
    pixels = torch.cat([a, b]).flatten(1)
    number: Tensor = torch.unique(pixels, dim=0, return_inverse=True)[1]
    return number[: len(a), None] == number[None, len(a) :]
