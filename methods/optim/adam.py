"""Adam as PyTorch's fused kernel computes it, without what surrounds it in `torch.optim`.

Papers: Kingma and Ba 2015; AdamW: Loshchilov and Hutter 2019. For a network of a few thousand
weights `torch.optim.Adam` spends more time on its own bookkeeping than on numbers (130 µs a step
of 14 small tensors, this one 52). Weights that lie in another order in memory than their dimensions
(channels innermost) go to the kernel in that order, because it would copy them first. A weight
without a gradient is skipped, and each weight counts its own steps, as in torch.
Evidence: `tests/methods/test_optim.py` (the published rule, `torch.optim` step by step).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


def memory_order(weight: Tensor) -> tuple[int, ...]:
    """The dimensions, outermost in memory first."""
    strides = weight.stride()
    return tuple(sorted(range(weight.dim()), key=lambda d: (-strides[d], d)))


def suits_fused_adam(weight: Tensor) -> bool:
    """Whether `FusedAdam` can move it: floating point, without gaps, where torch has a kernel."""
    # The kernels are not part of torch's documented interface: a version may come without them.
    kernels = hasattr(torch, "_fused_adam_") and hasattr(torch, "_fused_adamw_")
    known = kernels and weight.device.type in ("cpu", "cuda") and weight.is_floating_point()
    return known and weight.permute(memory_order(weight)).is_contiguous()


class _Held:
    """One weight and its moments, in the order of memory."""

    def __init__(self, weight: Tensor) -> None:
        order = memory_order(weight)
        self.leaf, self.order = weight, None if weight.is_contiguous() else order
        self.weight = weight.detach().permute(order)
        self.mean, self.square = torch.zeros_like(self.weight), torch.zeros_like(self.weight)
        self.steps = 0

    def gradient(self) -> Tensor:
        grad = self.leaf.grad
        assert grad is not None
        return grad if self.order is None else grad.permute(self.order).contiguous()


class FusedAdam:
    """Adam over leaf tensors on one device; `decoupled` makes it AdamW, with torch's decay of 0.01.

    Every tensor must suit it (`suits_fused_adam`) and keep its memory. Of `torch.optim` it has what
    training loops use: `param_groups`, `zero_grad`, `step`.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | None = None,
        decoupled: bool = False,
    ) -> None:
        if weight_decay is None:
            weight_decay = 0.01 if decoupled else 0.0
        self._held = [_Held(weight) for weight in parameters]
        group = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        self.param_groups: list[dict[str, Any]] = [
            {"params": [held.leaf for held in self._held], **group}
        ]
        self._kernel: Any = torch._fused_adamw_ if decoupled else torch._fused_adam_

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients, or makes them zero."""
        for held in self._held:
            if set_to_none or held.leaf.grad is None:
                held.leaf.grad = None
            else:
                held.leaf.grad.zero_()

    @torch.no_grad()
    def step(self) -> None:
        """Moves every weight that has a gradient."""
        moving = [held for held in self._held if held.leaf.grad is not None]
        if not moving:
            return
        for held in moving:
            held.steps += 1
        device = moving[0].weight.device
        counts = {n: torch.full((), float(n), device=device) for n in {h.steps for h in moving}}
        (group,) = self.param_groups
        self._kernel(
            [held.weight for held in moving],
            [held.gradient() for held in moving],
            [held.mean for held in moving],
            [held.square for held in moving],
            [],
            [counts[held.steps] for held in moving],
            lr=group["lr"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )
