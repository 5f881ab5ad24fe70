"""Values of a spec in the types that options are declared with."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from fedrepro.benchmark.errors import SpecError


def coerce(value: Any, hint: Any, where: str) -> Any:
    """`value` in the type `hint`, or a `SpecError` that begins with `where`."""
    made = coerced(value, hint)
    if made is WRONG:
        raise SpecError(f"{where} must be {_describe(hint)}, not {_shown(value)}".lstrip())
    return made


WRONG = object()
"""What `coerced` gives for a value that does not fit."""
_PLAIN = (str, int, bool)
"""Types of which every value fits as it is; most settings are of one."""


def coerced(value: Any, hint: Any) -> Any:
    """`value` in the type `hint`, or `WRONG`."""
    if hint in _PLAIN and type(value) is hint:
        return value
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(value, Decimal):
        value = float(value)
    if hint is Any:
        return tuple(value) if isinstance(value, list) else value
    if origin in (typing.Union, types.UnionType):
        made = [coerced(value, argument) for argument in arguments]
        exact = [m for m in made if m is not WRONG and type(m) is type(value)]
        return next(iter(exact + [m for m in made if m is not WRONG]), WRONG)
    if origin is typing.Literal:
        return value if any(value == a and type(value) is type(a) for a in arguments) else WRONG
    if hint in (tuple, list) or (isinstance(origin, type) and issubclass(origin, Sequence)):
        return _coerced_items(value, arguments)
    if hint is type(None):
        return None if value is None else WRONG
    return _coerced_scalar(value, hint)


def _coerced_items(value: Any, arguments: tuple[Any, ...]) -> Any:
    if not isinstance(value, (list, tuple)):
        return WRONG
    fixed = len(arguments) > 1 and arguments[-1] is not Ellipsis
    if fixed and len(value) != len(arguments):
        return WRONG
    hints = arguments if fixed else [arguments[0] if arguments else Any] * len(value)
    items = tuple(coerced(item, hint) for item, hint in zip(value, hints, strict=True))
    return WRONG if any(item is WRONG for item in items) else items


def _coerced_scalar(value: Any, hint: Any) -> Any:
    if hint is bool:
        return value if isinstance(value, bool) else WRONG
    if isinstance(value, bool):
        return WRONG
    if hint is int:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return value if isinstance(value, int) else WRONG
    if hint is float:
        finite = isinstance(value, (int, float)) and math.isfinite(value)
        return float(value) if finite else WRONG
    return value if isinstance(hint, type) and isinstance(value, hint) else WRONG


def _describe(hint: Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return "one of " + ", ".join(repr(a) for a in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_describe(a) for a in arguments if a is not type(None))
    if isinstance(origin, type) and issubclass(origin, Sequence):
        kinds = [a for a in arguments if a is not Ellipsis]
        return f"a list ({', '.join(_describe(a) for a in kinds)})"
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    return words.get(hint, getattr(hint, "__name__", str(hint)))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (Decimal, tuple)) else repr(value)
