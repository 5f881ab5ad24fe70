"""The keys of a spec file, one strict model for each of its parts; nothing is expanded here."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)

from . import limits
from .choices import Unstated
from .fields import (
    Address,
    At,
    KindName,
    Label,
    Name,
    Number,
    PlotName,
    Settings,
    Text,
    plain,
    read_number,
    wrong,
)
from .model import Claim, Margin, Omission, Override, Relation
from .printed import Printed
from .problems import describe

Item = TypeVar("Item")
Many = Annotated[tuple[Item, ...], Field(strict=False)]
"""A list of the file."""


class Raw(BaseModel):
    """Strict and closed: no conversion, no unknown keys.

    A model is compiled when first used by itself; that of a whole file holds those of its parts.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, arbitrary_types_allowed=True, defer_build=True
    )


def read_printed(value: Any) -> Printed:
    """A number or text as it is printed; raises `PydanticCustomError` for everything else."""
    if isinstance(value, Printed):
        return value
    if not isinstance(value, str):
        number = read_number(value)
        return Printed(text=str(number), value=number)
    printed = Printed.parse(value)
    for number in filter(None, (printed.value, printed.sd)):
        read_number(number)
    return printed


class RawPrinted(Raw):
    """A published value with a note or with the range in which it lies."""

    value: Annotated[Printed, BeforeValidator(read_printed)]
    low: Number | None = None
    high: Number | None = None
    why: Text | None = None
    note: Text | None = None

    @model_validator(mode="after")
    def _has_a_whole_range(self) -> Self:
        low, high, value = self.low, self.high, self.value.value
        if (low is None) != (high is None):
            raise wrong("an uncertain value needs both low and high")
        if low is not None and high is not None:
            if self.why is None:
                raise wrong("an uncertain value needs 'why'")
            if value is None or not low <= value <= high:
                raise wrong(f"low {low} and high {high} must enclose the value {self.value.text}")
        return self

    @property
    def printed(self) -> Printed:
        """The value with its range."""
        return replace(self.value, low=self.low, high=self.high)


def _with_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    if isinstance(value, (str, int, Decimal)) and not isinstance(value, bool):
        return {"value": read_printed(value)}
    raise wrong(
        "a published value is a number, text or { value = ... }, "
        f"not {describe(value)} (write words and check marks as text)"
    )


Published = Annotated[RawPrinted, BeforeValidator(_with_keys)]


def _read_looks(looks: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
    """Looks rise, there is more than one, and what is trained by default is one of them."""
    trials, shown = info.data.get("trials"), list(looks)
    if len(looks) < 2:
        raise wrong("one look needs no declaration; give two or more, or none")
    if any(later <= one for one, later in pairwise(looks)):
        raise wrong(f"{shown} does not rise: a look adds trials to the one before")
    if trials is not None and trials not in looks:
        raise wrong(f"trials = {trials} is none of {shown}: a run would end between two looks")
    return looks


class RawLocalProfile(Raw):
    """What a row or column adds to a profile."""

    overrides: Many[Override] = ()


class RawTableProfile(RawLocalProfile):
    """What a table adds to a profile."""

    trials: Annotated[int, Field(ge=1, le=limits.TRIALS)] | None = None
    why: Text | None = None

    @model_validator(mode="after")
    def _has_a_reason(self) -> Self:
        if (self.trials is None) != (self.why is None):
            raise wrong("`trials` and `why` go together")
        return self


class RawProfile(RawLocalProfile):
    """A profile of a paper; `like` another one it runs the same, in trials of its own."""

    like: Name | None = None
    trials: Annotated[int, Field(ge=1, le=limits.TRIALS)]
    looks: Annotated[
        Many[Annotated[int, Field(ge=2, le=limits.TRIALS)]], AfterValidator(_read_looks)
    ] = ()
    series: Annotated[int, Field(ge=0, le=limits.TRIALS)] = 0
    omit: Many[Omission] = ()
    on: dict[Name, Many[Override]] = Field(default_factory=dict)


class RawColumn(Raw):
    """One column; keys that are not listed are experiment keys."""

    model_config = ConfigDict(extra="allow", strict=True)

    label: Label
    at: At | None = None
    metric: Name | None = None
    unit: str | None = None
    kind: KindName | None = None
    trial: Annotated[int, Field(ge=1)] | None = None
    formula: Name | None = None
    note: Text | None = None
    skip: Text | None = None
    margin: Margin | None = None
    profiles: dict[str, RawLocalProfile] = Field(default_factory=dict)

    @cached_property
    def experiment(self) -> dict[str, Any]:
        """The experiment keys that stand directly in the row or column."""
        experiment: dict[str, Any] = plain(self.model_extra or {})
        return experiment

    @property
    def binds(self) -> bool:
        """Whether it says anything of a run, or of where and what is read from one."""
        return bool(self.experiment) or self.at is not None or self.metric is not None


class RawRow(RawColumn):
    """One row, as a column; `published` has one entry per column."""

    published: list[Published] | None = None


class RawSd(Raw):
    """What the printed spreads are, as far as the paper says, and which tables lend theirs."""

    ddof: Literal[0, 1] | None = None
    runs: Annotated[int, Field(ge=2)] | None = None
    lenders: Many[Name] = Field(default=(), alias="from")
    why: Text | None = None

    @model_validator(mode="after")
    def _has_a_reason(self) -> Self:
        if self.lenders and self.why is None:
            raise wrong("a spread taken 'from' another table needs 'why'")
        if self.why is not None and not self.lenders:
            raise wrong("'why' is the reason for 'from', which is missing")
        return self


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

    table: Name
    title: Text
    section: Text
    kind: KindName
    metric: Name | None = None
    unit: str | None = None
    notes: Many[Text] = ()
    sd: RawSd | None = None
    experiment: Settings = Field(default_factory=dict)
    columns: Many[RawColumn] = ()
    rows: Annotated[Many[RawRow], Field(min_length=1)]
    margin: Margin | None = None
    claims: Many[Claim] = ()
    relations: Many[Relation] = ()
    unstated: Many[Unstated] = ()
    figure: RawFigure | None = None
    profiles: dict[str, RawTableProfile] = Field(default_factory=dict)


class RawPaper(Raw):
    """paper.toml."""

    id: Name
    title: Text
    authors: Text
    year: Annotated[int, Field(ge=1900)]
    venue: Text | None = None
    address: Address | None = None
    name: Text | None = None
    own: Many[Text] = ()
    baselines: Many[Text] = ()
    vocabulary: Many[Text] = ()
    experiment: Settings = Field(default_factory=dict)
    profiles: dict[Name, RawProfile]
    unstated: Many[Unstated] = ()
