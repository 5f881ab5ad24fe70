"""Metrics of images: relevance, the error of rebuilt images, saliency.

Cross-dataset relevance (CP-CFL, Section 4.3 and Table 5) is how alike an encoder finds pre-training
and client images. It is the mean of Eq. 7 over all pairs of representations of 300 images of each.
Unstated: pairs of identical images are left out, so that overlap does not raise the score. Of a
smaller data set all images are taken. Eq. 7 is undefined without activity, and is 0 there.
Saliency (Simonyan et al. 2014, "Deep inside convolutional networks"): the largest absolute
derivative over a pixel's channels.
Evidence: `tests/methods/test_metrics.py` (a loop over Eq. 7), `tests/methods/test_protocols.py`.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.federation import ImageSet
from ..nn.layers import Layer
from ..seeds import Seeds
from ..state import State, placed
from ..training.pretraining import encode

METRICS = ("relevance", "view_error", "image_error", "rare_share")


def relevance(
    encoder: Layer,
    state: State,
    pretraining: ImageSet,
    clients: ImageSet,
    seeds: Seeds,
    n: int = 300,
    device: torch.device | str = "cpu",
) -> float:
    """Mean cosine similarity of `n` images of each; `ValueError` for identical ones alone."""
    weights = placed(state, torch.device(device))
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


def pixel_error(found: Tensor, hidden: Tensor) -> float:
    """Root mean squared difference of pixels; both of one shape."""
    return float((found - hidden).square().mean().sqrt())


def saliency(network: Layer, state: State, x: Tensor) -> Tensor:
    """Saliency n x height x width of the length |h| of the representation of each image. `x`: n x
    channels x height x width, in [0, 1]. `state`: one model, in evaluation mode."""
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        length = network(state, leaf.unsqueeze(0))[0].norm(dim=1).sum()
    (gradient,) = torch.autograd.grad(length, leaf)
    return gradient.abs().amax(1)


def left_share(maps: Tensor) -> Tensor:
    """Share of each map (n x height x width) in its left half, (n,); a half where it is all 0."""
    total = maps.flatten(1).sum(1)
    left = maps[:, :, : maps.shape[2] // 2].flatten(1).sum(1)
    return torch.where(total > 0, left / total.clamp(min=torch.finfo(maps.dtype).tiny), 0.5)
