"""What models give on clients' images: representations, class probabilities, losses.

Images of all clients with one model pass it together; models with equal encoders share one pass.
Evidence: `tests/methods/test_local.py`, against one model and one client at a time.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.federation import Federation, ImageSet, to_float
from ..nn.classifier import ENCODER, HEAD, Classifier
from ..state import State, n_models, part, positions, take
from .probing import image_bytes, step_bytes


@torch.no_grad()
def features(
    model: Classifier, pool: State, choice: Tensor, portion: ImageSet, index_of: Sequence[Tensor]
) -> list[Tensor]:
    """Representations, images x dim for each client, in evaluation mode. `choice`: int64,
    (clients,), models of `pool`. `index_of`: per client, int64, into `portion`."""
    encoders = part(pool, ENCODER)

    def encode(chosen: int, members: list[int]) -> Tensor:
        index = torch.cat([index_of[member] for member in members])
        return _encode(model, _one(encoders, chosen), portion, index)

    same = _first_equal(encoders)[choice.cpu()]
    return _by_model(same, index_of, encode)


@torch.no_grad()
def probabilities(
    model: Classifier, pool: State, choice: Tensor, portion: ImageSet, index_of: Sequence[Tensor]
) -> list[Tensor]:
    """Class probabilities, images x classes for each client; arguments as for `features`."""
    encoded = features(model, pool, choice, portion, index_of)
    heads = part(pool, HEAD)

    def classify(chosen: int, members: list[int]) -> Tensor:
        h = torch.cat([encoded[member] for member in members])
        return model.logits(_one(heads, chosen), h.unsqueeze(0))[0].softmax(dim=1)

    return _by_model(choice.cpu(), encoded, classify)


@torch.no_grad()
def client_losses(
    model: Classifier, pool: State, federation: Federation, clients: Tensor
) -> Tensor:
    """Mean cross-entropy, clients x models, on clients' training images (CP-CFL Eqs. 3-5)."""
    index_of = [federation.train_of[int(client)] for client in clients]
    index = torch.cat(index_of)
    assert federation.train.labels is not None
    labels = federation.train.labels[index]
    encoders, heads = part(pool, ENCODER), part(pool, HEAD)
    same = _first_equal(encoders)
    losses = torch.empty(n_models(pool), len(index), device=index.device)
    for encoder in torch.unique(same).tolist():
        models = (same == encoder).nonzero().flatten()
        h = _encode(model, _one(encoders, encoder), federation.train, index)  # images x dim
        models = positions(pool, models)
        # models x images x classes
        logits = model.logits(take(heads, models), h.expand(len(models), *h.shape))
        each = F.cross_entropy(logits.flatten(0, 1), labels.repeat(len(models)), reduction="none")
        losses[models] = each.reshape(len(models), -1)
    per_client = torch.split(losses, [len(own) for own in index_of], dim=1)
    return torch.stack([loss.mean(dim=1) for loss in per_client]).cpu()


def _one(pool: State, chosen: int) -> State:
    device = next(iter(pool.values())).device
    return take(pool, torch.full((1,), chosen, device=device))


def _encode(model: Classifier, encoder: State, portion: ImageSet, index: Tensor) -> Tensor:
    """Representations, images x dim, by a single encoder, in pieces of a step's size."""
    shape = portion.images.shape[1:]
    at_once = max(1, step_bytes(index.device) // image_bytes(model, *shape))
    return torch.cat(
        [
            model.features(encoder, to_float(portion.images[piece]).unsqueeze(0))[0]
            for piece in torch.split(index, at_once)
        ]
    )


def _first_equal(state: State) -> Tensor:
    """For each model the first of `state` that equals it, int64, (models,), on the processor."""
    if n_models(state) == 1:
        return torch.zeros(1, dtype=torch.int64)
    values = [value.flatten(1) for value in state.values()]
    sums = torch.stack([_bits(value).sum(1) for value in values], dim=1)  # models x tensors
    alike = (sums.unsqueeze(0) == sums.unsqueeze(1)).all(2)  # models x models
    first = alike.byte().argmax(1)
    equal = torch.stack([(value == value[first]).all(1) for value in values]).all(0)
    return torch.where(equal, first, torch.arange(len(first), device=first.device)).cpu()


def _bits(value: Tensor) -> Tensor:
    """Floats as the integers of their bits, the two zeros as one; integers as they are."""
    if not value.is_floating_point():
        return value
    return (value + 0.0).view(torch.int32 if value.element_size() == 4 else torch.int64)


def _by_model(
    choice: Tensor, rows_of: Sequence[Tensor], compute: Callable[[int, list[int]], Tensor]
) -> list[Tensor]:
    """`compute(model, members)` once for every chosen model, split by client."""
    found: dict[tuple[int, int], Tensor] = {}
    names = [(model, id(rows)) for model, rows in zip(choice.tolist(), rows_of, strict=True)]
    first = {name: client for client, name in reversed(list(enumerate(names)))}
    for chosen in torch.unique(choice).tolist():
        members = sorted(client for (model, _), client in first.items() if model == chosen)
        split = torch.split(compute(chosen, members), [len(rows_of[m]) for m in members])
        found.update({names[m]: rows for m, rows in zip(members, split, strict=True)})
    return [found[name] for name in names]
