"""Random views of the participants' images in one round."""

from __future__ import annotations

from torch import Tensor

from ..training.client_views import ClientViews
from .base import Task


def client_views(task: Task, t: int, clients: Tensor) -> ClientViews:
    """Draws views for `clients` (int64) in round `t`, by the task's augmentation."""
    assert task.augmentation is not None
    return ClientViews(task.augmentation, task.federation.train, task.seeds, t, clients)
