"""Timings to be compared within one run, as ratios; none of them decides a test.

`nox -s speed` prints a table for each group: many clients as one step against one after the other,
and views of a whole batch against torchvision's image by image.
"""

from __future__ import annotations

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from benchmark.data._torchvision import ensure_torchvision
from methods.augment import Augmentation
from methods.encoders.cnn import CNN
from methods.federated.base import Task
from methods.federated.fedavg import FedAvg
from methods.federation import Federation, Portion
from methods.models.classifier import Classifier, dense_head
from methods.seeds import Seeds

pytestmark = pytest.mark.speed


def twelve_clients(clients_at_once: int | None) -> Task:
    stream = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (600, 1, 8, 8), generator=stream).to(torch.uint8)
    portion = Portion(images, torch.randint(0, 10, (600,), generator=stream))
    own = torch.arange(600).split(50)
    federation = Federation(portion, portion, own, own, torch.zeros(12, dtype=torch.int64), 10)
    encoder = CNN(widths=(16, 32, 48, 64), dim=64, padding=1)
    model = Classifier(encoder.build(1, 8), encoder.out_dim, dense_head(64, (), 10))
    return Task(federation, model, Seeds(0), torch.device("cpu"), clients_at_once=clients_at_once)


@pytest.mark.benchmark(
    group="local training in a round of FedAvg, 12 clients with 50 images of 8x8"
)
@pytest.mark.parametrize("at_once", [None, 1], ids=["one step for all", "one after the other"])
def test_a_round(benchmark: BenchmarkFixture, at_once: int | None) -> None:
    task, method, clients = twelve_clients(at_once), FedAvg(), torch.arange(12)
    download = method.broadcast(task, method.start(task, 0), 0, clients)
    benchmark(method.local_update, task, download, 0, clients, {})


@pytest.fixture
def photographs() -> torch.Tensor:
    stream = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (128, 3, 32, 32), generator=stream).to(torch.uint8)


@pytest.mark.benchmark(group="two views of 128 images of 3x32x32")
def test_views_of_a_batch(benchmark: BenchmarkFixture, photographs: torch.Tensor) -> None:
    stream = torch.Generator().manual_seed(0)
    views = benchmark(Augmentation().views, photographs, 2, stream)
    assert len(views) == 2


@pytest.mark.benchmark(group="two views of 128 images of 3x32x32")
def test_views_image_by_image(benchmark: BenchmarkFixture, photographs: torch.Tensor) -> None:
    ensure_torchvision()
    from torchvision.transforms import v2

    view = v2.Compose(
        [
            v2.RandomResizedCrop(32),
            v2.RandomHorizontalFlip(),
            v2.RandomApply([v2.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
            v2.RandomGrayscale(0.2),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    benchmark(lambda: [torch.stack([view(image) for image in photographs]) for _ in range(2)])
