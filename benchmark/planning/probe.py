"""The steps that a calibration times, with the counts of what they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ...methods import registry
from ...methods.costs.model_costs import network_cost
from ...methods.data.federation import Federation, ImageSet
from ...methods.data.views.augment import Augmentation
from ...methods.federated import loop
from ...methods.federated.base import Task
from ...methods.nn.classifier import Classifier, dense_head
from ...methods.nn.layers import in_fast_layout, is_buffer
from ...methods.optim.optimizers import make_optimizer
from ...methods.seeds import Seeds
from ...methods.state import repeat
from ...methods.training.probing import image_bytes
from .work import PASSES, Work


@dataclass(frozen=True)
class Probe:
    """A training step of a convolutional network: channels of its layers, image, batch, models."""

    encoder: str
    options: tuple[tuple[str, Any], ...]
    channels: int
    size: int
    batch: int
    models: int = 1


def _cnn(*widths: int, dim: int = 64) -> tuple[tuple[str, Any], ...]:
    return (("widths", widths), ("dim", dim), ("padding", 1))


_RESNET = (("stem", "cifar"), ("blocks", (1, 1)))
STEPS = (
    Probe("cnn", _cnn(8, 16, dim=16), 1, 8, 4),
    Probe("resnet", (*_RESNET, ("width", 4)), 1, 8, 8),
    Probe("cnn", _cnn(16, 32), 1, 28, 64),
    Probe("cnn", _cnn(16, 32), 1, 28, 32, models=6),
    Probe("resnet", (*_RESNET, ("width", 16)), 3, 16, 32),
    Probe("resnet", (*_RESNET, ("width", 16)), 3, 16, 16, models=4),
    Probe("cnn", _cnn(64, 128, 192, 256, dim=256), 3, 64, 16),
    Probe("resnet", (*_RESNET, ("width", 64)), 3, 32, 8),
    Probe("cnn", _cnn(32, dim=1024), 3, 32, 2),
)
"""A few are ruled by operators, a few by multiply-adds, bytes or weights, two are stacked."""


TRIALS = ("fedavg", "fedsimclr")
"""Whole tiny trials, in which everything is operators."""


class Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts torch's operators within a block, backward passes included."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: int = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        self.seen += 1
        return func(*args, **(kwargs or {}))


def operators_of(call: Callable[[], object]) -> int:
    """How many of torch's operators a call runs."""
    with Operators() as operators:
        call()
    return int(operators.seen)


def step_of(probe: Probe, device: str) -> tuple[Work, Callable[[], None]]:
    """What a step does, and the step."""
    shape = (probe.channels, probe.size, probe.size)
    made = registry.make("encoder", probe.encoder, dict(probe.options))
    network = made.build(probe.channels, probe.size)
    fresh = network.new(torch.Generator().manual_seed(0))
    state = in_fast_layout(
        {name: value.to(device) for name, value in repeat(fresh, probe.models).items()}
    )
    trained = [v.requires_grad_() for name, v in state.items() if not is_buffer(name)]
    optimizer = make_optimizer("adam", trained, 1e-3)
    x = torch.rand(probe.models, probe.batch, *shape, device=device)

    def step(images: int = probe.batch) -> None:
        optimizer.zero_grad(set_to_none=True)
        loss = network(state, x[:, :images], training=True).square().mean()
        torch.autograd.backward(loss)
        optimizer.step()

    images = probe.batch * probe.models
    saved = float(images * image_bytes(network, *shape))
    stacked = probe.models > 1
    # Larger stacks are cut into more operators; what these take is told by their bytes.
    operators = float(operators_of(lambda: step(2)))
    return Work(
        operators=0.0 if stacked else operators,
        stacked_operators=operators if stacked else 0.0,
        multiply_adds=PASSES * images * network_cost(network, *shape).multiply_adds,
        bytes=0.0 if stacked else saved,
        stacked_bytes=saved if stacked else 0.0,
        weights=sum(value.numel() for value in trained),
    ), step


def trial_of(method: str, device: str) -> tuple[Work, Callable[[], None]]:
    """What a tiny trial of a method does, evaluations and views included, and the trial."""
    channels, size, clients, images = 1, 8, 5, 8
    encoder = registry.make("encoder", "resnet", {**dict(_RESNET), "width": 4})
    portion = ImageSet(
        torch.randint(0, 256, (clients * images, channels, size, size), dtype=torch.uint8),
        torch.arange(clients * images) % 2,
    ).to(device)
    own = torch.split(torch.arange(clients * images), images)
    federation = Federation(portion, portion, own, own, torch.zeros(clients).long(), 2)
    network, dim = encoder.build(channels, size), encoder.out_dim
    task = Task(
        federation=federation.to(device),
        model=Classifier(network, dim, dense_head(dim, (), 2)),
        seeds=Seeds(0),
        device=torch.device(device),
        objective=registry.make("objective", "simclr", {"projector_widths": (8, 8)}),
        augmentation=Augmentation(),
    )
    options = {"rounds": 2, "local_epochs": 2, "batch_size": 4}
    made = registry.make("federated", method, options)

    def trial() -> None:
        loop.run(made, task)

    return Work(stacked_operators=float(operators_of(trial))), trial


def views_of(shape: tuple[int, ...], device: str) -> tuple[int, Callable[[], None]]:
    """How many numbers two views of noise have, and a call that draws them."""
    images = torch.randint(0, 256, shape, dtype=torch.uint8, device=device)
    augmentation, stream = Augmentation(), torch.Generator().manual_seed(0)

    def draw() -> None:
        augmentation.views(images, 2, stream)

    return 2 * images.numel(), draw
