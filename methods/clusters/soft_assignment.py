"""Which cluster an image belongs to, by a trained cluster head or by trained centres.

A cluster head (`cluster_head.*`) reads the encoder's output, as in contrastive clustering. Centres
(`centres.mu`, models x clusters x width) are in the space in which the method trained them. That is
the predictor's output if there is a predictor, else the projector's (fedrlc, Eqs. 9 and 19).
Evidence: `tests/methods/test_clustering_objectives.py`.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from ..nn.layers import dense_layers_of
from ..state import State, part

CENTRES = "centres.mu"
HEAD = "cluster_head"


def assigns(weights: State) -> bool:
    """Whether the weights say which cluster an image belongs to."""
    return CENTRES in weights or bool(part(weights, HEAD))


def soft_assignment(h: Tensor, weights: State) -> Tensor:
    """Soft labels models x batch x clusters from representations models x batch x dim.
    Raises `ValueError` if the weights have neither a cluster head nor centres."""
    if part(weights, HEAD):
        return torch.softmax(dense_layers_of(HEAD, weights)(weights, h), dim=2)
    if CENTRES not in weights:
        raise ValueError("these weights have neither a cluster head nor centres")
    for name in ("projector", "predictor"):
        if part(weights, name):
            h = dense_layers_of(name, weights)(weights, h)
    return student_t(h, weights[CENTRES])


def student_t(z: Tensor, centres: Tensor) -> Tensor:
    """Eq. 8 with exponent -1, models x batch x clusters; `centres`: models x clusters x width."""
    # By inner products: the difference of every pair would need batch x clusters x width numbers.
    squared = (
        z.square().sum(2, keepdim=True)
        - 2 * torch.bmm(z, centres.transpose(1, 2))
        + centres.square().sum(2).unsqueeze(1)
    )
    return F.normalize(1 / (1 + squared.clamp(min=0)), p=1, dim=2)
