"""What a single value of a spec may be, as types that pydantic checks."""

import re
import typing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, ValidationInfo

from . import limits
from .printed import Printed
from .problems import describe

ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+(?:/[A-Za-z0-9._~:/?#@!$&()*+,;=%-]*)?")
"""What may be the target of a link: a secure web address in plain letters."""


def _read_name(text: str) -> str:
    if problem := limits.name_problem(text):
        raise ValueError(problem)
    return text


def _read_address(text: str) -> str:
    if not ADDRESS.fullmatch(text):
        raise ValueError(f"must be an address such as https://doi.org/10.1000/182, not {text!r}")
    return text


def _read_at(value: Any) -> int | Literal["final", "best"]:
    if value in ("final", "best") or (type(value) is int and 1 <= value <= limits.SETTING):
        return typing.cast('int | Literal["final", "best"]', value)
    raise ValueError(f"must be a round counted from 1, 'final' or 'best', not {describe(value)}")


def _read_label(value: Any) -> tuple[str, ...]:
    parts = _refuse_empty(value if isinstance(value, list) else [value])
    for part in parts:
        if not isinstance(part, str) or not part.strip():
            raise ValueError(f"must be text or a list of text, not {describe(value)}")
        if "|" in part or "'" in part:
            raise ValueError(f"must not contain | or ' (claims name cells by labels): {part!r}")
    return tuple(parts)


def read_number(value: Any) -> Decimal:
    """A whole number or decimal within `spec.limits`; raises `ValueError` for everything else."""
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise ValueError(f"must be a number, not {describe(value)}")
    if problem := limits.number_problem(value):
        raise ValueError(problem)
    return Decimal(value)


def _read_looks(looks: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
    """Interim analyses rise, are more than one, and have the default number of trials in them."""
    trials, shown = info.data.get("trials"), list(looks)
    if len(looks) < 2:
        raise ValueError("give two or more numbers of trials, or leave looks out")
    if shown != sorted(set(looks)):
        raise ValueError(f"must rise, since each interim analysis adds trials, not {shown}")
    if trials not in (None, *looks):
        raise ValueError(f"trials = {trials} must be one of them, {shown}")
    return looks


def _refuse_empty(value: Any) -> Any:
    if value in ([], ()):
        raise ValueError("is empty")
    return value


def plain(value: Any) -> Any:
    """A setting: decimals become floats, since settings are not printed numbers."""
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
Truth = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True)]
TrialCount = Annotated[Count, Field(ge=1, le=limits.TRIALS)]
Looks = Annotated[
    tuple[Annotated[Count, Field(ge=2, le=limits.TRIALS)], ...], AfterValidator(_read_looks)
]
NotEmpty = BeforeValidator(_refuse_empty)
Above0 = Annotated[float, PlainValidator(read_number), Field(gt=0), AfterValidator(float)]
Divisor = Annotated[Above0, Field(ge=limits.DIVISORS[0], le=limits.DIVISORS[1])]
Label = Annotated[tuple[str, ...], PlainValidator(_read_label)]
At = Annotated[int | Literal["final", "best"], PlainValidator(_read_at)]
CellKind = Literal["empirical", "analytic", "descriptive"]
TableKind = Literal["empirical", "analytic", "descriptive", "control"]
PlotName = Literal[
    "curves", "choices", "class-counts", "embedding", "client-embeddings", "scatter", "pictures"
]
Setting = Annotated[Any, AfterValidator(plain)]
Settings = Annotated[dict[str, Any], AfterValidator(plain)]


class InFile:
    """A part of a file, as it stands there: unknown keys are errors."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}


def read_printed(value: Any) -> Printed:
    """A number or text as it is printed; raises `ValueError` for everything else."""
    if not isinstance(value, str):
        number = read_number(value)
        return Printed(text=str(number), value=number)
    printed = Printed.parse(value)
    for number in filter(None, (printed.value, printed.sd)):
        read_number(number)
    return printed


_Decimal = Annotated[Decimal, PlainValidator(read_number)]


@dataclass(frozen=True)
class PublishedEntry(InFile):
    """A published value with a note or with the range in which it lies."""

    value: Annotated[Printed, PlainValidator(read_printed)]
    low: _Decimal | None = None
    high: _Decimal | None = None
    why: Text | None = None
    note: Text | None = None

    def __post_init__(self) -> None:
        low, high, value = self.low, self.high, self.value.value
        if (low is None) != (high is None):
            raise ValueError("an uncertain value needs both low and high")
        if low is not None and high is not None:
            if self.why is None:
                raise ValueError("an uncertain value needs 'why'")
            if value is None or not low <= value <= high:
                said = f"low {low} and high {high} must enclose the value {self.value.text}"
                raise ValueError(said)

    @property
    def printed(self) -> Printed:
        return replace(self.value, low=self.low, high=self.high)


def _with_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    if isinstance(value, (str, int, Decimal)) and not isinstance(value, bool):
        return {"value": value}
    said = f"a published value is a number, text or {{ value = ... }}, not {describe(value)}"
    raise ValueError(f"{said} (write words and check marks as text)")


Published = Annotated[PublishedEntry, BeforeValidator(_with_keys)]
