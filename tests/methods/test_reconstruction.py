"""The attack finds what it can know, and less where it knows less."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.metrics.images import pixel_error
from fedrepro.methods.protocols.base import Subject
from fedrepro.methods.protocols.reconstruction import Reconstruction, rebuilt
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State

ATTACK = Reconstruction(victims=4, attack_steps=150)


def subject(norm: str = "twin", modular: bool = True) -> Subject:
    encoder = ResNet(
        18,
        width=16,
        stem="cifar",
        client_layers=1,
        client_norm=norm,  # type: ignore[arg-type]
        modular=modular,
    )
    network = encoder.build(1, 8)
    stream = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (9, 1, 8, 8), generator=stream).to(torch.uint8)
    portion = ImageSet(images)
    return Subject(
        network=network,
        dim=encoder.out_dim,
        weights=network.new(torch.Generator().manual_seed(1)),
        train=portion,
        test=None,
        n_classes=2,
        seeds=Seeds(0),
        device=torch.device("cpu"),
        source=lambda: portion,
        augmentation=Augmentation((1.0, 1.0), flip_probability=0, jitter_probability=0),
    )


def identity(state: State, x: torch.Tensor, training: bool) -> torch.Tensor:
    return x


def test_a_module_that_hides_nothing_gives_the_images_back() -> None:
    hidden = 0.2 + 0.6 * torch.rand(6, 1, 4, 4)
    found = rebuilt(identity, {}, hidden, (1, 4, 4), 300, 0.1, False)
    assert pixel_error(found, hidden) < 0.01


def test_error_by_hand() -> None:
    assert pixel_error(torch.zeros(2, 2), torch.full((2, 2), 0.5)) == pytest.approx(0.5)


@pytest.mark.parametrize("norm", ["group", "twin"])
def test_whoever_knows_the_module_sees_more(norm: str) -> None:
    last = {
        collusion: replace(ATTACK, collusion=collusion).measure(subject(norm))
        for collusion in (True, False)
    }
    known, blind = (last[c].metrics["image_error"].values for c in (True, False))
    assert known[-1] < 0.8 * known[0]
    assert known[-1] < 0.8 * blind[-1]


def test_mixing_hides_the_image() -> None:
    plain = ATTACK.measure(subject()).metrics["image_error"].values[-1]
    mixed = replace(ATTACK, mixed=True).measure(subject()).metrics["image_error"].values[-1]
    assert mixed > plain


def test_curves_run_over_the_steps_of_the_attack() -> None:
    curve = ATTACK.measure(subject()).metrics["view_error"]
    assert curve.rounds == (1, *range(16, 152, 15))


def test_a_network_in_one_piece_has_no_representations_to_attack() -> None:
    with pytest.raises(ValueError, match="client module"):
        ATTACK.measure(subject(modular=False))


def test_pictures_are_the_first_images_views_and_what_is_rebuilt_of_them() -> None:
    arrays = ATTACK.measure(subject()).arrays
    views = arrays["picture.view 1"], arrays["picture.view 2"]
    assert {a.shape for a in arrays.values()} == {(8, 8, 1)}
    # Views of the whole image: the attack that knows the module comes near their mean.
    mean = (views[0].astype(float) + views[1]) / 2
    assert abs(arrays["picture.reconstructed"] - mean).mean() < 0.8 * mean.std()
