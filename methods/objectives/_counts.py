"""How often a loss decides one way: counts in a learner's memory, read once a round.

Evidence: `tests/methods/test_controllers.py` (plain loops).
"""

from __future__ import annotations

from torch import Tensor

from ..state import State

_PREFIX = "counted."


def new_counts(name: str, like: Tensor) -> State:
    """Nothing counted yet under `name`; like: any tensor with the leading dimension `models`."""
    return {_PREFIX + name: like.new_zeros(like.shape[0], 2)}


def count(memory: State, name: str, decided: Tensor) -> None:
    """Counts, in place, the true ones of `decided`, bool, models x any number, and how many."""
    seen = memory[_PREFIX + name]
    flat = decided.flatten(1)
    seen[:, 0] += flat.sum(1)
    seen[:, 1] += flat.shape[1]


def take_share(memory: State, name: str) -> Tensor:
    """The true ones of all that was counted, (models,), NaN for none; counts are set to zero."""
    seen = memory[_PREFIX + name]
    share = seen[:, 0] / seen[:, 1]
    seen.zero_()
    return share
