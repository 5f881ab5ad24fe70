"""Random views of the participants' images in one round."""

from __future__ import annotations

from ..training.client_views import ClientViews
from .base import Round


def client_views(now: Round) -> ClientViews:
    """Draws views for the participants, by the task's augmentation."""
    task = now.task
    assert task.augmentation is not None
    return ClientViews(task.augmentation, task.federation.train, task.seeds, now.t, now.clients)
