"""LARS: SGD whose step in each layer is a fixed share of the layer's weights.

Paper: You et al. 2017, "Large batch training of convolutional networks". Settings are from Chen et
al. 2020 (SimCLR, Appendix B): momentum 0.9, weight decay 1e-6, trust coefficient 0.001, no
adaptation and no decay for biases and normalisations. MFCL's second server trains by it.
Evidence: `tests/methods/test_optim.py` (the update rule in plain numbers; stacked models alone).
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from ..state import unsqueeze_like


class LARS(torch.optim.Optimizer):
    """LARS over stacked tensors, models x ...: every model's layer has a norm of its own."""

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float,
        momentum: float = 0.9,
        weight_decay: float = 1e-6,
        trust: float = 1e-3,
    ) -> None:
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "trust": trust}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Per layer: v <- momentum v + lr ratio (g + decay w), w <- w - v. Here ratio =
        trust |w| / |g + decay w|. It is 1 where either norm is 0; vectors have ratio 1 and no
        decay."""
        for group in self.param_groups:
            for w in group["params"]:
                if w.grad is not None:
                    self._move(w, group)

    def _move(self, w: Tensor, group: dict[str, Any]) -> None:
        step = w.grad
        assert step is not None
        if w.dim() > 2:
            step = step + group["weight_decay"] * w
            weight, gradient = w.flatten(1).norm(dim=1), step.flatten(1).norm(dim=1)
            ratio = group["trust"] * weight / gradient
            ratio = torch.where((weight > 0) & (gradient > 0), ratio, torch.ones_like(ratio))
            step = step * unsqueeze_like(ratio, w)
        velocity = self.state[w].setdefault("velocity", torch.zeros_like(w))
        velocity.mul_(group["momentum"]).add_(step, alpha=group["lr"])
        w.sub_(velocity)
