"""Optimisers by name, in the implementation that is fastest on the device of the weights.

They work number by number (LARS: model by model), so that one over stacked tensors takes the same
steps as one for each model. Twelve small tensors, one CPU core: `FusedAdam` takes 77 µs a step,
`torch.optim.Adam(fused=True)` 144.
Evidence: `tests/methods/test_optim.py`.
"""

from collections.abc import Iterable
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.adamw import adamw

from .lars import LARS

FUSED_ON = ("cpu", "cuda")
"""Kinds of devices for which torch has fused kernels."""


class FusedAdam:
    """Adam, or AdamW, by torch's functional form, for weights of `_suits_fused`.

    With a few thousand weights the bookkeeping of `torch.optim.Adam` takes longer than the numbers.
    The kernel follows the order in memory. So it sees weights, gradients and moments by views whose
    last dimension is the innermost. A gradient in another order than its weight would be a wrong
    step without an error (torch 2.13)."""

    def __init__(
        self, parameters: Iterable[Tensor], lr: float, weight_decay: float, decoupled: bool
    ) -> None:
        weights = list(parameters)
        kernel = {"fused": True, "amsgrad": False, "maximize": False}
        values = {"lr": lr, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": weight_decay}
        self.param_groups: list[dict[str, Any]] = [{"params": weights, **kernel, **values}]
        orders = [_outermost_first(weight) for weight in weights]
        self._orders = [None if order == sorted(order) else order for order in orders]
        self._views = [self._seen(weight.detach(), k) for k, weight in enumerate(weights)]
        self._means = [torch.zeros_like(view) for view in self._views]
        self._squares = [torch.zeros_like(view) for view in self._views]
        self._steps = [torch.zeros((), device=weight.device) for weight in weights]
        self._move: Any = adamw if decoupled else adam

    def zero_grad(self, set_to_none: bool = True) -> None:
        for weight in self.param_groups[0]["params"]:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        settings = dict(self.param_groups[0])
        weights = settings.pop("params")
        moving = [k for k, weight in enumerate(weights) if weight.grad is not None]
        grads = [self._seen(weights[k].grad, k).contiguous() for k in moving]
        held = (self._views, self._means, self._squares, self._steps)
        kept, means, squares, steps = ([each[k] for k in moving] for each in held)
        self._move(kept, grads, means, squares, [], steps, **settings)

    def _seen(self, tensor: Tensor, k: int) -> Tensor:
        order = self._orders[k]
        return tensor if order is None else tensor.permute(order)

    def state_dict(self) -> dict[str, Any]:
        settings = {name: v for name, v in self.param_groups[0].items() if name != "params"}
        held = {"means": self._means, "squares": self._squares, "steps": self._steps}
        return {"settings": settings, **held}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.param_groups[0].update(state_dict["settings"])
        self._means, self._squares = state_dict["means"], state_dict["squares"]
        self._steps = state_dict["steps"]


Optimizer = torch.optim.Optimizer | FusedAdam
OptimizerName = Literal["adam", "adamw", "lars", "sgd"]


def make_optimizer(
    name: str,
    parameters: Iterable[Tensor],
    learning_rate: float,
    sgd_momentum: float = 0.0,
    weight_decay: float | None = None,
) -> Optimizer:
    """`adam`, `adamw`, `lars` or `sgd` over leaf tensors; other settings are the class's own.
    `sgd_momentum`: read by `sgd` alone. `weight_decay`: added to gradients (`adam`, `lars`, `sgd`),
    or taken off the weights (`adamw`); zero is none. None: 1e-6 for `lars`, none for the others.
    Raises `ValueError` for another name."""
    weights, decay = list(parameters), weight_decay or 0.0
    suits_fused = all(map(_suits_fused, weights))
    if name in ("adam", "adamw"):
        if suits_fused:
            return FusedAdam(weights, learning_rate, decay, decoupled=name == "adamw")
        made = torch.optim.Adam if name == "adam" else torch.optim.AdamW
        return made(weights, lr=learning_rate, weight_decay=decay)
    if name == "lars":
        own = {} if weight_decay is None else {"weight_decay": weight_decay}
        return LARS(weights, lr=learning_rate, **own)
    if name == "sgd":
        # Fused SGD with momentum fails where a weight gets its first gradient later than others.
        fused = (suits_fused and not sgd_momentum) or None
        return torch.optim.SGD(
            weights, lr=learning_rate, momentum=sgd_momentum, weight_decay=decay, fused=fused
        )
    known = ", ".join(get_args(OptimizerName))
    raise ValueError(f"optimizer '{name}' is not known (known: {known})")


def moves_by_gradients_alone(name: str, weight_decay: float = 0.0) -> bool:
    """Whether a weight that never has a gradient stays, and changes no other weight's step."""
    return name in ("adam", "sgd") and not weight_decay


def _suits_fused(weight: Tensor) -> bool:
    """Whether torch's fused kernels take it: floating, without gaps in memory."""
    known = weight.device.type in FUSED_ON and weight.is_floating_point()
    return known and weight.permute(_outermost_first(weight)).is_contiguous()


def _outermost_first(weight: Tensor) -> list[int]:
    """Its dimensions from the one with the longest strides to the innermost in memory."""
    strides = weight.stride()
    return sorted(range(weight.dim()), key=lambda d: (-strides[d], d))
