"""Models with a share of a task's channels."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from fedrepro.methods.federated.base import Task
from fedrepro.methods.nn.classifier import Classifier


def narrowed_model(task: Task, share: float) -> Classifier:
    """The task's model with `share` of the channels of every layer.

    Raises `ValueError` if the task cannot make any.
    """
    if share == 1.0:
        return task.model
    if task.at_width is None:
        raise ValueError("this task makes no models of other widths")
    return _made(task.at_width, share)


@lru_cache(maxsize=16)
def _made(at_width: Callable[[float], Classifier], share: float) -> Classifier:
    return at_width(share)
