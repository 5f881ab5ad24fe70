"""Saliency against a linear network by hand and against finite differences."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fedrepro.methods.data.federation import Federation, ImageSet, to_float
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.metrics.images import left_share, saliency
from fedrepro.methods.nn.layers import Layer
from fedrepro.methods.nn.modular import with_own_modules
from fedrepro.methods.protocols.base import Subject
from fedrepro.methods.protocols.saliency import Saliency, halves
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State, concatenate, part


class Linear(Layer):
    """h = W x, with W in the state, whatever the images' shape."""

    def new(self, generator: torch.Generator) -> State:
        return {"encoder.module.w": torch.randn(1, 3, 2 * 4 * 6, generator=generator)}

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return torch.einsum("mdi,mni->mnd", state["encoder.module.w"], x.flatten(2))


def fresh(layer: Layer, seed: int = 0) -> State:
    return layer.new(torch.Generator().manual_seed(seed))


def test_a_linear_networks_saliency_is_known() -> None:
    state, x = fresh(Linear()), torch.rand(5, 2, 4, 6)
    w = state["encoder.module.w"][0]
    h = x.flatten(1) @ w.T
    expected = (h @ w / h.norm(dim=1, keepdim=True)).view(x.shape).abs().amax(1)
    torch.testing.assert_close(saliency(Linear(), state, x), expected)
    assert not x.requires_grad


def test_a_deep_networks_saliency_is_its_finite_difference() -> None:
    encoder = ResNet(10, stem="cifar", width=4, client_layers=2, client_norm="twin", modular=True)
    network = encoder.build(2, 6)
    state = {name: value.double() for name, value in fresh(network).items()}
    x = torch.rand(2, 2, 6, 6, dtype=torch.double)
    found, step = saliency(network, state, x), 1e-6
    for image, row, column in ((0, 1, 4), (1, 5, 0), (1, 2, 2)):
        slopes = []
        for channel in range(2):
            ends = []
            for sign in (1, -1):
                moved = x.clone()
                moved[image, channel, row, column] += sign * step
                ends.append(network(state, moved[None])[0, image].norm())
            slopes.append(float(ends[0] - ends[1]) / (2 * step))
        expected = max(map(abs, slopes))
        assert float(found[image, row, column]) == pytest.approx(expected, rel=1e-4)


def test_shares_by_hand() -> None:
    maps = torch.zeros(3, 2, 5)
    maps[0, 0, 1], maps[0, 1, 4] = 3.0, 1.0
    maps[1, :, 2] = 1.0  # the middle column is not of the left half
    assert left_share(maps).tolist() == [0.75, 0.0, 0.5]


def test_halves_are_of_the_classes_asked_for() -> None:
    labels = torch.tensor([0, 1, 1, 0, 2])
    images = torch.arange(5, dtype=torch.uint8).view(5, 1, 1, 1).expand(5, 1, 2, 4)
    made = halves(ImageSet(images, labels), 1, 0, 9)
    assert made[:, 0, 0].tolist() == [[1, 1, 0, 0], [2, 2, 3, 3]]
    assert len(halves(ImageSet(images, labels), 1, 0, 1)) == 1
    with pytest.raises(ValueError, match="no image"):
        halves(ImageSet(images, labels), 1, 7, 9)


@pytest.fixture
def subject() -> Subject:
    """Two clients, the first with many images of class 0; their modules look left and right."""
    stream = torch.Generator().manual_seed(0)
    images = torch.randint(1, 256, (40, 2, 4, 6), generator=stream).to(torch.uint8)
    labels = torch.tensor([0] * 9 + [1] * 11 + [0] * 10 + [1] * 10)
    train = ImageSet(images, labels)
    own = (torch.arange(10), torch.arange(10, 40))
    w = torch.ones(1, 1, 2, 4, 6)
    left, right = w.clone(), w.clone()
    left[..., 3:], right[..., :3] = 0.25, 0
    modules = [{"encoder.module.w": one.view(1, 1, -1)} for one in (left, right)]
    return Subject(
        network=Linear(),
        dim=1,
        weights=with_own_modules({"encoder.module.w": w.view(1, 1, -1)}, concatenate(modules)),
        train=train,
        test=train,
        n_classes=2,
        seeds=Seeds(0),
        device=torch.device("cpu"),
        source=lambda: train,
        federation=Federation(train, train, own, own, torch.zeros(2).long(), 2),
    )


def test_the_share_is_that_of_the_class_of_which_a_client_has_few(subject: Subject) -> None:
    # Client 0 has one image of class 1, shown left; client 1 has fewer of class 0, shown right.
    shares = [
        Saliency(client=client).measure(subject).metrics["rare_share"].values[0]
        for client in (0, 1)
    ]
    assert shares == pytest.approx([0.8, 1.0])
    turned = Saliency(client=0, left=0, right=1).measure(subject).metrics["rare_share"]
    assert turned.values[0] == pytest.approx(0.2)


def test_pictures_are_of_the_first_image_and_its_map(subject: Subject) -> None:
    arrays = Saliency().measure(subject).arrays
    first = halves(subject.train, 1, 0, 1)[0]
    assert arrays["picture.test image"].tolist() == first.permute(1, 2, 0).tolist()
    state = part(subject.weights, "encoder")
    assert not torch.equal(state["encoder.module.w"], subject.weights["own.encoder.module.w"][0])
    drawn = torch.from_numpy(arrays["picture.saliency"])[:, :, 0]
    assert drawn.unique().tolist() == [64, 255]
    assert to_float(first).shape[1:] == drawn.shape


def test_a_client_whose_module_was_not_saved_is_refused(subject: Subject) -> None:
    with pytest.raises(ValueError, match="no module of client 0"):
        Saliency().measure(replace(subject, weights=part(subject.weights, "encoder")))


@pytest.mark.parametrize("options", [{"client": -1}, {"left": 2, "right": 2}, {"images": 0}])
def test_options_that_make_no_image_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"left"):
        Saliency(**options)
