from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from torch import nn

from fedrepro.methods.costs.model_costs import exchange, network_cost
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.federated.base import Message
from fedrepro.methods.nn.classifier import dense_head


def test_default_cnn_takes_82_million_multiply_adds() -> None:
    sides, widths = [47, 23, 11, 5], [3, 64, 128, 192, 256]
    convolutions = sum(side**2 * 9 * widths[i] * widths[i + 1] for i, side in enumerate(sides))
    cost = network_cost(CNN().build(3, 96), 3, 96, 96)
    assert cost.multiply_adds_by_kind == {"convolution": convolutions, "dense": 5 * 5 * 256 * 256}
    assert cost.multiply_adds == 82_280_128
    assert cost.flops == 2 * 82_280_128
    assert cost.parameters == 2_378_304
    assert cost.bytes == 4 * 2_378_304


@pytest.mark.parametrize(
    ("encoder", "giga"),
    [
        (ResNet(18), (0.666, 0.668)),
        (ResNet(50, version="v1"), (1.416, 1.424)),
        (ResNet(50, version="v1.5"), (1.50, 1.51)),
    ],
)
def test_resnets_take_the_flops_known_for_96_pixels(
    encoder: ResNet, giga: tuple[float, float]
) -> None:
    cost = network_cost(encoder.build(3, 96), 3, 96, 96)
    assert giga[0] <= cost.flops / 1e9 <= giga[1]


def test_resnet_18_at_224_pixels_takes_torchvisions_multiply_adds() -> None:
    without_classifier = 1_814_073_344 - 512 * 1000
    cost = network_cost(ResNet(18).build(3, 224), 3, 224, 224)
    assert cost.multiply_adds == without_classifier


def test_multiply_adds_equal_a_count_over_torch_modules() -> None:
    counted = 0

    def count(module: nn.Module, inputs: object, output: torch.Tensor) -> None:
        nonlocal counted
        weight = module.weight
        assert isinstance(weight, torch.Tensor)
        places = output[0, 0].numel() if output.dim() == 4 else 1
        counted += weight.numel() * places

    net = nn.Sequential(
        nn.Conv2d(1, 5, 3, 2, 1), nn.ReLU(), nn.Conv2d(5, 6, 3, 2, 1), nn.ReLU(), nn.Flatten(),
        nn.Linear(6 * 7 * 7, 9),
    )  # fmt: skip
    for module in (net[0], net[2], net[5]):
        module.register_forward_hook(count)
    net(torch.zeros(1, 1, 28, 28))
    encoder = CNN(widths=(5, 6), dim=9, padding=1)
    assert network_cost(encoder.build(1, 28), 1, 28, 28).multiply_adds == counted


def test_running_statistics_are_sent_but_are_no_parameters() -> None:
    cost = network_cost(ResNet(10, width=4).build(3, 16), 3, 16, 16)
    assert cost.buffers > 0
    assert cost.bytes == 4 * (cost.parameters + cost.buffers)


def test_a_head_costs_its_dense_layers() -> None:
    cost = network_cost(dense_head(256, (100,), 10), 256)
    assert cost.parameters == 256 * 100 + 100 + 100 * 10 + 10
    assert cost.multiply_adds == 256 * 100 + 100 * 10


def test_exchange_counts_shared_payloads_whole_and_own_ones_once_each() -> None:
    model = torch.zeros(1, 10)
    download = Message(shared={"weights": {"w": model.repeat(3, 1)}})
    upload = Message(
        per_client={
            "weights": {"w": model.repeat(5, 1)},
            "choice": {"choice": torch.zeros(5).long()},
        },
        log={"ignored": torch.zeros(5, 99)},
    )
    found = exchange(download, upload, participants=5, model_bytes=40)
    assert (found.downloaded, found.uploaded, found.integers) == (3, 1, 8)
    assert found.models == 4


def test_exchange_agrees_with_the_bytes_of_the_messages() -> None:
    download = Message(
        shared={"a": {"w": torch.zeros(2, 7)}}, per_client={"b": {"v": torch.zeros(4, 3)}}
    )
    upload = Message(per_client={"c": {"w": torch.zeros(4, 7), "n": torch.zeros(4).int()}})
    found = exchange(download, upload, participants=4, model_bytes=28)
    every_byte = download.bytes_exchanged(4) + upload.bytes_exchanged(4)
    assert 4 * (28 * found.models + found.integers) == every_byte


def test_exchange_of_a_part_of_a_model_is_an_exact_fraction() -> None:
    download = Message(shared={"head": {"w": torch.zeros(1, 1)}})
    assert exchange(download, Message(), 1, 12).models == Fraction(1, 3)
