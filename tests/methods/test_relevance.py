import math

import pytest
import torch
from torch import Tensor

from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.metrics.images import relevance
from fedrepro.methods.nn.layers import Flatten, Layer, Linear, ReLU, Sequential
from fedrepro.methods.seeds import Seeds

ENCODER = Sequential(Flatten(), Linear("encoder.dense", 16, 6), ReLU())
STATE = ENCODER.new(torch.Generator().manual_seed(0))


class Pixels(Layer):
    """Represents an image by its own pixels."""

    def __call__(self, state: dict[str, Tensor], x: Tensor, training: bool = False) -> Tensor:
        return x.flatten(2)


def noise(n: int, seed: int = 0) -> ImageSet:
    g = torch.Generator().manual_seed(seed)
    return ImageSet(torch.randint(256, (n, 1, 4, 4), generator=g, dtype=torch.uint8))


def test_the_score_equals_a_plain_loop_over_equation_7() -> None:
    a, b = noise(12, seed=1), noise(9, seed=2)
    w, c = STATE["encoder.dense.weight"][0].double(), STATE["encoder.dense.bias"][0].double()
    total = 0.0
    for x in a.images:
        for y in b.images:
            u, v = ((w @ (i.double().flatten() / 255) + c).clamp(min=0) for i in (x, y))
            length = math.sqrt(float((u**2).sum())) * math.sqrt(float((v**2).sum()))
            total += float((u * v).sum()) / length
    score = relevance(ENCODER, STATE, a, b, Seeds(0))
    assert score == pytest.approx(total / (12 * 9), abs=1e-6)


def test_a_pair_of_identical_images_is_left_out() -> None:
    axes = torch.eye(4, dtype=torch.uint8).reshape(4, 1, 2, 2)
    assert relevance(Pixels(), {}, ImageSet(axes), ImageSet(axes), Seeds(0)) == 0.0
    twice = ImageSet(axes[:1] * 255)
    assert relevance(Pixels(), {}, ImageSet(axes[:1]), twice, Seeds(0)) == pytest.approx(1.0)


def test_portions_that_overlap_are_scored_on_their_other_pairs() -> None:
    a, b = ImageSet(noise(9).images[:6]), ImageSet(noise(9).images[3:])
    pairs = [
        torch.cosine_similarity(a.images[i].double().flatten(), b.images[j].double().flatten(), 0)
        for i in range(6)
        for j in range(6)
        if i != j + 3
    ]
    assert len(pairs) == 33
    assert relevance(Pixels(), {}, a, b, Seeds(0)) == pytest.approx(float(sum(pairs)) / 33)


def test_exactly_n_images_of_each_portion_are_read() -> None:
    seen: list[int] = []

    class Counting(Pixels):
        def __call__(self, state: dict[str, Tensor], x: Tensor, training: bool = False) -> Tensor:
            seen.append(x.shape[1])
            return super().__call__(state, x, training)

    relevance(Counting(), {}, noise(400), noise(50, seed=1), Seeds(0))
    assert seen == [300, 50]


def test_the_trial_decides_the_sample() -> None:
    a, b = noise(100), noise(100, seed=1)
    scores = [relevance(ENCODER, STATE, a, b, Seeds(trial), n=10) for trial in (0, 0, 1)]
    assert scores[0] == scores[1]
    assert scores[0] != scores[2]


def test_nothing_but_identical_images_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one pair of different images"):
        relevance(ENCODER, STATE, noise(1), noise(1), Seeds(0))
