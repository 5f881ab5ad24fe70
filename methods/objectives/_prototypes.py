"""Calibre's prototypes of a batch, and the two regularisers made of them.

Paper: Calibre, Section IV-B and Algorithm 1. Encodings z of both views are clustered together by
K-means; a prototype is the mean of a cluster's members in one view.

* L_n (line 17 and the formula in the text): a sample of one view should be nearest to the prototype
  that its cluster has in the other view.
* L_p (lines 8 to 12) is NT-Xent over prototypes, here means of the projections h. A cluster's two
  prototypes, one of each view, are a positive pair; those of other clusters are its negatives.

Interpretations: Algorithm 1 uses the clusters K_r (line 8) before it computes them (line 13); here
they come first. N_k is counted for each view, since one number cannot be a mean's in both. The
paper has three inequivalent forms of L_n. Line 17 leaves the positive out of the denominator and
compares samples; the text's formula has no logarithm and a sum over prototypes. The code takes the
softmax of prototypical networks, to which the text refers, as a mean cross-entropy over samples.
With vectors of length one, its distance and line 17's product are the same:
-|z - v|² = z·v / 0.5 - 2. So the temperature is that of the product. Prototypes come from the
second view and samples from the first (the text and line 15 say both orders).
Unstated: a cluster without members in one of the views has no prototype there. It is left out of
L_p, and in L_n together with its samples. K-means is by cosine, starts from the batch's first
images (batches are in random order), and has as many clusters as images if those are fewer.
Evidence: `tests/methods/test_calibre.py` against plain loops.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from ..clusters.kmeans import group_means, lloyd
from .simclr import nt_xent

ITERATIONS = 10


@torch.no_grad()
def clusters(
    z_a: Tensor, z_b: Tensor, n_prototypes: int, normalised: bool = True
) -> tuple[Tensor, Tensor, int]:
    """The cluster of each sample of either view, int64, models x batch, and how many there are.
    `z_a`, `z_b`: encodings, models x batch x dim. `normalised`: by cosine, else Euclidean."""
    z = torch.cat([z_a, z_b], dim=1)
    if normalised:
        z = F.normalize(z, dim=2)
    batch = z_a.shape[1]
    k = min(n_prototypes, batch)
    _, choice = lloyd(z, z[:, :k].clone(), ITERATIONS, spherical=normalised)
    return choice[:, :batch], choice[:, batch:], k


def prototype_meta(
    z_a: Tensor,
    z_b: Tensor,
    of_a: Tensor,
    of_b: Tensor,
    k: int,
    temperature: float,
    normalised: bool = True,
) -> Tensor:
    """L_n, (models,): samples z_a against the prototypes of z_b. z: encodings, models x batch x
    dim. of: cluster of each sample, int64, models x batch. `normalised`: prototypes are means of
    encodings of length one, else of encodings as they are."""
    means, sizes = group_means(F.normalize(z_b, dim=2) if normalised else z_b, of_b, k)
    absent = sizes == 0
    prototypes = F.normalize(means, dim=2)
    logits = torch.bmm(F.normalize(z_a, dim=2), prototypes.transpose(1, 2)) / temperature
    logits = logits.masked_fill(absent.unsqueeze(1), -math.inf)
    counts = ~absent.gather(1, of_a)
    own = logits.gather(2, of_a.unsqueeze(2)).squeeze(2)
    losses = (logits.logsumexp(2) - own).masked_fill(~counts, 0.0)
    return losses.sum(1) / counts.sum(1).clamp(min=1)


def prototype_contrast(
    h_a: Tensor, h_b: Tensor, of_a: Tensor, of_b: Tensor, k: int, temperature: float
) -> Tensor:
    """L_p, (models,): NT-Xent over the prototypes of the two views' projections h."""
    a, size_a = group_means(h_a, of_a, k)
    b, size_b = group_means(h_b, of_b, k)
    return nt_xent(a, b, temperature, valid=(size_a > 0) & (size_b > 0))
