"""What CUDA refuses and what it takes, one call each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Tensors:
    """there, here: 2 x 3 on the card and on the processor; at_there, at_here: int64, 2."""

    there: Tensor
    here: Tensor
    at_there: Tensor
    at_here: Tensor
    stream: torch.Generator
    card: str


class _MixedBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return grads[0] * torch.ones(grads[0].shape)


def _mixed_backward(t: Tensors) -> None:
    x = t.there.clone().requires_grad_()
    torch.autograd.backward(_MixedBackward.apply(x).sum())  # type: ignore[no-untyped-call]


def _fused_adam(t: Tensors) -> None:
    """The gradient lies in memory as the transposed weight does."""
    weight, other = torch.zeros(2, 3, device=t.card), torch.zeros(3, 2, device=t.card).t()
    torch._fused_adam_(
        *([weight], [other], [weight.clone()], [weight.clone()], [], [t.there.sum()]),
        **{"lr": 0.1, "beta1": 0.9, "beta2": 0.9, "weight_decay": 0.0, "eps": 1e-8},
        **{"amsgrad": False, "maximize": False},
    )


Calls = Mapping[str, Callable[[Tensors], Any]]

REFUSED: Calls = {
    "a sum of two devices": lambda t: t.there + t.here,
    "a sum in place": lambda t: t.there.add_(t.here),
    "a sum in place on the processor": lambda t: t.here.add_(t.there),
    "a number of the card beside a tensor of the processor": lambda t: t.here + t.there.sum(),
    "a matrix product of two devices": lambda t: t.there @ t.here.t(),
    "a dense layer of two devices": lambda t: F.linear(t.there, t.here),
    "a convolution of two devices": lambda t: F.conv2d(
        t.there.view(1, 1, 2, 3), torch.ones(1, 1, 2, 2)
    ),
    "batch statistics of two devices": lambda t: F.batch_norm(
        t.there, torch.zeros(3), torch.ones(3), training=True
    ),
    "cat of two devices": lambda t: torch.cat([t.there, t.here]),
    "stack of numbers of two devices": lambda t: torch.stack([t.there.sum(), t.here.sum()]),
    "index_select by the processor": lambda t: t.there.index_select(0, t.at_here),
    "gather by the processor": lambda t: t.there.gather(0, torch.zeros(2, 3).long()),
    "the processor's rows by an index of the card": lambda t: t.here[t.at_there],
    "the processor's rows by a mask of the card": lambda t: t.here[t.there > 1],
    "rows of the processor written by the card": lambda t: t.here.__setitem__(t.at_there, 1.0),
    "rows of the card written by the processor": lambda t: t.there.__setitem__(t.at_there, t.here),
    "labels of the processor": lambda t: F.cross_entropy(t.there, t.at_here),
    "where of two devices": lambda t: torch.where(t.there > 0, t.here, t.there),
    "rand by a generator of the processor": lambda t: torch.rand(
        3, generator=t.stream, device=t.card
    ),
    "randperm by a generator of the processor": lambda t: torch.randperm(
        3, generator=t.stream, device=t.card
    ),
    "uniform_ by a generator of the processor": lambda t: t.there.uniform_(generator=t.stream),
    "multinomial by a generator of the processor": lambda t: torch.multinomial(
        t.there + 1, 1, generator=t.stream
    ),
    "a product of integer matrices": lambda t: t.at_there.view(1, 2) @ t.at_there.view(2, 1),
    "NumPy of the card's memory": lambda t: t.there.numpy(),
    "NumPy's asarray": lambda t: np.asarray(t.there),
    "NumPy's array of numbers of the card": lambda t: np.array([t.there.sum(), t.there.sum()]),
    "equal of two devices": lambda t: torch.equal(t.there, t.here),
    "searchsorted of two devices": lambda t: torch.searchsorted(t.there[0], t.here[0]),
    "lerp_ of two devices": lambda t: t.there.lerp_(t.here, 0.5),
    "a product into memory of the processor": lambda t: torch.bmm(
        t.there[None], t.there.t()[None], out=torch.empty(1, 2, 2)
    ),
    "bags of rows of two devices": lambda t: F.embedding_bag(
        t.at_here.view(1, 2), t.there, mode="sum"
    ),
    "fused Adam over unlike strides": _fused_adam,
    "a gradient of two devices": _mixed_backward,
}

ALLOWED: Calls = {
    "a number of the processor beside a tensor of the card": lambda t: t.there + t.here.sum(),
    "rows of the card by an index of the processor": lambda t: t.there[t.at_here],
    "rows of the card by a mask of the processor": lambda t: t.there[t.here > 1],
    "rows of the card by a list": lambda t: t.there[[0, 1]],
    "a number written to rows of the card": lambda t: t.there.__setitem__(t.at_here, 1.0),
    "a slice of the card written by the processor": lambda t: t.there.__setitem__(
        slice(None), t.here
    ),
    "copies both ways": lambda t: (t.there.copy_(t.here), t.here.copy_(t.there)),
    "a copy that nobody waits for": lambda t: t.here.to(t.card, non_blocking=True),
    "a list of numbers": lambda t: t.there.tolist(),
    "a number": lambda t: float(t.there.sum()),
    "NumPy of a copy": lambda t: t.there.cpu().numpy(),
    "a list that becomes a tensor": lambda t: torch.tensor([1.0, 2.0], device=t.card),
    "a list that becomes a like tensor": lambda t: t.there.new_tensor([1.0, 2.0]) + t.there[0, :2],
    "numbers of the card in a list": lambda t: torch.tensor([t.there.sum(), t.there.sum()]),
    "a constant": lambda t: torch.full((2, 3), 1.0, device=t.card) + t.there,
    "rows that are not nought": lambda t: t.there.nonzero(),
    "draws on the processor": lambda t: torch.rand(2, 3, generator=t.stream).to(t.card) + t.there,
    "a sum": lambda t: t.there + t.there,
}
