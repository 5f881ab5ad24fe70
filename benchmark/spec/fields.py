"""What a single value of a spec may be, as types that pydantic checks."""

from __future__ import annotations

import re
import typing
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator
from pydantic_core import PydanticCustomError

from . import limits
from .problems import describe, suggestion

KINDS = ("empirical", "analytic", "descriptive")
PLOTS = (
    "curves",
    "choices",
    "class-counts",
    "embedding",
    "client-embeddings",
    "scatter",
    "pictures",
)


ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+(?:/[A-Za-z0-9._~:/?#@!$&()*+,;=%-]*)?")
"""What may be the target of a link: a secure web address in plain letters."""


def wrong(message: str) -> PydanticCustomError:
    """An error of a validator, with the words for the author of the spec."""
    return PydanticCustomError("spec", "{message}", {"message": message})


def _one_of(what: str, known: tuple[str, ...]) -> PlainValidator:
    def check(value: Any) -> str:
        if value not in known:
            near = suggestion(value, known) if isinstance(value, str) else ""
            raise wrong(f"unknown {what} {describe(value)}{near}")
        return str(value)

    return PlainValidator(check)


def _read_name(text: str) -> str:
    problem = limits.name_problem(text)
    if problem is not None:
        raise wrong(problem)
    return text


def _read_address(text: str) -> str:
    if not ADDRESS.fullmatch(text):
        raise wrong(f"must be an address such as https://doi.org/10.1000/182, not {text!r}")
    return text


def _read_at(value: Any) -> int | Literal["final", "best"]:
    if value in ("final", "best") or (type(value) is int and 1 <= value <= limits.SETTING):
        return typing.cast('int | Literal["final", "best"]', value)
    raise wrong(f"must be a round counted from 1, 'final' or 'best', not {describe(value)}")


def _read_label(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else [value]
    for part in parts:
        if not isinstance(part, str) or not part.strip():
            raise wrong(f"must be text or a list of text, not {describe(value)}")
        if "|" in part or "'" in part:
            raise wrong(f"must not contain | or ' (claims name cells by labels): {part!r}")
    if not parts:
        raise wrong("is empty")
    return tuple(parts)


def read_number(value: Any) -> Decimal:
    """A whole number or decimal within `spec.limits`.

    Raises `PydanticCustomError`, a `ValueError`, for everything else.
    """
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise wrong(f"must be a number, not {describe(value)}")
    problem = limits.number_problem(value)
    if problem is not None:
        raise wrong(problem)
    return Decimal(value)


def _read_divisor(value: Any) -> float:
    least, most = limits.DIVISORS
    if not least <= read_number(value) <= most:
        raise wrong(f"must lie between {least} and {most}, not {value}")
    return float(value)


def plain(value: Any) -> Any:
    """A setting: decimals become floats, since settings are numbers and not print."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1), AfterValidator(_read_name)]
"""Text that may become a file name or a module name."""
Address = Annotated[str, AfterValidator(_read_address)]
Number = Annotated[Decimal, PlainValidator(read_number)]
Above0 = Annotated[float, PlainValidator(read_number), Field(gt=0), AfterValidator(float)]
Divisor = Annotated[float, PlainValidator(_read_divisor)]
Label = Annotated[tuple[str, ...], PlainValidator(_read_label)]
At = Annotated[int | Literal["final", "best"], PlainValidator(_read_at)]
KindName = Annotated[str, _one_of("kind", KINDS)]
PlotName = Annotated[str, _one_of("plot", PLOTS)]
Setting = Annotated[Any, AfterValidator(plain)]
Settings = Annotated[dict[str, Any], AfterValidator(plain)]
