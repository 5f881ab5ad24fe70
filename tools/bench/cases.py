"""What is timed: groups of named calls that do the same work, first the one to compare with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.nn.layers import in_fast_layout, is_buffer
from fedrepro.methods.nn.precision import computing_in
from fedrepro.methods.objectives.simclr import SimCLR
from fedrepro.methods.optim.optimizers import make_optimizer
from fedrepro.methods.state import State, repeat
from fedrepro.methods.training.evaluate import client_losses
from fedrepro.methods.training.steps import Grouping
from tests.whole_torchvision import ensure_torchvision
from tools.bench.rounds import central_rounds, engine_round, plain_round
from tools.bench.shapes import IMAGES, SHAPES, Shape, cnn, federation

Call = Callable[[], Any]


@dataclass(frozen=True)
class Group:
    """title: what all calls do. calls: by name. each: what a call's time is divided by.

    clock: seconds of the processor, or on the wall where calls use several cores.
    """

    title: str
    calls: dict[str, Call]
    each: dict[str, int] | None = None
    clock: Callable[[], float] = time.process_time


def rounds(shape: Shape, clients: int | None = None) -> Group:
    """A round of FedAvg: centrally (the limit), a plain loop, the engine."""
    n = clients or shape.clients
    data = federation(shape, [IMAGES] * n)
    calls: dict[str, Call] = dict(central_rounds(shape, data))
    calls["plain loop"] = plain_round(shape, data)
    calls["engine"] = engine_round(shape, data)
    calls["engine, one after the other"] = engine_round(shape, data, Grouping(1))
    calls["engine, ten as one step"] = engine_round(shape, data, Grouping(10))
    return Group(f"a round, {n} clients, {shape.name}", calls)


def precisions(shape: Shape, clients: int | None = None) -> Group:
    """A round in float32 and in bfloat16: by the engine, and centrally with the channels last."""
    n = clients or shape.clients
    data = federation(shape, [IMAGES] * n)
    central = dict(central_rounds(shape, data))["channels last"]
    engine = engine_round(shape, data)

    def in_bf16() -> None:
        with computing_in("bf16"):
            engine()

    def central_in_bf16() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            central()

    calls: dict[str, Call] = {
        "engine, float32": engine,
        "engine, bf16": in_bf16,
        "channels last, float32": central,
        "channels last, bf16 (autocast)": central_in_bf16,
    }
    return Group(f"a round in two precisions, {n} clients, {shape.name}", calls)


def unlike_rounds(shape: Shape) -> Group:
    """A round of clients with 5, 10, ... 100 images: by the engine's choice, and as it may not."""
    data = federation(shape, list(range(5, 101, 5)))
    return Group(
        f"a round, 20 clients of 5 to 100 images, {shape.name}",
        {
            "one after the other": engine_round(shape, data, Grouping(1)),
            "equal sizes together": engine_round(shape, data, Grouping(padded=False)),
            "engine": engine_round(shape, data),
        },
    )


def rounds_on_two_cores(shape: Shape, clients: int) -> Group:
    """A round on one core, with two threads in every operator."""
    data = federation(shape, [IMAGES] * clients)
    one = engine_round(shape, data)

    def within_operators() -> State:
        before = torch.get_num_threads()
        torch.set_num_threads(2)
        try:
            return one()
        finally:
            torch.set_num_threads(before)

    return Group(
        f"a round, {clients} clients, {shape.name}, seconds on the wall",
        {
            "one core": one,
            "two threads an operator": within_operators,
        },
        clock=time.perf_counter,
    )


def growth_with_unlike_clients(counts: tuple[int, ...] = (10, 100, 1000)) -> Group:
    """Rounds of more and more clients of 5 to 100 images; the time of one should stay or fall."""
    shape = SHAPES["8x8 digits"]
    calls = {
        f"{n} clients": engine_round(
            shape, federation(shape, torch.linspace(5, 100, n).round().int().tolist())
        )
        for n in counts
    }
    title = "a client's share of a round, 5 to 100 images, 8x8"
    return Group(title, calls, {f"{n} clients": n for n in counts})


