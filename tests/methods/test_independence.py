"""Whether the probe finds what a network does to the images of a batch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.nn.layers import (
    BatchNorm,
    Conv2d,
    Flatten,
    GlobalAveragePool,
    Layer,
    Linear,
    MaxPool2d,
    ReLU,
    Sequential,
)
from fedrepro.methods.nn.normalisation import GroupNorm, TwinNorm
from fedrepro.methods.registry import find
from fedrepro.methods.state import State
from fedrepro.methods.training.probing import is_batch_independent


def network(*between: Layer) -> Classifier:
    encoder = Sequential(
        Conv2d("encoder.conv", 2, 4, 3, 1, 1), *between, ReLU(), MaxPool2d(2, 2), Flatten(),
        Linear("encoder.dense", 4 * 3 * 3, 5), ReLU(),
    )  # fmt: skip
    return Classifier(encoder, 5, dense_head(5, (4,), 3))


def test_convolutions_and_dense_layers_treat_images_alone() -> None:
    assert is_batch_independent(network(), 2, 6, 6)
    assert is_batch_independent(dense_head(5, (4,), 3), 5)


def test_group_normalisation_treats_images_alone_and_others_do_not() -> None:
    assert is_batch_independent(network(GroupNorm("encoder.n", 4, 2)), 2, 6, 6)
    assert not is_batch_independent(network(BatchNorm("encoder.n", 4)), 2, 6, 6)
    assert not is_batch_independent(network(TwinNorm("encoder.n", 4, 2)), 2, 6, 6)


class Nothing(Layer):
    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return torch.zeros_like(x)


def test_a_network_that_sees_nothing_is_not_trusted() -> None:
    assert not is_batch_independent(network(Nothing()), 2, 6, 6)


class HiddenByZero(BatchNorm):
    """A normalisation whose scale is 0 at the start, as at the end of residual branches."""

    def new(self, generator: torch.Generator) -> State:
        return {n: v * 0 if n.endswith("weight") else v for n, v in super().new(generator).items()}

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return x + super().__call__(state, x, training)


def test_a_scale_of_zero_hides_nothing() -> None:
    assert not is_batch_independent(network(HiddenByZero("encoder.n", 4)), 2, 6, 6)
    assert not is_batch_independent(Sequential(GlobalAveragePool(), BatchNorm("n", 2)), 2, 3, 3)


@pytest.mark.parametrize(
    ("name", "options", "alone"),
    [("cnn", {}, True), ("vgg", {}, False), ("resnet", {"client_norm": "group"}, False)],
)
def test_whole_encoders(name: str, options: dict[str, str], alone: bool) -> None:
    built = find("encoder", name)(**options).build(3, 32)
    assert is_batch_independent(built, 3, 32, 32) is alone
