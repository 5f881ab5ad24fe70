"""A few steps of the engine on the pretended card, and what each of them does there."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from fedrepro.methods import registry
from fedrepro.methods.clusters.kmeans import best_kmeans
from fedrepro.methods.data.federation import Federation, ImageSet
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import concatenate, placed, put, repeat, take
from fedrepro.methods.training.client_views import ClientViews
from fedrepro.methods.training.evaluate import probabilities
from fedrepro.methods.training.local import Supervised
from fedrepro.methods.training.local_loss import LocalOptions
from fedrepro.methods.training.self_supervised import SelfSupervisedLoss
from fedrepro.methods.training.steps import Grouping, train_steps
from fedrepro.methods.transfer import all_to
from tests.device import card
from tests.device.card import Totals

OBJECTIVES = [name for name in registry.names("objective") if name != "supervised"]
_CLASSES, _SIDE, _BATCH = 4, 24, 4
_ADAM = LocalOptions(epochs=1, batch_size=_BATCH, learning_rate=0.01)


def _federation(sizes: Sequence[int]) -> Federation:
    """Colour images of noise, wide enough to be blurred, that clients share in turn."""
    stream, total = torch.Generator().manual_seed(1), sum(sizes)
    noise = torch.randint(0, 256, (total, 3, _SIDE, _SIDE), generator=stream).to(torch.uint8)
    images = ImageSet(noise, torch.randint(0, _CLASSES, (total,), generator=stream))
    index = torch.arange(total).split(list(sizes))
    return Federation(images, images, index, index, torch.zeros(len(sizes)).long(), _CLASSES)


def _model() -> Classifier:
    encoder = CNN(widths=(4, 4), dim=6, padding=1)
    return Classifier(encoder.build(3, _SIDE), encoder.out_dim, dense_head(6, (), _CLASSES))


def steps_of(objective: str | None, sizes: Sequence[int], augmented: bool = False) -> list[Totals]:
    """What steps did, the borders of epochs left out; clients of these sizes share all of them.

    objective: None for cross-entropy on labels, on views where `augmented`.
    """
    device, model, seeds = torch.device(card.NAME, 0), _model(), Seeds(0)
    clients = torch.arange(len(sizes))
    with card.counted() as books:
        federation = _federation(sizes).to(device)
        views = ClientViews(Augmentation(), federation.train, seeds, 0, clients)
        if objective is None:
            loss = Supervised(model, federation.train, None)
            loss.views = views if augmented else None
            one, theirs = model.new(seeds.generator("weights")), {}
        else:
            chosen = registry.make("objective", objective, {})
            learner = chosen.build(model.encoder, model.dim, _CLASSES)
            loss = SelfSupervisedLoss(
                learner,
                model.encoder,
                federation.train,
                views if chosen.draws_views else None,
                chosen.n_views,
            )
            one = learner.new(seeds.generator("weights"))
            theirs = placed(repeat(learner.memory(one), len(sizes)), device)
        start = placed(repeat(one, len(sizes)), device)
        own_of = federation.train_of
        train_steps(
            loss, start, theirs, own_of, _ADAM, seeds, 0, clients, Grouping(len(sizes), True)
        )
    return books.steps()


def evaluation(n_models: int) -> Totals:
    """What it takes to evaluate clients with so many unlike models."""
    device, model, seeds = torch.device(card.NAME, 0), _model(), Seeds(0)
    pool = concatenate(model.new(seeds.generator("weights", i)) for i in range(n_models))
    with card.counted() as books:
        federation = _federation([5] * n_models).to(device)
        there = placed(pool, device)
        before = books.totals()
        probabilities(model, there, torch.arange(n_models), federation.test, federation.test_of)
    return books.totals() - before


def models_taken_and_put() -> list[Totals]:
    """What it takes to take two of five models, and to write them back."""
    model, seeds = _model(), Seeds(0)
    found = []
    with card.counted() as books:
        pool = placed(repeat(model.new(seeds.generator("weights")), 5), torch.device(card.NAME, 0))
        before = books.totals()
        two = take(pool, [3, 1])
        found.append(books.totals() - before)
        before = books.totals()
        put(pool, [0, 4], two)
        found.append(books.totals() - before)
    return found


def clustering(restarts: int) -> tuple[Totals, list[float]]:
    """What the best of some k-means does on the card, and its centres there minus the host's."""
    x = torch.randn(2, 60, 3, generator=torch.Generator().manual_seed(2))

    def streams() -> list[torch.Generator]:
        return [torch.Generator().manual_seed(i) for i in range(2)]

    with card.counted() as books:
        there, _ = best_kmeans(x.to(card.NAME), 5, streams(), restarts)
        totals = books.totals()
        here, _ = best_kmeans(x, 5, streams(), restarts)
        return totals, (there.cpu() - here).flatten().tolist()


def packed() -> tuple[Totals, list[bool]]:
    """What it takes to move unlike tensors together, and whether each arrives as it was."""
    given = [
        torch.tensor([True, False, True]),
        torch.tensor(7),
        torch.arange(6.0).view(2, 3).t(),
        torch.empty(0, 4, dtype=torch.float64),
        torch.arange(12)[::2],
        torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
    ]
    with card.counted() as books:
        arrived = all_to(torch.device(card.NAME, 0), given)
        totals = books.totals()
        back = [one.cpu() for one in arrived]
    same = [
        bool(torch.equal(a, b)) and a.dtype == b.dtype and c.device.type == card.NAME
        for a, b, c in zip(given, back, arrived, strict=True)
    ]
    return totals, [*same, arrived[5].stride() == given[5].stride()]


CALLS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "a sum": lambda there, here: there.sum(),
    "a number that is read": lambda there, here: there.sum().item(),
    "a list of numbers": lambda there, here: there.tolist(),
    "copies both ways": lambda there, here: here.to(card.NAME).cpu(),
    "a copy that nobody waits for": lambda there, here: here.to(card.NAME, non_blocking=True),
    "a list that becomes a tensor": lambda there, here: torch.tensor([1.0], device=card.NAME),
    "rows by an index of the host": lambda there, here: there[torch.tensor([0, 1])],
    "rows by a mask": lambda there, here: there[there > 1],
    "places that are not zero": lambda there, here: there.nonzero(),
}
"""Calls on six numbers of the card and of the host."""


def counts_of(name: str) -> tuple[int, int]:
    """Copies and waits of one of `CALLS`."""
    here = torch.arange(6.0)
    with card.counted() as books:
        there = here.to(card.NAME)
        before = books.totals()
        CALLS[name](there, here)
    totals = books.totals() - before
    return totals.copies, totals.waits
