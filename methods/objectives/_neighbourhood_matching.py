"""Neighbourhood matching: match a feature with certainty to each of its nearest features in turn.

Paper: FCL, Section 5, Eqs. 7 to 11. Candidates are drawn from the banks (Eq. 7), and the most
similar are neighbours (Eq. 8). Eq. 11 minimises an entropy for each neighbour: of the probabilities
of a match to it or to a candidate that is no neighbour (Eqs. 9 and 10).
Interpretation: features have length one, so the cosine of Eq. 8 and the product of Eq. 10 are the
same number. Candidates receive no gradient, being features of the past.
Evidence: `tests/methods/test_fcl.py` against a literal transcription.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

_NOWHERE = -1e4
"""Stands for a logit of minus infinity: its exponential is zero, its gradient no NaN."""


def draw_candidates(valid: Tensor, n: int, generators: Sequence[torch.Generator]) -> Tensor:
    """Eq. 7: for each model `n` different entries, int64, models x n (fewer if there are fewer).
    `valid`: bool, models x entries; these come first. Each model draws from its own generator."""
    entries = valid.shape[1]
    keys = torch.stack([torch.rand(entries, generator=generator) for generator in generators])
    keys = keys.to(valid.device, non_blocking=True).masked_fill(~valid, 2.0)
    return keys.topk(min(n, entries), dim=1, largest=False).indices


def neighbourhood_loss(
    q: Tensor, candidates: Tensor, neighbours: int, temperature: float, valid: Tensor | None = None
) -> Tensor:
    """Eq. 11, (models,); `q`: models x batch x width, candidates: models x K x width, length one.
    `valid`: bool, models x K; candidates that exist, None for all; without any the loss is 0."""
    logits = torch.bmm(q, candidates.transpose(1, 2)) / temperature
    if valid is not None:
        logits = logits.masked_fill(~valid.unsqueeze(1), _NOWHERE)
    nearest, place = logits.topk(min(neighbours, logits.shape[2]), dim=2)
    others = logits.scatter(2, place, _NOWHERE)

    # The entropy of one neighbour and the others, from the others' partition sum and mean logit.
    others_sum = others.logsumexp(2, keepdim=True)
    others_mean = (others.softmax(2) * others).sum(2, keepdim=True)
    partition = torch.logaddexp(nearest, others_sum)
    p = (nearest - partition).exp()
    entropy = partition - p * nearest - (1 - p) * others_mean

    exists = nearest > _NOWHERE / 2
    entropy = torch.where(exists, entropy, torch.zeros_like(entropy))
    return (entropy.sum(2) / exists.sum(2).clamp(min=1)).mean(1)
