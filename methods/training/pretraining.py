"""Central pre-training of an encoder with any objective.

Paper: CP-CFL, Algorithm 1 and Section 4.1 (300 epochs, batches of 500, Adam, learning rate 0.001).
Unstated: what becomes of the last, smaller batch (it is trained on, unless it is one image, which
has neither negatives nor batch statistics); a schedule of the rate (none: "initial" may mean one).
Evidence: `tests/methods/test_pretraining.py`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from ..checkpoint import NEVER, Checkpoint
from ..data.federation import ImageSet, to_float
from ..data.views.augment import Augmentation
from ..encoders.base import Encoder
from ..nn.layers import Layer, in_fast_layout, is_buffer
from ..nn.reached import ReachedPlaces, reached_places, restored, trimmed
from ..objectives.base import Objective
from ..optim.optimizers import OptimizerName, make_optimizer, moves_by_gradients_alone
from ..outcome import Curve, Outcome
from ..seeds import Seeds
from ..state import State, clone, part, placed
from .epochs import Epochs

# Views up to this size are drawn together: of 8x8 images the calls cost more than the numbers.
_VIEWS_BYTES = 1 << 20


@dataclass(frozen=True)
class PretrainingOptions:
    """The loop: epochs, images per batch, learning rate, `adam` or `sgd`."""

    epochs: int = 300
    batch_size: int = 500
    learning_rate: float = 1e-3
    optimizer: OptimizerName = "adam"


def pretrain(
    objective: Objective,
    encoder: Encoder,
    portion: ImageSet,
    n_classes: int,
    options: PretrainingOptions,
    augmentation: Augmentation,
    seeds: Seeds,
    device: torch.device | str = "cpu",
    progress: Callable[[int, int], None] = lambda done, total: None,
    checkpoint: Checkpoint = NEVER,
) -> Outcome:
    """Trains `encoder` on `portion` with `objective`.

    The outcome has the metric `loss`, the mean over the images of each epoch, counted from 1. It
    has the counts `parameters` (trained ones of all networks) and `encoder_parameters`, and the
    encoder's weights on the CPU. Weights, order and views have streams of their own: every
    objective of a trial starts from the same encoder and sees the same batches. `checkpoint`: saves
    the training after epochs, and may bring one to go on with. Raises `ValueError` for fewer than
    two images or missing labels, `DivergedError`."""
    n, channels, side = portion.images.shape[:3]
    if n < 2:
        raise ValueError(f"pre-training needs at least two images, has {n}")
    if objective.uses_labels and portion.labels is None:
        name = type(objective).__module__.rpartition(".")[2]
        raise ValueError(f"'{name}' pre-training needs labels, and these images have none")
    portion = portion.to(device)
    network = encoder.build(channels, side)
    learner = objective.build(network, encoder.out_dim, n_classes)
    new = learner.new(seeds.generator("weights", "pretraining"))
    fresh = placed(new, torch.device(device))
    places: ReachedPlaces = {}
    if moves_by_gradients_alone(options.optimizer):
        places = reached_places(network, fresh, to_float(portion.images[0]))
    at: Epochs | None = checkpoint.restored()
    state = in_fast_layout(trimmed(fresh, places)) if at is None else at.weights
    trained = [value.requires_grad_() for name, value in state.items() if not is_buffer(name)]
    memory = learner.memory(state) if at is None else at.memory
    optimizer = make_optimizer(options.optimizer, trained, options.learning_rate)
    order = seeds.generator("pretraining", "order")
    view_stream = seeds.generator("pretraining", "views")

    at = at or Epochs(state, memory)
    streams = {"order": order, "views": view_stream}
    if at.done:
        progress(at.done, options.epochs)
    for _ in at.left(options.epochs, [optimizer], checkpoint, progress, **streams):
        total, images = torch.zeros((), device=device), 0
        drawn = batches(n, options.batch_size, order, device)
        for together in _with_views(drawn, portion.images, objective, augmentation, view_stream):
            for batch, views in together:
                labels = portion.labels[batch][None] if portion.labels is not None else None
                loss = learner.loss(state, memory, [view[None] for view in views], labels).sum()
                optimizer.zero_grad(set_to_none=True)
                torch.autograd.backward(loss)
                optimizer.step()
                learner.update(state, memory)
                total += loss.detach() * len(batch)
                images += len(batch)
        at.losses.append(float(total) / images)

    learnt = restored(part(clone(state), "encoder"), fresh, places)
    return Outcome(
        metrics={"loss": Curve(tuple(range(1, options.epochs + 1)), tuple(at.losses))},
        counts={"parameters": _weights(fresh), "encoder_parameters": _weights(learnt)},
        encoder={name: value.contiguous().cpu() for name, value in learnt.items()},
    )


def _weights(state: State) -> int:
    return sum(value.numel() for name, value in state.items() if not is_buffer(name))


def _with_views(
    drawn: Iterator[Tensor],
    images: Tensor,
    objective: Objective,
    augmentation: Augmentation,
    view_stream: torch.Generator,
) -> Iterator[Iterator[tuple[Tensor, list[Tensor]]]]:
    """Batches with their views; those of small images are drawn together, when asked for."""
    for first in drawn:
        size = torch.float32.itemsize * objective.n_views * images[0].numel() * len(first)
        together = [first, *islice(drawn, _VIEWS_BYTES // size - 1 if size < _VIEWS_BYTES else 0)]
        raw = [images[batch] for batch in together]
        if objective.draws_views:
            views = augmentation.views_of_batches(raw, objective.n_views, view_stream)
            yield zip(together, views, strict=True)
        else:
            yield (
                (batch, [to_float(own)] * objective.n_views)
                for batch, own in zip(together, raw, strict=True)
            )


def batches(
    n: int, size: int, generator: torch.Generator, device: torch.device | str = "cpu"
) -> Iterator[Tensor]:
    """Indices of 0 .. n - 1 in random order, `size` at a time; a last batch of one is left out."""
    order = torch.randperm(n, generator=generator, device=generator.device).to(device)
    for batch in torch.split(order, size):
        if len(batch) > 1 or size == 1:
            yield batch


@torch.no_grad()
def encode(encoder: Layer, state: State, images: Tensor, batch_size: int = 500) -> Tensor:
    """Representations n x dim of uint8 images n x C x H x W by one model, in evaluation mode."""
    parts = [encoder(state, to_float(batch)[None])[0] for batch in torch.split(images, batch_size)]
    return torch.cat(parts)
