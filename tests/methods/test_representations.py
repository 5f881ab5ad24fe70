import math
from dataclasses import dataclass, fields

import pytest
import torch

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.nn.layers import Flatten, Linear, Sequential
from fedrepro.methods.nn.normalisation import TwinNorm
from fedrepro.methods.privacy.datamix import Mixed, datamix, draw_mixture, joined
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from fedrepro.methods.training.local_loss import LocalOptions
from fedrepro.methods.training.pretraining import batches
from fedrepro.methods.training.representations import (
    Forward,
    Representations,
    contrastive_training,
    drawn_pairs,
)


def images(n: int) -> torch.Tensor:
    stream = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (n, 1, 6, 6), generator=stream).to(torch.uint8)


def identity(state: State, x: torch.Tensor, training: bool) -> torch.Tensor:
    return x


CROPS = Augmentation(jitter_probability=0, blur_probability=0)


@dataclass(frozen=True)
class Phase2:
    """What clients send of `raw`, of which each has so many images."""

    module: Forward
    raw: torch.Tensor
    sizes: list[int]
    vectors: int
    twins: bool
    mix: bool
    augmentation: Augmentation = CROPS

    def in_memory(self) -> torch.Tensor:
        """All representations in one tensor, images x vectors x 2 x ..., as a client that holds
        them would make them: piece by piece of its images, vector by vector."""
        sent = []
        for client, own in enumerate(self.raw.split(self.sizes)):
            views, made = Seeds(3).generator("views", client), []
            for piece in own.split(250):
                drawn = (self.augmentation.views(piece, 2, views) for _ in range(self.vectors))
                pairs = (torch.cat(pair).unsqueeze(0) for pair in drawn)
                encoded = [self.module({}, pair, self.twins)[0] for pair in pairs]
                made.append(torch.stack([torch.stack(z.chunk(2), 1) for z in encoded], 1))
            z, secret = torch.cat(made), Seeds(3).generator("datamix", client)
            if self.mix:
                z = torch.stack([datamix(vector, secret) for vector in z.unbind(1)], dim=1)
            sent.append(z)
        return torch.cat(sent)

    def streamed(self) -> Representations | Mixed:
        """The same, drawn again whenever it is read."""
        order = torch.randperm(len(self.raw), generator=torch.Generator().manual_seed(5))
        own = order.argsort().split(self.sizes)
        streams = [Seeds(3).generator("views", client) for client in range(len(self.sizes))]
        drawn = drawn_pairs(self.raw[order], own, self.vectors, self.augmentation, streams)
        z = Representations(self.module, {}, drawn, self.twins)
        mixtures = [
            draw_mixture(size, self.vectors, Seeds(3).generator("datamix", client))
            for client, size in enumerate(self.sizes)
        ]
        return Mixed(z, joined(mixtures)) if self.mix else z


def twin_norm(state: State, x: torch.Tensor, training: bool) -> torch.Tensor:
    layer = TwinNorm("t", 1, 1)
    return layer(layer.new(torch.Generator()), x, training)


@pytest.mark.parametrize("mix", [False, True])
@pytest.mark.parametrize("twins", [False, True])
def test_what_is_read_is_what_would_have_been_held(twins: bool, mix: bool) -> None:
    """One client has more images than are drawn together, one a single image."""
    sizes, vectors = [260, 1, 4], 3
    raw = images(sum(sizes))
    sent = Phase2(twin_norm, raw, sizes, vectors, twins, mix)
    held, read = sent.in_memory(), sent.streamed()
    assert (len(read), read.vectors, read.n_bytes) == (265, 3, held.numel() * 4)
    stream = torch.Generator().manual_seed(7)
    for _ in range(3):
        index = torch.randperm(265, generator=stream)[:100]
        chosen = torch.randint(vectors, (100,), generator=stream)
        assert torch.equal(read.read(index, chosen), held[index, chosen])


def test_jittered_views_differ_in_rounding_alone() -> None:
    """Jitter's sums over pixels are products with all images at once, which BLAS cuts in blocks."""
    raw = torch.cat([images(300)] * 3, dim=1)
    sent = Phase2(identity, raw, [300], 2, False, False, Augmentation())
    held, read = sent.in_memory(), sent.streamed()
    chosen = torch.arange(300) % 2
    found = read.read(torch.arange(300), chosen)
    torch.testing.assert_close(found, held[torch.arange(300), chosen], rtol=0, atol=1e-6)


def test_no_more_than_a_piece_is_encoded_at_once() -> None:
    seen = []

    def watch(state: State, x: torch.Tensor, training: bool) -> torch.Tensor:
        seen.append((x.shape[1], training))
        return x

    read = Phase2(watch, images(300), [300], 2, True, False).streamed()
    assert read.read(torch.arange(150), torch.zeros(150, dtype=torch.int64)).shape[:2] == (150, 2)
    assert seen == [(128, True), (128, True), (44, True)]


def test_what_is_kept_of_a_view_does_not_grow_with_its_representation() -> None:
    """103 bytes: 800,000 views of CIFAR-10 take 82 MB, and their representations 52 GB."""
    z = Phase2(identity, images(40), [20, 20], 4, False, False).streamed()
    drawn = z.drawn
    kept = [getattr(drawn.parameters, f.name) for f in fields(drawn.parameters)]
    assert sum(n.numel() * n.element_size() for n in kept) == 40 * 4 * 2 * 103


@pytest.mark.parametrize("schedule", ["cosine", "constant"])
def test_training_is_sgd_on_the_loss_of_eq_7(schedule: str) -> None:
    sent, seen = Phase2(identity, images(7), [7], 1, False, False), list[torch.Tensor]()
    z, layer = sent.in_memory().flatten(3), Sequential(Flatten(), Linear("l", 36, 3, bias=False))
    state = layer.new(torch.Generator().manual_seed(2))
    own = (LocalOptions(2, 3, 0.1, "sgd"), schedule, 0.5, Seeds(4), seen.append)
    found, losses = contrastive_training(layer, state, sent.streamed(), *own)

    w = state["l.weight"][0].clone()
    stream = Seeds(4).generator("representations", "order")
    step, steps = 0, 2 * 3
    for epoch in range(2):
        torch.randint(1, (7,), generator=stream)
        total, count = 0.0, 0
        for batch in batches(7, 3, stream):
            assert torch.equal(seen[step], batch)
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
