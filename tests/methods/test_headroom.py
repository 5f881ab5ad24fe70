"""Headroom: a probe on features that hold the class, on random ones, and on pixels."""

import numpy as np
import pytest
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from torch import Tensor

from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.metrics.headroom import of_each_class, probe_accuracy
from fedrepro.methods.nn.layers import Layer
from fedrepro.methods.protocols.base import Subject
from fedrepro.methods.protocols.headroom import Headroom
from fedrepro.methods.state import State
from tests.methods.conftest import subject_of


class MeanShade(Layer):
    """An encoder of one feature: the mean of a pixel's row that its one weight chooses."""

    def new(self, generator: torch.Generator) -> State:
        return {"encoder.row": torch.tensor([[1]])}

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return x[..., int(state["encoder.row"].item()), :].mean(dim=(2, 3))[..., None]


def shades(n: int, seed: int) -> ImageSet:
    """Images whose first row is dark for class 0 and bright for class 1; the second is noise."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    pixels = rng.integers(0, 256, (n, 1, 2, 4))
    pixels[:, :, 0] = rng.integers(0, 100, (n, 1, 4)) + 150 * labels[:, None, None]
    return ImageSet(torch.tensor(pixels, dtype=torch.uint8), torch.tensor(labels))


def subject(row: int) -> Subject:
    weights = {"encoder.row": torch.tensor([[row]])}
    return subject_of(MeanShade(), 1, 2, shades(200, 0), shades(400, 1), weights=weights)


def test_headroom_is_the_gain_of_learnt_features_over_random_ones() -> None:
    found = Headroom().measure(subject(0))
    value = {name: curve.read("final") for name, curve in found.metrics.items()}
    assert value["probe_pretrained"] == 1.0
    assert 0.4 < value["probe_random"] < 0.6
    assert value["probe_pixels"] > 0.95
    assert value["headroom"] == value["probe_pretrained"] - value["probe_random"]


def test_features_that_are_no_better_than_random_leave_no_headroom() -> None:
    found = Headroom().measure(subject(1))
    assert found.metrics["headroom"].read("final") == 0.0


def test_a_probe_comes_near_the_linear_discriminant_of_gaussian_classes() -> None:
    rng = np.random.default_rng(2)
    labels = np.arange(4000) % 3
    means = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    features = means[labels] + rng.normal(size=(4000, 2))
    ours = probe_accuracy(
        *map(torch.tensor, (features[:2000], labels[:2000], features[2000:], labels[2000:]))
    )
    best = LinearDiscriminantAnalysis().fit(features[:2000], labels[:2000])
    assert ours == pytest.approx(best.score(features[2000:], labels[2000:]), abs=0.01)


def test_as_many_images_of_each_class_are_drawn() -> None:
    labels = torch.tensor([0] * 5 + [1] * 3)
    chosen = of_each_class(labels, 3, torch.Generator().manual_seed(0))
    assert labels[chosen].bincount().tolist() == [3, 3]
    assert len(set(chosen.tolist())) == 6
    with pytest.raises(ValueError, match="class 1 has 3 images, and a probe needs 4"):
        of_each_class(labels, 4, torch.Generator())
