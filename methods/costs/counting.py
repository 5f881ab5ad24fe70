"""What a client exchanges, computes and holds, counted while a method's own rounds run.

Papers: mfcl, Section 5.4 (α, β, γ of Tables 3, 4 and 15). No formula of a cost is used. The method
runs a few rounds with two to six noise images a client, at the full width of the network. Its
messages, torch's operators (flops, forward and backward) and what autograd stores are counted
(`methods.costs.op_trace`). Each count must be a polynomial of degree two in the images of a step,
since a contrastive loss compares all with all; it is checked on a further size. Weights and what is
computed from them have shapes alone, so that nothing fills memory. Views are the images unchanged:
no network draws them. Of clients that receive equally many bytes only one takes part.
Evidence: `tests/methods/test_costs.py`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction

import torch
from torch import Tensor

from ..data.federation import Federation, ImageSet, to_float
from ..data.views.augment import Augmentation
from ..federated.base import FederatedMethod, Message, Round, Server, Task
from ..training.steps import Grouping
from .op_trace import Shapes, traced

_SIZES = (2, 3, 4, 6)
"""Images of a client. Three give a polynomial of degree two, the fourth checks it."""
_DEGREE = 2
_ROUNDS = 2


@dataclass(frozen=True)
class ClientCosts:
    """Of one client, mean over the clients. `exchanged`: bytes in both directions in the whole
    training. `flops`: of its local work in one round, two a multiply-add. `weights`, `gradients`,
    `maps`: bytes that a step trains, of their gradients, and that autograd keeps. `kept`: bytes
    that stay with the client between rounds."""

    exchanged: Fraction
    flops: Fraction
    weights: Fraction
    gradients: Fraction
    maps: Fraction
    kept: Fraction

    @property
    def held(self) -> Fraction:
        """Bytes of weights, gradients, maps and what stays with the client between rounds."""
        return self.weights + self.gradients + self.maps + self.kept


def count_costs(method: FederatedMethod, task: Task, images: int) -> ClientCosts:
    """The costs of `method` on as many clients as `task` has, with `images` training images each.
    Raises `ValueError` where a count is no polynomial of the images, and for streaming methods."""
    with Shapes(drawn=True):
        start = method.start(_tiny(task, 1), 0)
    received = _received(method, task, start)
    costs = {
        kind: astuple(_client_costs(method, task, start, received.index(kind), images))
        for kind in set(received)
    }
    each = zip(*(costs[kind] for kind in received), strict=True)
    return ClientCosts(*(sum(values, Fraction(0)) / len(received) for values in each))


def _received(method: FederatedMethod, task: Task, start: Server) -> list[int]:
    tiny, clients = _tiny(task, 1), range(task.federation.n_clients)
    with Shapes():
        each = [
            method.broadcast(Round(tiny, 0, torch.tensor([client])), start) for client in clients
        ]
        return [_sent(message) for message in each]


def _client_costs(
    method: FederatedMethod, task: Task, start: Server, client: int, images: int
) -> ClientCosts:
    once = {n: _rounds(method, task, start, client, n, 1) for n in _SIZES}
    twice = _rounds(method, task, start, client, _SIZES[0], 2)
    size = method.batch_size
    steps = [min(size, images - first) for first in range(0, images, size)]

    # Rounds from the second on are alike; MFCL's last exchange is another.
    later, smallest = _ROUNDS - 1, once[_SIZES[0]]
    bytes_of = [_fitted([(n, once[n][t].exchanged) for n in once]) for t in range(len(smallest))]
    first, again, *behind = (one(images) for one in bytes_of)
    exchanged = first + (method.rounds - 1) * again + sum(behind)

    # What is not done in every epoch (statistics, ...) is done once for every image.
    per_image = (2 * smallest[later].flops - twice[later].flops) / _SIZES[0]
    step = _fitted([(n, once[n][later].flops - per_image * n) for n in once])
    flops = method.local_epochs * sum(map(step, steps)) + per_image * images

    held = _fitted([(n, once[n][later].maps) for n in once])
    last = smallest[later]
    return ClientCosts(
        exchanged=exchanged,
        flops=flops,
        weights=last.weights,
        gradients=last.gradients,
        maps=held(max(steps)) - held(0),
        kept=last.kept,
    )


def _fitted(points: Sequence[tuple[int, Fraction]]) -> Callable[[int], Fraction]:
    """The polynomial of degree two through all the points (Lagrange), `ValueError` for none."""
    used = points[: _DEGREE + 1]

    def at(n: int) -> Fraction:
        basis = ([Fraction(n - z, x - z) for z, _ in used if z != x] for x, _ in used)
        terms = (y * math.prod(own) for own, (_, y) in zip(basis, used, strict=True))
        return Fraction(sum(terms))

    if any(at(x) != y for x, y in points):
        raise ValueError(f"{list(points)}, by images, follow no polynomial of degree {_DEGREE}")
    return at


def _rounds(
    method: FederatedMethod, task: Task, server: Server, client: int, images: int, epochs: int
) -> list[ClientCosts]:
    """The first rounds of a client alone (`exchanged`: in each), its images being one batch."""
    tiny = _tiny(task, images)
    # SGD's steps can be recorded; what another optimiser keeps is not counted anyway.
    short = replace(method, rounds=_ROUNDS, local_epochs=epochs, batch_size=images, optimizer="sgd")
    alone, found = torch.tensor([client]), list[ClientCosts]()
    with Shapes(drawn=True):
        memory = short.new_memory(tiny)
    for t in range(short.exchanges):
        now = Round(tiny, t, alone)
        with Shapes():
            download = short.broadcast(now, server)
        with traced() as trace:
            upload = short.local_update(now, download, memory)
        with Shapes():
            sent = _sent(download) + _sent(upload)
            if t + 1 < short.exchanges:
                server = short.aggregate(now, server, upload)
        kept = sum(v.numel() * v.element_size() for v in memory.tensors())
        of_one = kept // tiny.federation.n_clients
        counted = sent, trace.flops, trace.weights, trace.gradients, trace.most, of_one
        found.append(ClientCosts(*map(Fraction, counted)))
    return found


def _sent(message: Message) -> int:
    if message.streamed:
        raise ValueError("what is streamed within a round is not counted here")
    return message.bytes_exchanged(1)


def _tiny(task: Task, images: int) -> Task:
    """The task on noise, with so many images for each client."""
    old = task.federation
    count = old.n_clients * images
    shape = (count, *old.train.images.shape[1:])
    portion = ImageSet(
        torch.randint(0, 256, shape, dtype=torch.uint8, generator=task.seeds.generator("noise")),
        torch.arange(count) % old.n_classes,
    )
    own = torch.split(torch.arange(count), images)
    group = torch.zeros(old.n_clients, dtype=torch.int64)
    return replace(
        task,
        federation=Federation(portion, portion, own, own, group, old.n_classes),
        grouping=Grouping(at_once=1),
        augmentation=None if task.augmentation is None else _Unchanged(),
    )


class _Unchanged(Augmentation):
    def views(self, images: Tensor, n_views: int, generator: torch.Generator) -> list[Tensor]:
        return [to_float(images)] * n_views

    def stacked_views(
        self,
        images: Tensor,
        n_views: int,
        streams: Sequence[torch.Generator],
        counts: Sequence[int] | None = None,
    ) -> list[Tensor]:
        return [to_float(images)] * n_views
