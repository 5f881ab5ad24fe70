"""What a network and a federated method cost: parameters, multiply-adds, bytes, models exchanged.

Units: a multiply-add is one multiplication and one addition, counted for convolutions and dense
layers in the forward pass of one image; flops are two for each. Communication is per client, Eq. 13
of CP-CFL (Section 3.5): counted from the method's messages, in multiples of one model's size S.
Evidence: `tests/methods/test_costs.py`.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from operator import add
from typing import Self

import torch
from torch.utils.flop_counter import FlopCounterMode

from ..federated.base import FederatedMethod, Message, Task, all_rounds
from ..nn.layers import Layer, is_buffer
from ..state import State, n_bytes

FLOPS_PER_MULTIPLY_ADD = 2


@dataclass(frozen=True)
class NetworkCost:
    """Cost of one model of a network. `parameters`: trained weights. `bytes`: as sent, with running
    statistics. `multiply_adds`: of a forward pass of one image, by kind of layer (`convolution`,
    `dense`)."""

    parameters: int
    bytes: int
    multiply_adds_by_kind: Mapping[str, int]

    @property
    def multiply_adds(self) -> int:
        return sum(self.multiply_adds_by_kind.values())

    @property
    def flops(self) -> int:
        """Floating-point operations of one forward pass of one image, two a multiply-add."""
        return FLOPS_PER_MULTIPLY_ADD * self.multiply_adds


def network_cost(network: Layer, *input_shape: int) -> NetworkCost:
    """The cost of `network` for one input of `input_shape`, on torch's `meta` device."""
    state = shapes_of(network)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        network(state, torch.zeros(1, 1, *input_shape, device="meta"))
    by_kind: dict[str, int] = {}
    for operator, flops in counter.get_flop_counts()["Global"].items():
        kind = "convolution" if "convolution" in str(operator) else "dense"
        by_kind[kind] = by_kind.get(kind, 0) + flops // FLOPS_PER_MULTIPLY_ADD
    trained = sum(v.numel() for name, v in state.items() if not is_buffer(name))
    return NetworkCost(trained, n_bytes(state), by_kind)


def shapes_of(network: Layer) -> State:
    """The weights of one model on torch's `meta` device: large networks take seconds to draw."""
    with torch.device("meta"):
        return network.new(torch.Generator(device="cpu"))


@dataclass(frozen=True)
class Exchange:
    """What one client exchanges with the server, mean over the clients that took part.
    `downloaded`, `uploaded`: weights and features, in multiples of one model's bytes. `integers`:
    bytes of choices and counters, which papers leave out."""

    downloaded: Fraction = Fraction(0)
    uploaded: Fraction = Fraction(0)
    integers: Fraction = Fraction(0)

    @property
    def models(self) -> Fraction:
        """Models' worth of bytes in both directions."""
        return self.downloaded + self.uploaded

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(add, astuple(self), astuple(other)))


def exchange(download: Message, upload: Message, participants: int, model_bytes: int) -> Exchange:
    """One round of one client, from the messages of all `participants`."""
    (down, integers_down), (up, integers_up) = (
        _per_participant(message, participants) for message in (download, upload)
    )
    return Exchange(down / model_bytes, up / model_bytes, integers_down + integers_up)


def communication(method: FederatedMethod, task: Task) -> Exchange:
    """What one client exchanges in all rounds of `method`, without restarts."""
    task = replace(task, federation=method.prepare(task.federation))
    model_bytes = n_bytes(task.model.new(torch.Generator().manual_seed(0)))
    total, server = Exchange(), method.start(task, 0)
    for now, _, download, upload in all_rounds(method, task, method.new_memory(task), server):
        total += exchange(download, upload, len(now), model_bytes)
    return total


def _per_participant(message: Message, participants: int) -> tuple[Fraction, Fraction]:
    """Bytes of floating-point and of other tensors that one participant sends or receives."""
    payloads: list[tuple[State, int]] = [(state, 1) for state in message.shared.values()]
    payloads += [(state, participants) for state in message.per_client.values()]
    pieces = sum(payload.n_bytes for payload in message.in_pieces.values())
    floating, integers = Fraction(pieces, participants), Fraction(0)
    for state, among in payloads:
        weights = {name: v for name, v in state.items() if v.is_floating_point()}
        others = {name: v for name, v in state.items() if not v.is_floating_point()}
        floating += Fraction(n_bytes(weights) if weights else 0, among)
        integers += Fraction(n_bytes(others) if others else 0, among)
    return floating, integers
