"""What is timed: groups of named calls that do the same work, first the one to compare with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.nn.layers import in_fast_layout, is_buffer
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
    """title: what all calls do. calls: by name."""

    title: str
    calls: dict[str, Call]


def rounds(shape: Shape, clients: int = 10) -> Group:
    """A round of FedAvg: centrally (the limit), a plain loop, the engine."""
    data = federation(shape, [IMAGES] * clients)
    calls: dict[str, Call] = dict(central_rounds(shape, data))
    calls["plain loop"] = plain_round(shape, data)
    calls["engine"] = engine_round(shape, data)
    calls["engine, one after the other"] = engine_round(shape, data, Grouping(1))
    calls["engine, ten as one step"] = engine_round(shape, data, Grouping(10))
    return Group(f"a round, {clients} clients, {shape.name}", calls)


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


def growth_with_clients(counts: tuple[int, ...], unlike: bool = False) -> Group:
    """Rounds of more and more clients, or of ones of 5 to 100 images; the time of one may fall."""
    shape = SHAPES["8x8 digits"]

    def sizes(n: int) -> list[int]:
        return torch.linspace(5, 100, n).round().int().tolist() if unlike else [IMAGES] * n

    calls = {f"{n} clients": engine_round(shape, federation(shape, sizes(n))) for n in counts}
    title = f"a client's share of a round, {'5 to 100 images, ' if unlike else ''}8x8"
    return Group(title, calls)


def growth_with_images(counts: tuple[int, ...] = (32, 128, 512)) -> Group:
    """Clients with more and more images; the time of one image should stay what it is."""
    shape = SHAPES["8x8 digits"]
    calls = {f"{n} images": engine_round(shape, federation(shape, [n] * 12)) for n in counts}
    return Group("an image's share of a round, 8x8", calls)


def growth_with_models(counts: tuple[int, ...] = (1, 2, 4, 8)) -> Group:
    """Losses of N models on all clients' images: IFCA's and CP-CFL's choice of a cluster."""
    shape = SHAPES["8x8 digits"]
    data, model = federation(shape, [IMAGES] * 60), shape.model()
    clients = torch.arange(data.n_clients)

    def losses(n: int) -> Call:
        drawn = repeat(model.new(torch.Generator().manual_seed(0)), n)
        pool = {name: value + torch.randn(n, *value.shape[1:]) for name, value in drawn.items()}
        return lambda: client_losses(model, pool, data, clients)

    calls = {f"{n} models": losses(n) for n in counts}
    return Group("a model's share of losses", calls)


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
