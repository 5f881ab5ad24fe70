"""What a piece of training computes and holds, recorded while hardly anything is computed.

Weights and all that is computed from them are on `meta`: shapes without values. The rest is real.
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
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.flop_counter import flop_registry

from ..nn.layers import COUNTED
from ..state import n_bytes


class _Handle:
    def __init__(self, value: Tensor) -> None:
        self.value = value


class OpTrace:
    """`flops`: by torch's formulas. The others: the most bytes at one time, or in one step."""

    def __init__(self) -> None:
        self.flops = self.weights = self.gradients = self.now = self.most = 0
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
    Convolutions are ordinary ones there, on every device and of every size."""
    trace = OpTrace()
    hook = optimizers.register_optimizer_step_pre_hook(trace.step)
    hooks = torch.autograd.graph.saved_tensors_hooks(trace.keep, lambda handle: handle.value)
    ordinary = COUNTED.set(True)
    try:
        with Shapes() as shapes, hooks:
            yield trace
    finally:
        trace.flops = shapes.flops
        COUNTED.reset(ordinary)
        hook.remove()


class Shapes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Whatever is computed from a tensor on `meta` is on `meta`; the rest is computed. `drawn`:
    whether new floating-point tensors are on `meta`, too. Code that reads values gets ones."""

    def __init__(self, drawn: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.drawn, self.flops = drawn, 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if self.drawn and func in _NEW:
            if (kwargs.get("dtype") or torch.get_default_dtype()).is_floating_point:
                kwargs = {**kwargs, "device": _META}
            return func(*args, **kwargs)
        values = tree_leaves((args, kwargs))
        if not any(isinstance(value, Tensor) and value.is_meta for value in values):
            found = func(*args, **kwargs)
        elif func is _aten._local_scalar_dense.default:
            return torch.ones((), dtype=args[0].dtype).item()
        elif func is _aten._to_copy.default:
            is_read = kwargs.get("device") == _CPU and args[0].numel() <= _READ
            if is_read and not self.drawn:
                return torch.ones(args[0].shape, dtype=kwargs.get("dtype") or args[0].dtype)
            return func(*args, **{**kwargs, "device": _META})
        else:
            if func in _INDEXED:
                args = (args[0], [at for one in args[1] for at in _places(one)], *args[2:])
            args, kwargs = tree_map_only(
                Tensor, lambda value: value if value.is_meta else value.to(_META), (args, kwargs)
            )
            found = func(*args, **kwargs)
            found = _laid_out(found, args) if func in _HEAVY else found
        if (flops := flop_registry.get(func._overloadpacket)) is not None:
            self.flops += flops(*args, **kwargs, out_val=found)
        return found


def _places(index: Any) -> tuple[Any, ...]:
    """The number of places that a mask chooses depends on its values."""
    is_mask = isinstance(index, Tensor) and index.dtype == torch.bool and not index.is_meta
    return index.nonzero(as_tuple=True) if is_mask else (index,)


def _laid_out(found: Any, args: tuple[Any, ...]) -> Any:
    """The operator's own layout: else the next layer would copy, and autograd store both."""
    if isinstance(found, tuple):
        return tuple(_laid_out(one, args) for one in found)
    if found is None or found.dim() != _IMAGES:
        return found
    is_last = any(map(_channels_last, args))
    return found.contiguous(
        memory_format=torch.channels_last if is_last else torch.contiguous_format
    )


def _channels_last(value: Any) -> bool:
    """Whether channels are innermost (`is_strides_like_channels_last`, c10/core/MemoryFormat.h)."""
    if not isinstance(value, Tensor) or value.dim() != _IMAGES or not value.numel():
        return False
    least, strides = 1, value.stride()
    for dim in (1, 3, 2, 0):
        if strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * value.shape[dim]
    return True


_IMAGES = 4
_READ = 65_536
_CPU, _META = torch.device("cpu"), torch.device("meta")
_aten = torch.ops.aten
_NEW = {_aten.empty.memory_format, _aten.zeros.default, _aten.ones.default, _aten.full.default}
_INDEXED = {_aten.index.Tensor, _aten.index_put.default, _aten.index_put_.default}
_HEAVY = {
    _aten.convolution.default,
    _aten.convolution_backward.default,
    _aten.mm.default,
    _aten.bmm.default,
    _aten.addmm.default,
}
