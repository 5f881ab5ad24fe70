from __future__ import annotations

import pytest
import torch
from torch import nn

from fedrepro.methods.nn.mfcl_modules import Autoencoder, Convolution, Pooling, client_autoencoder


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


@pytest.mark.parametrize(
    "layer",
    [Convolution(2, 3, 7, 2, 3), Convolution(2, 3, 4, 2, 1, True), Pooling(3, 2, 1)],
)
def test_sides_are_torchs(layer: Convolution | Pooling) -> None:
    network = Autoencoder((layer,), ())
    assert as_torch(network)(torch.zeros(1, 2, 11, 11)).shape[-1] == layer.size(11)


@pytest.mark.parametrize("cut", [0, 8])
def test_a_cut_that_the_paper_does_not_try_is_refused(cut: int) -> None:
    with pytest.raises(ValueError, match="1 to 7"):
        client_autoencoder(cut)
