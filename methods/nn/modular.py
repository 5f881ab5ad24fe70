"""MFCL's network in its two modules: what clients train, and what the second server trains.

Paper: MFCL, Section 2.1; Tables 9 and 10 (`mfcl_modules`), Table 11 (projection layers).
Deviation: a transposed convolution of stride 1 with padding 1 is written as a convolution with the
kernel turned round. The functions and the number of weights are the same.
Evidence: `tests/methods/test_modular.py`.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..state import State, part, take
from .layers import Conv2d, Layer, MaxPool2d, ReLU, Sequential
from .mfcl_modules import Convolution, Pooling

MODULE = "encoder.module"
OWN = "own"


def with_own_modules(state: State, modules: State) -> State:
    """One model, and the client modules (stacked) of all clients under `own.`."""
    return {**state, **{f"{OWN}.{name}": value.unsqueeze(0) for name, value in modules.items()}}


def with_module_of(state: State, client: int) -> State:
    """The model of `state` with that client's module; `ValueError` if it was not saved."""
    own = {name.removeprefix(f"{OWN}."): value[0] for name, value in part(state, OWN).items()}
    if not own or not 0 <= client < len(next(iter(own.values()))):
        raise ValueError(f"no module of client {client} was saved (training.client_models)")
    return {**part(state, "encoder"), **take(own, [client])}


def plain_layers(
    name: str, listed: Sequence[Convolution | Pooling], normalised: Callable[[str, int], Layer]
) -> Sequential:
    """Layers named `name.`, from 0; `normalised` makes the normalisation of so many channels."""
    layers: list[Layer] = []
    for i, one in enumerate(listed):
        if isinstance(one, Pooling):
            layers.append(MaxPool2d(one.kernel, one.stride, one.padding))
            continue
        layers.append(
            Conv2d(f"{name}.{i}", one.inputs, one.outputs, one.kernel, one.stride, one.padding)
        )
        if one.normalised:
            layers += [normalised(f"{name}.norm{i}", one.outputs), ReLU()]
    return Sequential(*layers)


class ModularNetwork(Layer):
    """projector(rest(module(x))), without a projector where it is None. `module`: images to models
    x batch x channels x height x width (`encoder.module.*`). `rest`: these to models x batch x dim.
    `plan`: the module's layers, to which a decoder is made."""

    def __init__(
        self,
        module: Sequential,
        rest: Sequential,
        projector: Sequential | None,
        plan: Sequence[Convolution | Pooling],
    ) -> None:
        self.module, self.rest, self.projector = module, rest, projector
        self.plan = tuple(plan)

    def new(self, generator: torch.Generator) -> State:
        parts = (self.module, self.rest, self.projector)
        return {k: v for p in parts if p is not None for k, v in p.new(generator).items()}

    def behind(self, state: State, z: Tensor, training: bool = False) -> Tensor:
        """What the second server computes from representations `z`: models x batch x width."""
        h = self.rest(state, z, training)
        return h if self.projector is None else self.projector(state, h, training)

    def before_pooling(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        """The module without the pooling that ends it."""
        return Sequential(*list(self.module)[:-1])(state, x, training)

    def pooled_and_behind(self, state: State, z: Tensor, training: bool = False) -> Tensor:
        *_, pooling = self.module
        return self.behind(state, pooling(state, z, training), training)

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return self.behind(state, self.module(state, x, training), training)


def two_modules(encoder: Layer) -> ModularNetwork:
    """`encoder` as the clients' module and the servers' rest; `ValueError` if it is one piece."""
    if not isinstance(encoder, ModularNetwork):
        raise ValueError("split training needs an encoder in two modules (encoder.modular)")
    return encoder
