"""The keys of a spec file, one strict model for each of its parts; nothing is expanded here."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError
from pydantic_core import PydanticCustomError

from fedrepro.benchmark.spec.messages import describe, message
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.spec.problems import dotted, suggestion

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


def _wrong(message: str) -> PydanticCustomError:
    return PydanticCustomError("spec", "{message}", {"message": message})


def _one_of(what: str, known: tuple[str, ...]) -> PlainValidator:
    def check(value: Any) -> str:
        if value not in known:
            near = suggestion(value, known) if isinstance(value, str) else ""
            raise _wrong(f"unknown {what} {describe(value)}{near}")
        return str(value)

    return PlainValidator(check)


def _read_at(value: Any) -> int | str:
    if value in ("final", "best") or (type(value) is int and value >= 1):
        return typing.cast("int | str", value)
    raise _wrong(f"must be a round counted from 1, 'final' or 'best', not {describe(value)}")


def _read_label(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else [value]
    for part in parts:
        if not isinstance(part, str) or not part.strip():
            raise _wrong(f"must be text or a list of text, not {describe(value)}")
        if "|" in part or "'" in part:
            raise _wrong(f"must not contain | or ' (claims name cells by labels): {part!r}")
    if not parts:
        raise _wrong("is empty")
    return tuple(parts)


def _read_number(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise _wrong(f"must be a number, not {describe(value)}")
    number = Decimal(value)
    if not number.is_finite():
        raise _wrong(f"must be finite, not {value}")
    return number


Text = Annotated[str, Field(min_length=1)]
Number = Annotated[Decimal, PlainValidator(_read_number)]
Label = Annotated[tuple[str, ...], PlainValidator(_read_label)]
At = Annotated[int | str, PlainValidator(_read_at)]
KindName = Annotated[str, _one_of("kind", KINDS)]
PlotName = Annotated[str, _one_of("plot", PLOTS)]
Experiment = dict[str, Any]


class Raw(BaseModel):
    """Strict and closed: no conversion, no unknown keys."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


class RawPrinted(Raw):
    """A published value with a note or with the range in which it lies."""

    value: Annotated[Printed, BeforeValidator(lambda value: _printed(value))]
    low: Number | None = None
    high: Number | None = None
    why: Text | None = None
    note: Text | None = None


def _printed(value: Any) -> Printed:
    if isinstance(value, str):
        return Printed.parse(value)
    if isinstance(value, Printed):
        return value
    number = _read_number(value)
    return Printed(text=str(number), value=number)


def read_published(value: Any) -> tuple[Printed, str | None]:
    """A published entry as what is printed and the note attached to it."""
    if not isinstance(value, dict):
        if isinstance(value, (str, int, Decimal)) and not isinstance(value, bool):
            return _printed(value), None
        raise _wrong(
            "a published value is a number, text or { value = ... }, "
            f"not {describe(value)} (write words and check marks as text)"
        )
    try:
        raw = RawPrinted.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        name = "" if first["type"] == "missing" else f"{dotted(first['loc'])}: "
        raise _wrong(name + message(first, RawPrinted)) from None
    low, high = raw.low, raw.high
    if (low is None) != (high is None):
        raise _wrong("an uncertain value needs both low and high")
    printed = raw.value
    if low is not None and high is not None:
        if raw.why is None:
            raise _wrong("an uncertain value needs 'why'")
        if printed.value is None or not low <= printed.value <= high:
            raise _wrong(f"low {low} and high {high} must enclose the value {printed.text}")
        printed = Printed(
            printed.text, printed.value, printed.sd, printed.approximate, low=low, high=high
        )
    notes = [note for note in (raw.why, raw.note) if note]
    return printed, "; ".join(notes) or None


Published = Annotated[tuple[Printed, str | None], PlainValidator(read_published)]


class RawOverride(Raw):
    """A change that a profile makes."""

    path: Text
    why: Text
    value: Any = None
    divide: Number | None = None
    replace: dict[str, Any] | None = None


