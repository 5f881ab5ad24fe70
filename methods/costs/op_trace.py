"""What a piece of training computes and holds, recorded while hardly anything is computed.

Convolutions and matrix products put out zeros of the right shape; everything else happens.
Evidence: `tests/methods/test_costs.py`.
"""

import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.optim import optimizer as optimizers
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from ..nn.layers import COUNTED
from ..state import n_bytes


class _Handle:
    """A tensor that autograd keeps."""

    def __init__(self, value: Tensor) -> None:
        self.value = value


class OpTrace:
    """flops: torch's counter. most: the most bytes that autograd held at one time.

    weights, gradients: the most bytes that an optimiser's step had.
    """

    def __init__(self) -> None:
        self.flops = FlopCounterMode(display=False)
        self.weights = self.gradients = self.now = self.most = 0
        self._users: Counter[int] = Counter()

    def keep(self, value: Tensor) -> _Handle:
        """Counts a tensor until its handle is gone; tensors of one storage count once."""
        handle, storage = _Handle(value.detach()), value.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if not self._users[key]:
            self.now += size
            self.most = max(self.most, self.now)
        self._users[key] += 1
        weakref.finalize(handle, self._drop, key, size)
        return handle

    def _drop(self, key: int, size: int) -> None:
        self._users[key] -= 1
        if not self._users[key]:
            self.now -= size

    def step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Called before each step of an optimiser."""
        trained = [value for group in optimizer.param_groups for value in group["params"]]
        gradients = [value.grad for value in trained if value.grad is not None]
        self.weights = max(self.weights, n_bytes(dict(enumerate(trained))))  # type: ignore[arg-type]
        self.gradients = max(self.gradients, n_bytes(dict(enumerate(gradients))))  # type: ignore[arg-type]


@contextmanager
def traced() -> Iterator[OpTrace]:
    """Records all that is computed within the block, with zeros for heavy operators.

    Convolutions are ordinary ones there, on every device and of every size.
    """
    trace = OpTrace()
    hook = optimizers.register_optimizer_step_pre_hook(trace.step)
    hooks = torch.autograd.graph.saved_tensors_hooks(trace.keep, lambda handle: handle.value)
    ordinary = COUNTED.set(True)
    try:
        with _Zeros(), trace.flops, hooks:  # type: ignore[no-untyped-call]
            yield trace
    finally:
        COUNTED.reset(ordinary)
        hook.remove()


class _Zeros(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Zeros of the right shape and layout in the place of convolutions and matrix products."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func not in _HEAVY:
            return func(*args, **(kwargs or {}))
        shapes = func(*map(_shape_of, args), **(kwargs or {}))
        # In another layout than the operator's the next layer would copy, and autograd keep both.
        layout = torch.channels_last if any(map(_channels_last, args)) else torch.contiguous_format
        if isinstance(shapes, Tensor):
            return _zeros_like(shapes, layout)
        return tuple(None if one is None else _zeros_like(one, layout) for one in shapes)


def _shape_of(value: Any) -> Any:
    return value.to("meta") if isinstance(value, Tensor) else value


def _channels_last(value: Any) -> bool:
    """Whether images, or a kernel, are for PyTorch's operators ones whose channels lie innermost.

    The rule of `is_strides_like_channels_last` in c10/core/MemoryFormat.h, which decides where
    single channels or pixels fit both layouts.
    """
    if not isinstance(value, Tensor) or value.dim() != _IMAGES or not value.numel():
        return False
    least, strides = 1, value.stride()
    for dim in (1, 3, 2, 0):
        if strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * value.shape[dim]
    return True


def _zeros_like(shape: Tensor, layout: torch.memory_format) -> Tensor:
    found = torch.zeros(shape.shape, dtype=shape.dtype)
    return found.contiguous(memory_format=layout) if shape.dim() == _IMAGES else found


_IMAGES = 4
_aten = torch.ops.aten
_HEAVY = {
    _aten.convolution.default,
    _aten.convolution_backward.default,
    _aten.mm.default,
    _aten.bmm.default,
    _aten.addmm.default,
}
