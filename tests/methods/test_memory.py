from __future__ import annotations

from collections.abc import Callable

import torch

from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.federated.base import Task
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.state import repeat
from fedrepro.methods.training.probing import image_bytes


def test_bytes_of_an_image_are_what_autograd_really_keeps(make_task: Callable[..., Task]) -> None:
    model = make_task().model
    state = {
        name: value.requires_grad_()
        for name, value in repeat(model.new(torch.Generator().manual_seed(0)), 5).items()
    }
    kept: list[int] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor.numel() * tensor.element_size())
        return tensor

    totals = []
    for batch in (4, 9):
        kept.clear()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            model(state, torch.rand(5, batch, 1, 6, 6), training=True)
        totals.append(sum(kept))
    assert image_bytes(model, 1, 6, 6) == (totals[1] - totals[0]) / (5 * 5)


def test_larger_images_need_more() -> None:
    encoder = CNN(widths=(2,), dim=3)
    small, large = (
        image_bytes(Classifier(encoder.build(3, side), 3, dense_head(3, (), 2)), 3, side, side)
        for side in (8, 32)
    )
    assert large > 10 * small