def growth_with_clients(counts: tuple[int, ...] = (10, 100, 1000)) -> Group:
    """Rounds of more and more clients; the time of one client should stay what it is."""
    shape = SHAPES["8x8 digits"]
    calls = {f"{n} clients": engine_round(shape, federation(shape, [IMAGES] * n)) for n in counts}
    return Group("a client's share of a round, 8x8", calls, {f"{n} clients": n for n in counts})


def growth_with_images(counts: tuple[int, ...] = (32, 128, 512)) -> Group:
    """Clients with more and more images; the time of one image should stay what it is."""
    shape = SHAPES["8x8 digits"]
    calls = {f"{n} images": engine_round(shape, federation(shape, [n] * 12)) for n in counts}
    return Group("an image's share of a round, 8x8", calls, {f"{n} images": n for n in counts})


def growth_with_models(counts: tuple[int, ...] = (1, 2, 4, 8)) -> Group:
    """Losses of N models on all clients' images: IFCA's and CP-CFL's choice of a cluster."""
    shape = SHAPES["8x8 digits"]
    data, model = federation(shape), shape.model()
    clients = torch.arange(data.n_clients)

    def losses(n: int) -> Call:
        drawn = repeat(model.new(torch.Generator().manual_seed(0)), n)
        pool = {name: value + torch.randn(n, *value.shape[1:]) for name, value in drawn.items()}
        return lambda: client_losses(model, pool, data, clients)

    calls = {f"{n} models": losses(n) for n in counts}
    return Group("a model's share of losses", calls, {f"{n} models": n for n in counts})


def views() -> Group:
    """Two views of 128 images of 3x32x32: PIL and tensors image by image, and the whole batch."""
    ensure_torchvision()
    from torchvision import transforms
    from torchvision.transforms import v2
    from torchvision.transforms.functional import to_pil_image

    stream = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (128, 3, 32, 32), generator=stream).to(torch.uint8)
    pictures = [to_pil_image(image) for image in images]

    def chain(lib: Any, last: Any) -> Callable[[Any], Tensor]:
        made: Callable[[Any], Tensor] = lib.Compose(
            [
                lib.RandomResizedCrop(32),
                lib.RandomHorizontalFlip(),
                lib.RandomApply([lib.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
                lib.RandomGrayscale(0.2),
                lib.RandomApply([lib.GaussianBlur(3)], p=0.5),
                last,
            ]
        )
        return made

    pil = chain(transforms, transforms.ToTensor())
    tensors = chain(v2, v2.ToDtype(torch.float32, scale=True))
    return Group(
        "two views of 128 images of 3x32x32",
        {
            "batched": lambda: Augmentation().views(images, 2, stream),
            "PIL, image by image": lambda: [
                torch.stack([pil(picture) for picture in pictures]) for _ in range(2)
            ],
            "torchvision v2, image by image": lambda: [
                torch.stack([tensors(image) for image in images]) for _ in range(2)
            ],
        },
    )


def simclr_steps() -> Group:
    """A SimCLR step on 128 images of 3x32x32 with fixed views, and with views drawn for it."""
    widths = (64, 128, 192, 256)
    model = cnn(3, 32, widths, 256, 1)
    learner = SimCLR().build(model.encoder, 256, 10)
    state: State = in_fast_layout(learner.new(torch.Generator().manual_seed(0)))
    weights = [v.requires_grad_() for name, v in state.items() if not is_buffer(name)]
    optimizer = make_optimizer("adam", weights, 1e-3)
    stream = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (128, 3, 32, 32), generator=stream).to(torch.uint8)
    fixed = [to_float(images)] * 2

    def step(drawn: Callable[[], list[Tensor]]) -> Call:
        def run() -> None:
            loss = learner.loss(state, {}, [view.unsqueeze(0) for view in drawn()], None).sum()
            optimizer.zero_grad(set_to_none=True)
            torch.autograd.backward(loss)
            optimizer.step()

        return run

    return Group(
        "a SimCLR step on 128 images of 3x32x32, four convolutions",
        {
            "without views": step(lambda: fixed),
            "with batched views": step(lambda: Augmentation().views(images, 2, stream)),
        },
    )