class RawOmission(Raw):
    """Cells that a profile does not run: those whose setting has that value."""

    path: Text
    value: Any
    why: Text


class RawLocalProfile(Raw):
    """What a table, row or column adds to a profile."""

    overrides: list[RawOverride] = Field(default_factory=list)


class RawProfile(RawLocalProfile):
    """A profile of a paper."""

    trials: Annotated[int, Field(ge=1)]
    omit: list[RawOmission] = Field(default_factory=list)
    on: dict[str, list[RawOverride]] = Field(default_factory=dict)


class RawMargin(Raw):
    """How close is close enough, and why."""

    value: Annotated[Number, Field(gt=0)]
    reason: Text


class RawBinding(Raw):
    """What rows and columns share; keys that are not listed are experiment keys."""

    model_config = ConfigDict(extra="allow", strict=True)

    label: Label
    at: At | None = None
    metric: Text | None = None
    unit: str | None = None
    kind: KindName | None = None
    trial: Annotated[int, Field(ge=1)] | None = None
    formula: Text | None = None
    note: Text | None = None
    skip: Text | None = None
    margin: RawMargin | None = None
    profiles: dict[str, RawLocalProfile] = Field(default_factory=dict)

    @property
    def experiment(self) -> Mapping[str, Any]:
        """The experiment keys that stand directly in the row or column."""
        return self.model_extra or {}

    @property
    def binds(self) -> bool:
        """Whether it says anything of a run, or of where and what is read from one."""
        return bool(self.experiment) or self.at is not None or self.metric is not None


class RawColumn(RawBinding):
    """One column."""


class RawRow(RawBinding):
    """One row; `published` has one entry per column."""

    published: list[Published] | None = None


class RawSd(Raw):
    """What the printed spreads are, as far as the paper says."""

    ddof: Literal[0, 1] | None = None
    runs: Annotated[int, Field(ge=2)] | None = None


class RawStatement(Raw):
    """What claims and relations share."""

    id: Text
    says: Text
    holds: Text
    where: Text | None = None
    note: Text | None = None


class RawClaim(RawStatement):
    """A comparison that the text makes."""

    vague: Text | None = None
    reading_of: Text | None = None


class RawRelation(RawStatement):
    """What a formula says of the cells of every row."""

    rows: list[Text] = Field(default_factory=list)
    columns: list[Text] = Field(default_factory=list)


class RawUnstated(Raw):
    """A setting that the paper does not give."""

    setting: Text
    taken: Text
    why: Text


class RawFigure(Raw):
    """How a figure is drawn from runs."""

    plot: PlotName
    split: Annotated[int, Field(ge=0)] | None = None
    trial: Annotated[int, Field(ge=0)] | None = None
    x: Text | None = None
    y: Text | None = None
    x_label: Text | None = None
    y_label: Text | None = None


class RawTable(Raw):
    """One table or figure."""

    table: Text
    title: Text
    section: Text
    kind: KindName
    metric: Text | None = None
    unit: str | None = None
    notes: list[Text] = Field(default_factory=list)
    sd: RawSd | None = None
    experiment: Experiment = Field(default_factory=dict)
    columns: list[RawColumn] = Field(default_factory=list)
    rows: Annotated[list[RawRow], Field(min_length=1)]
    margin: RawMargin | None = None
    claims: list[RawClaim] = Field(default_factory=list)
    relations: list[RawRelation] = Field(default_factory=list)
    unstated: list[RawUnstated] = Field(default_factory=list)
    figure: RawFigure | None = None
    profiles: dict[str, RawLocalProfile] = Field(default_factory=dict)


class RawPaper(Raw):
    """paper.toml."""

    id: Text
    title: Text
    authors: Text
    year: Annotated[int, Field(ge=1900)]
    venue: Text | None = None
    vocabulary: list[Text] = Field(default_factory=list)
    experiment: Experiment = Field(default_factory=dict)
    profiles: dict[str, RawProfile]
    unstated: list[RawUnstated] = Field(default_factory=list)
