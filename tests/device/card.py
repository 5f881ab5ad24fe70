"""A device that only pretends: its tensors say they lie there, and are computed on the processor.

PyTorch lets a backend be written in Python (the dispatch key PrivateUse1). A `CardTensor` holds a
tensor of the processor; every operator on one passes through `_run`, which refuses what CUDA
refuses (`refusals`), counts (`counts`) and computes. The name is not "cuda", which the processor's
build of PyTorch keeps for itself; `tests/device/test_choices.py` sees to it that the project asks
nowhere for that name where a rehearsal would have to see the answer.

`install` changes the whole process: rehearsals have a process of their own (`conftest.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode

from tests.device.counts import Books
from tests.device.refusals import COPIES, INDEXING, check

NAME = "pretended"
_below: Any = torch._C._DisableTorchDispatch  # type: ignore[attr-defined]

# Give memory or another look at it, and start nothing on the card.
_NO_KERNEL = {
    *("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted"),
    *("_unsafe_view", "lift_fresh", "detach", "alias", "resize_", "_reshape_alias", "set_"),
}
# Their results have as many rows as the data say, or go to the host.
_WAITING = {
    *("nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "equal"),
    *("bincount", "is_nonzero", "histc", "linalg_lstsq", "_linalg_eigh", "_linalg_svd"),
}


class CardTensor(Tensor):
    """A tensor of the processor, `raw`, that says it lies on the card."""

    raw: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, raw: Tensor, requires_grad: bool = False) -> CardTensor:
        made: CardTensor = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            raw.size(),
            strides=raw.stride(),
            storage_offset=raw.storage_offset(),
            dtype=raw.dtype,
            layout=raw.layout,
            device=torch.device(NAME, 0),
            requires_grad=requires_grad,
        )
        return made

    def __init__(self, raw: Tensor, requires_grad: bool = False) -> None:
        self.raw = raw

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"CardTensor({self.raw})"

    def tolist(self) -> Any:
        # PyTorch refuses subclasses here; of a real card it copies to the host.
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(
        cls,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        return _run(func, args, kwargs or {})


class _OnCard(TorchDispatchMode):
    """Sends operators that make tensors on the card, or mix tensors with its own, to `_run`."""

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if _on_card(kwargs.get("device")) or CardTensor in types:
            return _run(func, args, kwargs)
        return func(*args, **kwargs)


class _State:
    """The books that are open."""

    books = Books()


@contextmanager
def counted() -> Iterator[Books]:
    """For a block: the card can be used, and all that is done on it goes into these books."""
    before, _State.books = _State.books, Books()
    try:
        with _OnCard():
            yield _State.books
    finally:
        _State.books = before


def install(free: int = 0) -> None:
    """Registers the card, once in a process; free: bytes of memory that it says are free."""
    backend_registration._setup_privateuseone_for_python_backend(NAME)
    library = torch.library.Library("aten", "IMPL")
    for name, kernel in _FROM_LISTS.items():
        library.impl(name, kernel, "PrivateUse1")
    _kept.append(library)
    import torch.optim.optimizer as optimizer

    optimizer._foreach_supported_types.append(CardTensor)
    real = torch.autograd.backward

    def backward(*args: Any, **kwargs: Any) -> None:
        _State.books.mark()
        real(*args, **kwargs)

    torch.autograd.backward = backward
    say_free(free)


def say_free(free: int) -> None:
    """From now on the memory that is free on any card is said to be `free` bytes."""
    told = lambda device=None: (free, 80 << 30)  # noqa: E731
    torch.cuda.mem_get_info = told
    module: Any = torch.get_device_module(NAME)
    module.mem_get_info = told


_kept: list[torch.library.Library] = []


# -- operators -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Schema:
    """writes: for each result the position and name of the argument that it is, or None."""

    name: str
    starts_nothing: bool
    writes: tuple[tuple[int, str] | None, ...]


@cache
def _schema(func: Any) -> _Schema:
    name, writes, view = func.overloadpacket.__name__, [], False
    for result in func._schema.returns:
        alias, found = result.alias_info, None
        if alias is not None and alias.is_write:
            found = next(
                (i, given.name)
                for i, given in enumerate(func._schema.arguments)
                if given.alias_info is not None
                and given.alias_info.is_write
                and set(given.alias_info.before_set) & set(alias.before_set)
            )
        view = view or (alias is not None and not alias.is_write)
        writes.append(found)
    return _Schema(name, view or name in _NO_KERNEL, tuple(writes))


def _run(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    schema, asked, own = _schema(func), kwargs.get("device"), dict(kwargs)
    found = [one for given in (*args, *kwargs.values()) for one in _flat(given)]
    on_card = [one for one in found if isinstance(one, CardTensor)]
    on_host = [one for one in found if isinstance(one, Tensor) and type(one) is not CardTensor]
    generators = [one for one in found if isinstance(one, torch.Generator)]
    result_on_card = bool(on_card) if asked is None else _on_card(asked)
    if result_on_card and asked is not None:
        own["device"] = torch.device("cpu")
    own.pop("pin_memory", None)
    check(schema.name, args, on_card, on_host, generators, result_on_card)
    _count(schema, args, kwargs, result_on_card)

    raw = [_mapped(_raw, given) for given in args]
    with _below():
        out = func(*raw, **{name: _mapped(_raw, given) for name, given in own.items()})
    if schema.name in ("_local_scalar_dense", "equal"):
        return out
    if any(schema.writes):
        return _written(schema, args, kwargs, out, result_on_card)
    if schema.name == "_to_copy" and out is raw[0]:
        out = out.clone()
    return _mapped(_wrapped, out) if result_on_card else out


def _written(
    schema: _Schema, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any, on_card: bool
) -> Any:
    """What an operator returns that writes to its arguments: those themselves."""
    results = [
        (_mapped(_wrapped, made) if on_card else made)
        if place is None
        else (args[place[0]] if place[0] < len(args) else kwargs[place[1]])
        for place, made in zip(
            schema.writes, out if len(schema.writes) > 1 else (out,), strict=True
        )
    ]
    return results[0] if len(results) == 1 else tuple(results)


def _count(
    schema: _Schema, args: Sequence[Any], kwargs: Mapping[str, Any], result_on_card: bool
) -> None:
    books, name = _State.books, schema.name
    if name == "_local_scalar_dense":
        books.wait("a number is read")
        return
    if name in COPIES:
        held = isinstance(args[0 if name == "_to_copy" else 1], CardTensor)
        to_card = result_on_card if name == "_to_copy" else isinstance(args[0], CardTensor)
        if held != to_card:
            at_once = kwargs.get("non_blocking", len(args) > 2 and bool(args[2]))
            books.copy("to the card" if to_card else "to the host", not (to_card and at_once))
        elif name == "_to_copy" or not _same(args[0].raw, args[1].raw):
            books.operators[name] += 1
        return
    if schema.starts_nothing:
        return
    books.operators[name] += 1
    indices = args[1] if name in INDEXING else ()
    for index in (one for one in indices if isinstance(one, Tensor)):
        if not isinstance(index, CardTensor):
            books.copy("to the card", waits=True)
        elif index.dtype in (torch.bool, torch.uint8):
            books.wait("rows by a mask")
    counting = name == "repeat_interleave" and kwargs.get("output_size") is None
    if name in _WAITING or counting:
        books.wait(name)


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether a copy between them is one onto itself, as `x[...] += y` ends: PyTorch skips it."""
    return (one.data_ptr(), one.shape, one.stride()) == (
        other.data_ptr(),
        other.shape,
        other.stride(),
    )


