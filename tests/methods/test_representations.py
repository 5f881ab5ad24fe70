"""The second server's training against plain torch, and the order of encoded views."""

from __future__ import annotations

import math

import pytest
import torch

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.nn.layers import Linear
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from fedrepro.methods.training.pretraining import batches
from fedrepro.methods.training.representations import (
    RepresentationOptions,
    contrastive_training,
    encoded_views,
)

PLAIN = Augmentation((1.0, 1.0), flip_probability=0, jitter_probability=0, grey_probability=0)


def images(n: int) -> torch.Tensor:
    stream = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (n, 1, 6, 6), generator=stream).to(torch.uint8)


def identity(state: State, x: torch.Tensor, training: bool) -> torch.Tensor:
    return x


def test_every_image_gets_its_own_views_in_pairs() -> None:
    raw = images(600)
    z = encoded_views(identity, {}, raw, 3, PLAIN, torch.Generator(), twins=False)
    assert z.shape == (600, 3, 2, 1, 6, 6)
    expected = (raw.float() / 255)[:, None, None].expand_as(z)
    assert torch.allclose(z, expected, atol=1e-6)
    changed = encoded_views(identity, {}, raw[:4], 2, Augmentation(), torch.Generator(), True)
    assert not torch.allclose(changed[:, 0, 0], changed[:, 0, 1])
    assert not torch.allclose(changed[:, 0, 0], changed[:, 1, 0])


def test_twins_meet_half_a_batch_apart() -> None:
    seen = []

    def watch(state: State, x: torch.Tensor, training: bool) -> torch.Tensor:
        seen.append((x.shape[1], training))
        k = x.shape[1] // 2
        assert torch.allclose(x[0, :k], x[0, k:])
        return x

    encoded_views(watch, {}, images(5), 1, PLAIN, torch.Generator(), twins=True)
    assert seen == [(10, True)]


def test_no_image_cannot_be_encoded() -> None:
    with pytest.raises(ValueError, match="no images"):
        encoded_views(identity, {}, images(0), 1, PLAIN, torch.Generator(), False)


@pytest.mark.parametrize("schedule", ["cosine", "constant"])
def test_training_is_sgd_on_the_loss_of_eq_7(schedule: str) -> None:
    z = torch.randn(7, 1, 2, 4, generator=torch.Generator().manual_seed(1))
    layer = Linear("l", 4, 3, bias=False)
    state = layer.new(torch.Generator().manual_seed(2))
    options = RepresentationOptions(2, 3, 0.1, "sgd", schedule, 0.5)
    found, losses = contrastive_training(layer, state, z, options, Seeds(4))

    w = state["l.weight"][0].clone()
    stream = Seeds(4).generator("representations", "order")
    step, steps = 0, 2 * 3
    for epoch in range(2):
        torch.randint(1, (7,), generator=stream)
        total, count = 0.0, 0
        for batch in batches(7, 3, stream):
            weight = w.clone().requires_grad_()
            h = torch.cat([z[batch, 0, 0] @ weight.T, z[batch, 0, 1] @ weight.T])
            k, loss = len(batch), torch.zeros(())
            for i in range(2 * k):
                same = torch.cosine_similarity(h[i : i + 1], h) / 0.5
                others = [same[j].exp() for j in range(2 * k) if j != i]
                loss = loss - (same[(i + k) % (2 * k)].exp() / sum(others)).log() / (2 * k)
            (gradient,) = torch.autograd.grad(loss, weight)
            share = (1 + math.cos(math.pi * step / steps)) / 2 if schedule == "cosine" else 1.0
            w = w - 0.1 * share * gradient
            total, count, step = total + loss.item() * k, count + k, step + 1
        assert losses[epoch] == pytest.approx(total / count, rel=1e-4)
    torch.testing.assert_close(found["l.weight"][0], w, rtol=1e-4, atol=1e-5)
