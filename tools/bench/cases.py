"""What is timed: groups of named calls that do the same work, first the one to compare with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.training.steps import Grouping
from tests.whole_torchvision import ensure_torchvision
from tools.bench.rounds import central_round, engine_round, plain_round
from tools.bench.shapes import IMAGES, Shape, federation

Call = Callable[[], Any]


@dataclass(frozen=True)
class Group:
    """title: what all calls do. calls: by name."""

    title: str
    calls: dict[str, Call]


def rounds(shape: Shape, clients: int = 10) -> Group:
    """A round of FedAvg: centrally (the limit), a plain loop, the engine."""
    data = federation(shape, [IMAGES] * clients)
    calls: dict[str, Call] = {"central": central_round(shape, data)}
    calls["plain loop"] = plain_round(shape, data)
    calls["engine"] = engine_round(shape, data)
    calls["engine, one after the other"] = engine_round(shape, data, Grouping(1))
    calls["engine, ten as one step"] = engine_round(shape, data, Grouping(10))
    return Group(f"a round, {clients} clients, {shape.name}", calls)


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
