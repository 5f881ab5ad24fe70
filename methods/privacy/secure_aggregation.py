"""Secure aggregation: masks that cancel in the sum, so that the server sees sums alone.

Paper: MFCL, Section 5.6.1 and footnote 12, the basic form of Bonawitz et al. 2017: every pair of
clients agrees on a mask that one adds and the other subtracts. Weights are, as there, whole numbers
modulo 2^64, so that masks are uniform and cancel exactly; they are rounded to steps of 2^-44.
Deviations: the pairs' masks come from the trial's random streams, not from a key exchange. Clients
that drop out between masking and the sum are not handled.
Evidence: `tests/methods/test_privacy.py`.
"""

import torch
from torch import Tensor

from ..seeds import Seeds
from ..state import State, unsqueeze_like

STEPS = 2.0**44
"""Steps in a unit: sums below 2^19 can be told apart from those above."""


def masked(state: State, shares: Tensor, seeds: Seeds, t: int, clients: Tensor) -> State:
    """What each of `clients` (int64) sends in round `t`: share times weights, masked, int64.
    `state`: stacked over clients, floating point. `shares`: (clients,), their parts of the mean."""
    whole = {
        name: (value.double() * unsqueeze_like(shares.double(), value).to(value.device))
        .mul(STEPS)
        .round()
        .to(torch.int64)
        for name, value in state.items()
    }
    numbers = clients.tolist()
    for i, first in enumerate(numbers):
        for j, second in list(enumerate(numbers))[i + 1 :]:
            stream = seeds.generator("mask", t, min(first, second), max(first, second))
            for value in whole.values():
                mask = torch.randint(
                    -(2**63), 2**63 - 1, value.shape[1:], dtype=torch.int64, generator=stream
                ).to(value.device)
                value[i] += mask
                value[j] -= mask
    return whole


def unmasked_sum(sent: State, like: State) -> State:
    """The sum over clients, one model, in the types of `like`."""
    return {
        name: (value.sum(dim=0, keepdim=True).double() / STEPS).to(like[name].dtype)
        for name, value in sent.items()
    }
