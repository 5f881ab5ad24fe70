"""State of a training as plain JSON and tensors, and back: nothing in a file is ever executed.

A tree is made of None, booleans, numbers, texts, tensors, arrays, lists, tuples, dictionaries (by
texts or whole numbers) and dataclasses. A dataclass is restored as the class of the same name of a
module that is loaded already and belongs to a named package. Neither its constructor nor its
`__post_init__` runs. A tensor keeps its strides: kernels choose the order of their sums by them.
Evidence: `tests/methods/test_checkpoints.py`.
"""

import sys
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Tree = Any
Bytes = NDArray[np.uint8]
_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.float16, torch.bfloat16, torch.float32, torch.float64,
    )
}  # fmt: skip
DAMAGED = (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError)
"""What `put_together` raises for what `taken_apart` did not give."""


def taken_apart(tree: Tree) -> tuple[Any, list[Bytes]]:
    """JSON, and the numbers of each tensor as bytes; of those on the CPU nothing is copied.
    Raises `TypeError` for anything that a tree cannot hold."""
    flat: list[Bytes] = []
    return _plain(tree, flat), flat


def put_together(
    plain: Any, flat: Sequence[Bytes], packages: Sequence[str], device: torch.device
) -> Tree:
    """The tree of which `taken_apart` made `plain` and `flat`; else one of `DAMAGED` is raised.
    `packages`: those whose dataclasses may be made. `device`: for tensors that were on no CPU."""
    if plain is None or isinstance(plain, bool | int | float | str):
        return plain

    def back(value: Any) -> Tree:
        return put_together(value, flat, packages, device)

    (kind, content), *others = plain.items()
    if others:
        raise ValueError("more than one kind")
    if kind == "list":
        return [back(value) for value in content]
    if kind == "tuple":
        return tuple(back(value) for value in content)
    if kind == "dict":
        return {back(name): back(value) for name, value in content}
    if kind == "tensor":
        return _tensor(content, flat, device)
    if kind == "array":
        return _tensor(content, flat, device).numpy()
    if kind == "object":
        return _object(content[0], content[1], {name: back(v) for name, v in content[2]}, packages)
    raise ValueError(f"no kind {kind!r}")


def _plain(tree: Tree, flat: list[Bytes]) -> Any:
    if tree is None or type(tree) in (bool, int, float, str):
        return tree
    if isinstance(tree, Tensor):
        return {"tensor": _numbered(tree.detach(), flat)}
    if type(tree) is np.ndarray:
        return {"array": _numbered(torch.from_numpy(np.ascontiguousarray(tree)), flat)}
    if type(tree) is list:
        return {"list": [_plain(value, flat) for value in tree]}
    if type(tree) is tuple:
        return {"tuple": [_plain(value, flat) for value in tree]}
    if type(tree) is dict:
        if not all(type(name) in (str, int) for name in tree):
            raise TypeError("a dictionary is named by something that is neither text nor a number")
        return {"dict": [[name, _plain(value, flat)] for name, value in tree.items()]}
    kind = type(tree)
    if is_dataclass(kind) and "<" not in kind.__qualname__:
        held = [[one.name, _plain(getattr(tree, one.name), flat)] for one in fields(kind)]
        return {"object": [kind.__module__, kind.__qualname__, held]}
    raise TypeError(f"{kind.__module__}.{kind.__qualname__} cannot be saved")


def _numbered(tensor: Tensor, flat: list[Bytes]) -> list[Any]:
    """Describes a tensor; its numbers, with the gaps between them, join `flat`."""
    if tensor.dtype not in _DTYPES.values() or tensor.layout != torch.strided:
        raise TypeError(f"tensors of {tensor.dtype} ({tensor.layout}) cannot be saved")
    shape, strides = list(tensor.shape), list(tensor.stride())
    reach = sum((size - 1) * step for size, step in zip(shape, strides, strict=True)) + 1
    numbers = tensor.as_strided((reach if tensor.numel() else 0,), (1,))
    flat.append(numbers.cpu().view(torch.uint8).numpy())
    dtype, is_here = str(tensor.dtype).removeprefix("torch."), tensor.device.type == "cpu"
    return [len(flat) - 1, dtype, shape, strides, is_here]


def _tensor(described: Any, flat: Sequence[Bytes], device: torch.device) -> Tensor:
    number, dtype, shape, strides, is_here = described
    if number < 0:
        raise ValueError("no tensor")
    if flat[number].dtype != np.uint8:
        raise TypeError("no bytes")
    raw = torch.empty(len(flat[number]), dtype=torch.uint8)
    numbers = raw.copy_(torch.from_numpy(flat[number])).view(_DTYPES[dtype])
    return torch.as_strided(numbers if is_here else numbers.to(device), shape, strides)


def _object(module: str, name: str, values: dict[str, Tree], packages: Sequence[str]) -> Tree:
    if not any(module == one or module.startswith(f"{one}.") for one in packages):
        raise ValueError(f"{module} is of no package that may be used")
    kind: Any = sys.modules[module]
    for part in name.split("."):
        kind = vars(kind)[part]
    if not isinstance(kind, type) or not is_dataclass(kind) or kind.__module__ != module:
        raise TypeError(f"{module}.{name} is no dataclass")
    if [one.name for one in fields(kind)] != list(values):
        raise ValueError(f"{module}.{name} has other fields")
    made = object.__new__(kind)
    for field, value in values.items():
        object.__setattr__(made, field, value)
    return made
