from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from fedrepro.methods.encoders.base import Encoder
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.encoders.vgg import VGG
from fedrepro.methods.nn.mfcl_modules import Autoencoder, Convolution, Pooling, client_autoencoder
from fedrepro.methods.nn.modular import ModularNetwork
from fedrepro.methods.nn.normalisation import TwinNorm
from fedrepro.methods.state import State


def fresh(layer: object, seed: int = 0) -> State:
    return layer.new(torch.Generator().manual_seed(seed))  # type: ignore[attr-defined]


def modular(encoder: Encoder, channels: int = 3, side: int = 32) -> ModularNetwork:
    return encoder.build(channels, side)


def convolutions(state: State) -> list[str]:
    return [name for name, value in state.items() if value.dim() == 5]


def test_resnet_18_without_its_first_two_convolutions() -> None:
    network = modular(ResNet(18, stem="cifar", client_layers=2, client_norm="twin", modular=True))
    state = fresh(network)
    names = convolutions(state)
    first = ("module.0", "module.1", "layer1.0.conv2")
    assert names[:3] == [f"encoder.{one}.weight" for one in first]
    # 17 convolutions and 3 on shortcuts in the whole network.
    assert len(names) == 20
    # Table 9, rows 1 to 4: weights, biases, a scale and a shift for each channel.
    own = sum(v.numel() for name, v in state.items() if name.startswith("encoder.module."))
    assert own == (3 * 64 * 9 + 64 + 128) + (64 * 64 * 9 + 64 + 128)
    z = network.module(state, torch.rand(1, 2, 3, 32, 32), training=True)
    assert z.shape == (1, 2, 64, 16, 16)
    assert network.behind(state, z).shape == (1, 2, 512)


@pytest.mark.parametrize("depth", [18, 50])
@pytest.mark.parametrize("cut", range(1, 8))
@pytest.mark.parametrize("norm", ["batch", "group", "twin"])
def test_every_cut_of_table_1_runs(depth: int, cut: int, norm: str) -> None:
    client: dict[str, Any] = {"client_layers": cut, "client_norm": norm, "group_channels": 2}
    small: dict[str, Any] = {"width": 2, "stem": "cifar", "projector_widths": (6, 5)}
    encoder = ResNet(depth, modular=True, **client, **small)
    network = modular(encoder, 1, 8)
    state = fresh(network)
    out = network(state, torch.rand(1, 4, 1, 8, 8), training=True)
    assert out.shape == (1, 4, encoder.out_dim) == (1, 4, 5)
    in_all = len([n for n in convolutions(state) if "downsample" not in n])
    assert in_all == (17 if depth == 18 else 49)


def test_a_cut_block_is_a_plain_chain() -> None:
    encoder = ResNet(18, width=2, stem="cifar", client_layers=2, modular=True)
    network = modular(encoder, 1, 8)
    state = fresh(network)
    block = next(iter(network.rest))
    z = torch.randn(1, 3, 2, 4, 4)
    weight = state["encoder.layer1.0.conv2.weight"][0]
    expected = F.relu(F.conv2d(z[0], weight, padding=1) / (1 + 1e-5) ** 0.5)
    assert torch.allclose(block(state, z)[0], expected, atol=1e-6)


def test_vgg_16_cut_behind_two_layers_has_all_its_convolutions() -> None:
    whole, cut = VGG(16, width=4), VGG(16, width=4, client_layers=2, modular=True)
    first, second = fresh(whole.build(3, 32)), fresh(modular(cut))
    assert len(convolutions(first)) == len(convolutions(second)) == 13
    assert "encoder.features.7.weight" in second
    assert "encoder.features.3.weight" not in second
    assert second["encoder.features.7.weight"].shape == first["encoder.features.7.weight"].shape
    assert modular(cut)(second, torch.rand(1, 2, 3, 32, 32)).shape == (1, 2, 32)


@pytest.mark.parametrize("encoder", [ResNet(18, width=4, client_layers=2), VGG(11, width=4)])
def test_norms_of_the_first_convolutions_alone_are_replaced(encoder: Encoder) -> None:
    norms = {}
    for norm in ("batch", "twin"):
        chosen = replace(encoder, client_layers=2, client_norm=norm)  # type: ignore[call-arg]
        state = fresh(chosen.build(3, 32))
        norms[norm] = {name for name in state if name.endswith("running_mean")}
        assert convolutions(state) == convolutions(fresh(encoder.build(3, 32)))
    assert len(norms["batch"] - norms["twin"]) == 2


def test_twins_of_an_uncut_network_have_their_variance_and_meet() -> None:
    encoder = ResNet(18, width=4, client_layers=2, client_norm="twin", twin_variance="averaged")
    network = encoder.build(3, 16)
    found = [layer for layer in network if isinstance(layer, TwinNorm)]  # type: ignore[attr-defined]
    assert [layer.variance for layer in found] == ["averaged"]  # the second stands in a block
    with pytest.raises(ValueError, match="two views"):
        network(fresh(network), torch.rand(1, 3, 3, 16, 16), training=True)


@pytest.mark.parametrize("modular", [False, True])
@pytest.mark.parametrize("kind", [ResNet, VGG])
def test_all_running_statistics_follow_by_the_one_momentum(
    kind: type[ResNet | VGG], modular: bool
) -> None:
    images, moved = torch.rand(1, 4, 3, 16, 16), {}
    for momentum in (0.2, 0.4):
        encoder = kind(width=4, client_layers=2, modular=modular, norm_momentum=momentum)
        network = encoder.build(3, 16)
        state = fresh(network)
        network(state, images, training=True)
        moved[momentum] = {k: v for k, v in state.items() if k.endswith("running_mean")}
    for name, mean in moved[0.2].items():
        torch.testing.assert_close(2 * mean, moved[0.4][name])


def as_torch(network: Autoencoder) -> nn.Sequential:
    """The same layers from torch.nn; group normalisation has TN's scale and shift."""
    layers: list[nn.Module] = []
    for layer in network.layers:
        if isinstance(layer, Pooling):
            layers.append(nn.MaxPool2d(layer.kernel, layer.stride, layer.padding))
            continue
        kind = nn.ConvTranspose2d if layer.transposed else nn.Conv2d
        layers.append(kind(layer.inputs, layer.outputs, layer.kernel, layer.stride, layer.padding))
        if layer.normalised:
            layers += [nn.GroupNorm(1, layer.outputs), nn.ReLU()]
    return nn.Sequential(*layers)


def weights(module: nn.Module) -> int:
    return sum(value.numel() for value in module.parameters())


@pytest.mark.parametrize(("cut", "in_all"), [(2, 77_853), (4, 521_565)])
def test_weights_of_the_printed_modules_are_those_of_torchs_layers(cut: int, in_all: int) -> None:
    network = client_autoencoder(cut)
    counted = sum(v.parameters for v in network.layers if isinstance(v, Convolution))
    assert counted == weights(as_torch(network)) == in_all


@pytest.mark.parametrize("cut", range(1, 8))
def test_the_decoder_returns_images_of_half_the_side(cut: int) -> None:
    network = client_autoencoder(cut, channels=1, width=4)
    side = 12
    for layer in network.layers:
        side = layer.size(side)
    out = as_torch(network)(torch.zeros(1, 1, 12, 12))
    assert out.shape == (1, 1, side, side) == (1, 1, 6, 6)