def _on_card(device: Any) -> bool:
    return device is not None and torch.device(device).type == NAME


def _flat(given: Any) -> Iterator[Any]:
    if isinstance(given, list | tuple):
        for one in given:
            yield from _flat(one)
    else:
        yield given


def _mapped(change: Callable[[Any], Any], given: Any) -> Any:
    if isinstance(given, list | tuple):
        return type(given)(_mapped(change, one) for one in given)
    return change(given)


def _raw(given: Any) -> Any:
    return given.raw if isinstance(given, CardTensor) else given


def _wrapped(made: Any) -> Any:
    plain = isinstance(made, Tensor) and not isinstance(made, CardTensor)
    return CardTensor(made) if plain else made


# -- Python lists that become tensors, which no mode sees ------------------------------------------


def _empty(size: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> CardTensor:
    with _below():
        return CardTensor(torch.empty(size, dtype=dtype))


def _empty_strided(
    size: Any, stride: Any, dtype: Any = None, *args: Any, **kwargs: Any
) -> CardTensor:
    with _below():
        return CardTensor(torch.empty_strided(size, stride, dtype=dtype))


def _copy_from(source: Tensor, target: Tensor, non_blocking: bool = False) -> Tensor:
    to_card = isinstance(target, CardTensor)
    if to_card and isinstance(source, CardTensor):
        _State.books.operators["copy_"] += 1
    else:
        _State.books.copy("to the card" if to_card else "to the host", True)
    with _below():
        _raw(target).copy_(_raw(source))
    return target


def _scalar(given: CardTensor) -> Any:
    _State.books.wait("a number is read")
    with _below():
        return given.raw.item()


_FROM_LISTS: Mapping[str, Callable[..., Any]] = {
    "_local_scalar_dense": _scalar,
    "empty_strided": _empty_strided,
    "empty.memory_format": _empty,
    "_copy_from": _copy_from,
}
