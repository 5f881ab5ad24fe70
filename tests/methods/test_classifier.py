from __future__ import annotations

import pytest
import torch
from torch import nn

from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.state import n_parameters, part, repeat


def small_classifier(widths: tuple[int, ...] = (7,)) -> Classifier:
    encoder = CNN(widths=(4, 6), dim=5, padding=1)
    return Classifier(encoder.build(1, 8), encoder.out_dim, dense_head(5, widths, 3))


@pytest.mark.parametrize("widths", [(), (7,), (7, 6), (7, 6, 4)])
def test_head_equals_a_torch_network_with_relu_between(widths: tuple[int, ...]) -> None:
    head = dense_head(5, widths, 3)
    state = head.new(torch.Generator().manual_seed(0))
    sizes = [5, *widths, 3]
    modules: list[nn.Module] = []
    for i in range(len(sizes) - 1):
        linear = nn.Linear(sizes[i], sizes[i + 1])
        linear.weight.data.copy_(state[f"head.{i}.weight"][0])
        linear.bias.data.copy_(state[f"head.{i}.bias"][0])
        modules += [linear, nn.ReLU()]
    h = torch.randn(1, 4, 5)
    torch.testing.assert_close(head(state, h)[0], nn.Sequential(*modules[:-1])(h[0]))


def test_every_tensor_belongs_to_the_encoder_or_to_the_head() -> None:
    state = small_classifier().new(torch.Generator().manual_seed(0))
    split = {**part(state, "encoder"), **part(state, "head")}
    assert split.keys() == state.keys()


def test_logits_are_the_head_of_the_features() -> None:
    model = small_classifier()
    state = repeat(model.new(torch.Generator().manual_seed(0)), 2)
    x = torch.rand(2, 3, 1, 8, 8)
    features = model.features(state, x)
    assert features.shape == (2, 3, model.dim)
    torch.testing.assert_close(model(state, x), model.logits(state, features))


def test_default_head_of_the_paper_has_ten_outputs_and_2570_parameters() -> None:
    state = dense_head(256, (), 10).new(torch.Generator().manual_seed(0))
    assert n_parameters(state) == 256 * 10 + 10
