import pytest
import torch
from torch import Tensor, nn

from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.encoders.vgg import VGG
from fedrepro.methods.state import State, concatenate
from tests.methods.conftest import as_state
from tests.whole_torchvision import ensure_torchvision


def fresh(layer_seed: int, encoder: CNN | ResNet, channels: int, size: int) -> State:
    generator = torch.Generator().manual_seed(layer_seed)
    return encoder.build(channels, size).new(generator)


def torchvision(name: str) -> nn.Module:
    """torchvision's network, a residual one without its classifier."""
    ensure_torchvision()
    models = pytest.importorskip("torchvision.models")
    torch.manual_seed(0)
    module = getattr(models, name)(weights=None)
    if name.startswith("resnet"):
        module.fc = nn.Identity()
    return with_statistics(module)


def with_statistics(module: nn.Module) -> nn.Module:
    """With running statistics that are not trivial."""
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.uniform_(-0.2, 0.2)
            layer.running_var.uniform_(0.5, 1.5)
    return module


def plain_cnn(state: State, model: int, x: Tensor, stride: int, padding: int) -> Tensor:
    functional = nn.functional
    i = 0
    while f"encoder.conv{i}.weight" in state:
        weight, bias = (state[f"encoder.conv{i}.{kind}"][model] for kind in ("weight", "bias"))
        x = functional.conv2d(x, weight, bias, stride, padding).relu()
        i += 1
    weight, bias = (state[f"encoder.dense.{kind}"][model] for kind in ("weight", "bias"))
    return functional.linear(x.flatten(1), weight, bias).relu()


@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize(("size", "padding"), [(31, 0), (8, 1)])
def test_cnn_equals_torch_functions(models: int, size: int, padding: int) -> None:
    encoder = CNN(widths=(4, 5, 6), dim=7, padding=padding)
    state = concatenate(fresh(seed, encoder, 3, size) for seed in range(models))
    x = torch.rand(models, 2, 3, size, size)
    out = encoder.build(3, size)(state, x)
    for m in range(models):
        torch.testing.assert_close(out[m], plain_cnn(state, m, x[m], 2, padding))


@pytest.mark.parametrize(("name", "depth"), [("resnet18", 18), ("resnet50", 50)])
def test_resnet_equals_torchvision_in_evaluation(name: str, depth: int) -> None:
    module = torchvision(name).eval()
    encoder = ResNet(depth=depth, version="v1.5")
    x = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        out = encoder.build(3, 64)(as_state(module), x[None])
        torch.testing.assert_close(out[0], module(x), atol=1e-4, rtol=1e-4)


def test_resnet_equals_torchvision_in_training_statistics_included() -> None:
    module = torchvision("resnet18").train()
    state = as_state(module)
    x = torch.rand(4, 3, 64, 64)
    with torch.no_grad():
        out = ResNet().build(3, 64)(state, x[None], training=True)
        torch.testing.assert_close(out[0], module(x), atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(state, as_state(module), atol=1e-4, rtol=1e-4)


def convolutions(name: str) -> nn.Module:
    """Without the dense layers, whose hundred million weights would take a while to draw."""
    with torch.device("meta"):
        whole = torchvision(name)
    features = whole.features
    assert isinstance(features, nn.Module)
    torch.manual_seed(0)
    features = features.to_empty(device="cpu")
    for value in features.parameters():
        nn.init.normal_(value, std=0.05)
    holder = nn.Module()
    holder.features = with_statistics(features)
    return holder


def test_vgg16_equals_torchvisions_convolutions_in_evaluation() -> None:
    module = convolutions("vgg16_bn").eval()
    x = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        out = VGG().build(3, 64)(as_state(module), x[None])
        theirs = module.features(x).mean(dim=(2, 3))
    assert theirs.abs().max() > 1e-3
    torch.testing.assert_close(out[0], theirs, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "encoder"),
    [
        *((f"resnet{depth}", ResNet(depth=depth)) for depth in (18, 34, 50)),
        *((f"vgg{depth}_bn", VGG(depth, classifier="imagenet")) for depth in (11, 16, 19)),
    ],
)
def test_tensors_and_shapes_are_torchvisions(name: str, encoder: ResNet | VGG) -> None:
    with torch.device("meta"):
        theirs = as_state(torchvision(name))
        mine = encoder.build(3, 224).new(torch.Generator())
    assert {n: v.shape for n, v in mine.items()} == {n: v.shape for n, v in theirs.items()}


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
