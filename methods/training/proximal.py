"""The squared distance of stacked models from an anchor: Ditto, FedProx.

Evidence: `tests/methods/test_two_models.py` (by hand).
"""

from __future__ import annotations

from torch import Tensor

from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.state import State


def squared_distance(state: State, anchor: State) -> Tensor:
    """Σ |v - w|² over all trained weights, (models,); `anchor` stacks one model or as many.

    Running statistics do not count.
    """
    trained = [name for name in anchor if not is_buffer(name)]
    each = [(state[name] - anchor[name].detach()).flatten(1).square().sum(1) for name in trained]
    return sum(each[1:], start=each[0])
