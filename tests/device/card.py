"""A device that only pretends, on which copies to and from the host and waits of the host count.

PyTorch lets a backend be written in Python (the dispatch key PrivateUse1). A `CardTensor` says that
it lies on the card, holds a tensor of the processor and computes with that. A copy moves numbers
between card and host. The host waits where a number is read, in a copy that is not `non_blocking`
or goes to the host, and for a result with as many rows as its data say.

`install` changes the whole process, so tests use a process of its own (`conftest.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode

NAME = "pretended"
_below: Any = torch._C._DisableTorchDispatch  # type: ignore[attr-defined]

_COPIES = {"_to_copy", "copy_", "copy", "_copy_from"}
_INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}
_WAITING = {
    *("nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "equal"),
    *("bincount", "is_nonzero", "histc", "linalg_lstsq", "_linalg_eigh", "_linalg_svd"),
    "_local_scalar_dense",
}


@dataclass(frozen=True)
class Totals:
    """Copies between card and host, and waits of the host."""

    copies: int = 0
    waits: int = 0

    def __sub__(self, other: Totals) -> Totals:
        return Totals(self.copies - other.copies, self.waits - other.waits)


@dataclass
class Books:
    """What is counted, and the totals at each backward pass."""

    copies: int = 0
    waits: int = 0
    marks: list[Totals] = field(default_factory=list)

    def totals(self) -> Totals:
        return Totals(self.copies, self.waits)

    def copy(self, waits: bool) -> None:
        self.copies += 1
        self.waits += waits

    def steps(self) -> list[Totals]:
        """What happened from each backward pass to the next."""
        return [after - before for before, after in zip(self.marks, self.marks[1:], strict=False)]


class CardTensor(Tensor):
    """A tensor of the processor, `raw`, that says it lies on the card."""

    raw: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, raw: Tensor, requires_grad: bool = False) -> CardTensor:
        place = {"strides": raw.stride(), "storage_offset": raw.storage_offset()}
        kind = {"dtype": raw.dtype, "layout": raw.layout, "device": torch.device(NAME, 0)}
        make: Any = torch.Tensor._make_wrapper_subclass  # type: ignore[attr-defined]
        return make(cls, raw.size(), **place, **kind, requires_grad=requires_grad)

    def __init__(self, raw: Tensor, requires_grad: bool = False) -> None:
        self.raw = raw

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"CardTensor({self.raw})"

    def tolist(self) -> Any:
        # PyTorch refuses subclasses here; of a real card it copies to the host.
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class _OnCard(TorchDispatchMode):
    """Sends operators that make tensors on the card, or mix tensors with its own, to `_run`."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _on_card(kwargs.get("device")) or CardTensor in types:
            return _run(func, args, kwargs)
        return func(*args, **kwargs)


class _State:
    books = Books()
    """The books that are open."""
    kept: list[torch.library.Library] = []  # noqa: RUF012


@contextmanager
def counted() -> Iterator[Books]:
    """For a block: the card can be used, and what is done on it goes into these books."""
    before, _State.books = _State.books, Books()
    try:
        with _OnCard():
            yield _State.books
    finally:
        _State.books = before


def install() -> None:
    torch.set_num_threads(1)
    backend_registration._setup_privateuseone_for_python_backend(NAME)
    library = torch.library.Library("aten", "IMPL")
    for name, kernel in _FROM_LISTS.items():
        library.impl(name, kernel, "PrivateUse1")
    _State.kept.append(library)
    import torch.optim.optimizer as optimizer

    optimizer._foreach_supported_types.append(CardTensor)
    real = torch.autograd.backward

    def backward(*args: Any, **kwargs: Any) -> None:
        _State.books.marks.append(_State.books.totals())
        real(*args, **kwargs)

    torch.autograd.backward = backward
    module: Any = torch.get_device_module(NAME)
    module.mem_get_info = lambda device=None: (78 << 30, 80 << 30)


@cache
def _writes(func: Any) -> tuple[tuple[int, str] | None, ...]:
    """For each result of an operator the position and name of the argument that it is, or None."""
    found: list[tuple[int, str] | None] = []
    for result in func._schema.returns:
        alias = result.alias_info
        found.append(
            None
            if alias is None or not alias.is_write
            else next(
                (i, given.name)
                for i, given in enumerate(func._schema.arguments)
                if given.alias_info is not None
                and given.alias_info.is_write
                and set(given.alias_info.before_set) & set(alias.before_set)
            )
        )
    return tuple(found)


def _run(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    name, asked, own = func.overloadpacket.__name__, kwargs.get("device"), dict(kwargs)
    found = [one for given in (*args, *kwargs.values()) for one in _flat(given)]
    on_card = any(isinstance(one, CardTensor) for one in found)
    result_on_card = on_card if asked is None else _on_card(asked)
    if result_on_card and asked is not None:
        own["device"] = torch.device("cpu")
    own.pop("pin_memory", None)
    _count(name, args, kwargs, result_on_card)

    raw = [_mapped(_raw, given) for given in args]
    with _below():
        out = func(*raw, **{key: _mapped(_raw, given) for key, given in own.items()})
    if name in ("_local_scalar_dense", "equal"):
        return out
    wrap = _wrapped if result_on_card else lambda made: made
    if any(_writes(func)):
        results = [
            _mapped(wrap, made)
            if place is None
            else (args[place[0]] if place[0] < len(args) else kwargs[place[1]])
            for place, made in zip(
                _writes(func), out if len(_writes(func)) > 1 else (out,), strict=True
            )
        ]
        return results[0] if len(results) == 1 else tuple(results)
    if name == "_to_copy" and out is raw[0]:
        out = out.clone()
    return _mapped(wrap, out)


def _count(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result_on_card: bool) -> None:
    books = _State.books
    if name in _COPIES:
        held = isinstance(args[0 if name == "_to_copy" else 1], CardTensor)
        to_card = result_on_card if name == "_to_copy" else isinstance(args[0], CardTensor)
        if held != to_card:
            at_once = kwargs.get("non_blocking", len(args) > 2 and bool(args[2]))
            books.copy(waits=not (to_card and at_once))
        return
    indices = args[1] if name in _INDEXING else ()
    for index in (one for one in indices if isinstance(one, Tensor)):
        if not isinstance(index, CardTensor):
            books.copy(waits=True)
        elif index.dtype in (torch.bool, torch.uint8):
            books.waits += 1
    counting = name == "repeat_interleave" and kwargs.get("output_size") is None
    books.waits += name in _WAITING or counting


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


def _empty(size: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> CardTensor:
    with _below():
        return CardTensor(torch.empty(size, dtype=dtype))


def _empty_strided(
    size: Any, stride: Any, dtype: Any = None, *args: Any, **kwargs: Any
) -> CardTensor:
    with _below():
        return CardTensor(torch.empty_strided(size, stride, dtype=dtype))


def _copy_from(source: Tensor, target: Tensor, non_blocking: bool = False) -> Tensor:
    if isinstance(source, CardTensor) != isinstance(target, CardTensor):
        _State.books.copy(waits=True)
    with _below():
        _raw(target).copy_(_raw(source))
    return target


def _scalar(given: CardTensor) -> Any:
    _State.books.waits += 1
    with _below():
        return given.raw.item()


_FROM_LISTS: Mapping[str, Callable[..., Any]] = {
    "_local_scalar_dense": _scalar,
    "empty_strided": _empty_strided,
    "empty.memory_format": _empty,
    "_copy_from": _copy_from,
}
