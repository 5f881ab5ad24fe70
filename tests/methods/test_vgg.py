from __future__ import annotations

import pytest
import torch
from torch import nn

from fedrepro.methods.encoders.vgg import VGG
from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.state import concatenate, take
from tests.methods.conftest import AsState
from tests.whole_torchvision import ensure_torchvision


def torchvision_vgg(name: str, **options: object) -> nn.Module:
    """torchvision's network with statistics that are not trivial."""
    ensure_torchvision()
    models = pytest.importorskip("torchvision.models")
    torch.manual_seed(0)
    module = getattr(models, name)(weights=None, init_weights=False, **options)
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.uniform_(-0.2, 0.2)
            layer.running_var.uniform_(0.5, 1.5)
    return module


def convolutions(name: str) -> nn.Module:
    """Without the dense layers, whose hundred million weights would take a while to draw."""
    with torch.device("meta"):
        whole = torchvision_vgg(name)
    features = whole.features
    assert isinstance(features, nn.Module)
    torch.manual_seed(0)
    features = features.to_empty(device="cpu")
    for value in features.parameters():
        nn.init.normal_(value, std=0.05)
    for layer in features:
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.uniform_(-0.2, 0.2)
            layer.running_var.uniform_(0.5, 1.5)
    holder = nn.Module()
    holder.features = features
    return holder


def test_vgg16_equals_torchvisions_convolutions_in_evaluation(as_state: AsState) -> None:
    module = convolutions("vgg16_bn").eval()
    x = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        out = VGG().build(3, 64)(as_state(module), x[None])
        theirs = module.features(x).mean(dim=(2, 3))
    assert theirs.abs().max() > 1e-3
    torch.testing.assert_close(out[0], theirs, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("name", "depth"), [("vgg11_bn", 11), ("vgg16_bn", 16), ("vgg19_bn", 19)])
def test_tensors_and_shapes_are_torchvisions(as_state: AsState, name: str, depth: int) -> None:
    with torch.device("meta"):
        theirs = as_state(torchvision_vgg(name))
        mine = VGG(depth, classifier="imagenet").build(3, 224).new(torch.Generator())
    assert {n: v.shape for n, v in mine.items()} == {n: v.shape for n, v in theirs.items()}
    trained = sum(v.numel() for n, v in mine.items() if not is_buffer(n))
    if depth == 16:
        assert trained == 138_365_992


@pytest.mark.parametrize("size", [32, 64])
def test_the_classifier_equals_adaptive_pooling_and_dense_layers(size: int) -> None:
    encoder = VGG(11, width=2, classifier="imagenet")
    state = encoder.build(3, size).new(torch.Generator().manual_seed(0))
    features = VGG(11, width=2).build(3, size)
    x = torch.rand(1, 2, 3, size, size)
    places = x
    for layer in list(features)[:-1]:  # type: ignore[call-overload]
        places = layer(state, places)
    h = nn.AdaptiveAvgPool2d(7)(places[0]).flatten(1)
    for number in (0, 3, 6):
        weight, bias = (state[f"encoder.classifier.{number}.{k}"][0] for k in ("weight", "bias"))
        h = nn.functional.linear(h, weight, bias)
        h = h.relu() if number < 6 else h
    torch.testing.assert_close(encoder.build(3, size)(state, x)[0], h, atol=1e-5, rtol=1e-4)
    assert h.shape == (2, encoder.out_dim) == (2, 1000)


@pytest.mark.parametrize("size", [8, 28, 32])
def test_stacked_models_equal_single_ones_at_every_size(size: int) -> None:
    encoder = VGG(11, width=2)
    network = encoder.build(1, size)
    together = concatenate(network.new(torch.Generator().manual_seed(s)) for s in range(3))
    apart = [take(together, [m]) for m in range(3)]
    x = torch.rand(3, 5, 1, size, size)
    out = network(together, x, training=True)
    assert out.shape == (3, 5, encoder.out_dim)
    for m, state in enumerate(apart):
        torch.testing.assert_close(
            out[m], network(state, x[m : m + 1], training=True)[0], atol=1e-4, rtol=1e-4
        )


@pytest.mark.parametrize(
    ("options", "message"), [({"depth": 18}, "depth = 18"), ({"classifier": "big"}, "'big'")]
)
def test_unknown_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        VGG(**options)  # type: ignore[arg-type]
