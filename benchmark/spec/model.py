"""A table spec: the keys of its files, and the cells to which they expand.

Each class is what pydantic reads from a file and what the rest of the package uses. Fields that are
`Filled` are no keys of a file: `spec.expand` fills them in. Everything is frozen and holds no
result. Numbers stay as printed (`spec.printed`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from . import fields, limits
from .choices import Unstated
from .fields import At, Count, InFile, Label, Name, Published, Setting, Settings, Text, Truth
from .printed import Printed, Rule, closed_ends
from .problems import Filled

CellKey = tuple[str, Label, Label]
Experiment = Mapping[str, Any]
"""A nested mapping: method, clients, encoder, head, pretraining, training, evaluation."""


class Origin(NamedTuple):
    """Where a setting comes from.

    `layer`: `authors`, `paper`, `table`, `column`, `row`, `reading`, `profile` or `set`; of a
    setting that none gives `default`, or `method` where that decides it; `unstated` of an open
    choice. `text`: the authors' source, the alternative's name, the reason of a change, a default's
    module."""

    layer: str
    text: str = ""


@dataclass(frozen=True)
class Margin(InFile):
    """How far a reproduced mean may lie from the printed value, in the table's unit, and why."""

    value: fields.Above0
    reason: Text


@dataclass(frozen=True)
class Override(InFile):
    """A change of a profile to one setting, and why it is made.

    `path`: dotted; `at` is the round that is read. Exactly one of: value, the new one; divide, what
    the cell's own value is divided by; replace, the new value by the cell's own (as text). `where`:
    a path and the values of which it must have one already, or nothing is changed. Raises
    `ValueError` unless exactly one of the three is given."""

    path: Text
    why: Text
    value: Setting = None
    divide: fields.Divisor | None = None
    replace: Settings | None = None
    where: Annotated[tuple[Text, ...], Field(min_length=2)] | None = None

    def __post_init__(self) -> None:
        if sum(way is not None for way in (self.value, self.divide, self.replace)) != 1:
            raise ValueError("give exactly one of value, divide and replace")


@dataclass(frozen=True)
class Omission(InFile):
    """Cells that a profile does not run: those where `path` has `value`, and why."""

    path: Text
    value: Setting
    why: Text


@dataclass(frozen=True)
class LocalProfile(InFile):
    """What a table, row or column adds to a profile; `omit`: why it does not run the cells."""

    overrides: tuple[Override, ...] = ()
    omit: Text | None = None


@dataclass(frozen=True)
class Control(InFile):
    """That a comparison's outcome is known from outside of the paper.

    `least`: what the difference must exceed, in the table's unit. `source`: where it is known from.
    """

    least: fields.Above0
    source: Text


@dataclass(frozen=True)
class _Stated(InFile):
    """What the paper's text states of cells, in our words and as an expression. `vague`: words of
    the text without a sharp bound, where the expression gives one, or that can be read
    otherwise."""

    id: Text
    says: Text
    holds: Text
    where: Text | None = None
    note: Text | None = None
    vague: Text | None = None


@dataclass(frozen=True)
class Claim(_Stated):
    """A comparison that the paper's text makes.

    `reading_of`: the claim, of the same table, whose sentence this one reads in another way.
    `every_trial`: whether the text says it of each single trial, not of their mean. `headline`: of
    a claim of abstract or conclusion, what it says as a clause (`it beats FedAvg`). `rests_on`:
    what the data must have: `headroom`, so that learned features can beat random ones. `control`:
    given where this is no claim of the paper but a positive control."""

    reading_of: Text | None = None
    every_trial: Truth = False
    headline: Text | None = None
    rests_on: Literal["headroom"] | None = None
    control: Control | None = None


@dataclass(frozen=True)
class Relation(_Stated):
    """What a formula says of printed cells, for every `{row}` or `{column}` that `holds` names.

    `rows`: patterns of those that it is about, or all. Where it is vague, cells that do not obey
    contradict no more than the spec."""

    rows: tuple[Text, ...] = ()


@dataclass(frozen=True)
class TableColumn(InFile):
    """One column. In a file its experiment keys stand directly in it."""

    label: Label
    at: At | None = None
    metric: Name | None = None
    unit: str | None = None
    kind: fields.CellKind | None = None
    trial: Count | None = None
    formula: Name | None = None
    note: Text | None = None
    skip: Text | None = None
    margin: Margin | None = None
    profiles: Mapping[str, LocalProfile] = field(default_factory=dict)
    experiment: Settings = field(default_factory=dict)

    @property
    def binds(self) -> bool:
        return bool(self.experiment) or self.at is not None or self.metric is not None


@dataclass(frozen=True)
class TableRow(TableColumn):
    """One row, as a column; `published` has one entry per column."""

    published: tuple[Published, ...] | None = None


KEYS = frozenset(TableRow.__dataclass_fields__) - {"experiment"}
"""The keys of a row or column that are no settings."""


def _gathered(data: Any) -> Any:
    """A row or column with the settings that stand directly in it under `experiment`."""
    if not isinstance(data, dict):
        return data
    own = {key: value for key, value in data.items() if key in KEYS}
    return {**own, "experiment": {key: data[key] for key in data if key not in own}}


@dataclass(frozen=True)
class Sd(InFile):
    """What the printed spreads are, as far as the paper says.

    `ddof`, `runs`: their kind, and how many runs are behind them. `sources`: the tables whose
    spreads stand for the same experiments here, where this one prints none."""

    ddof: Literal[0, 1] | None = None
    runs: Annotated[Count, Field(ge=2)] | None = None
    sources: Annotated[tuple[Name, ...], Field(alias="from")] = ()
    why: Text | None = None

    def __post_init__(self) -> None:
        if self.sources and self.why is None:
            raise ValueError("a spread taken 'from' another table needs 'why'")
        if self.why is not None and not self.sources:
            raise ValueError("'why' is the reason for 'from', which is missing")


@dataclass(frozen=True)
class Cell:
    """One printed value and the whole experiment that it is bound to.

    A run that a figure draws is one, too; nothing is printed, and its column may have no label.
    `margin`: of the cell's row or column. `skip`: why the value is not an experiment (quoted from
    another paper, say). Skipped and descriptive cells and printed dashes have an empty experiment.
    A cell whose printed text is empty has one: a claim is about what is measured there. `read`:
    which number of a run it shows: that of a round counted from 1, of the last one, or of the best
    round of the mean over clients. `origin`: by path, where each setting comes from. `omitted`: by
    profile, why that does not run it."""

    paper: str
    table: str
    row: tuple[str, ...]
    column: tuple[str, ...]
    kind: str
    metric: str | None
    unit: str | None
    printed: Printed
    read: int | Literal["final", "best"]
    experiment: Experiment
    overrides: Mapping[str, tuple[Override, ...]] = field(default_factory=dict)
    trial: int | None = None
    formula: str | None = None
    note: str | None = None
    skip: str | None = None
    margin: Margin | None = None
    origin: Mapping[str, Origin] = field(default_factory=dict)
    omitted: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> CellKey:
        """What tells it from others of its paper."""
        return self.table, self.row, self.column

    @property
    def label(self) -> str:
        """`row @ column`, as claims and messages name the cell."""
        return f"{'|'.join(self.row)} @ {'|'.join(self.column)}"

    @property
    def parts(self) -> Label:
        return self.row + self.column

    @property
    def is_count(self) -> bool:
        """Whether it prints a count (of rounds, images, clusters), which nobody rounds. That is a
        whole number without a unit, with all of its digits, that was not measured."""
        value = self.printed.value
        exact = value is not None and value.as_tuple().exponent == 0
        uncertain = self.printed.approximate or self.printed.low is not None
        return exact and not self.unit and self.kind != "empirical" and not uncertain

    @cached_property
    def bounds(self) -> tuple[Decimal, Decimal]:
        """The closed interval of values that print like it; of a count, the count itself. Raises
        `ValueError` for a cell without a number."""
        value = self.printed.value if self.is_count else None
        return self.printed.bounds if value is None else (value, value)

    def closed_ends(self, rule: Rule) -> tuple[bool, bool]:
        """Whether the ends of `bounds` print like the cell under a rule of rounding."""
        value, uncertain = self.printed.value, self.printed.low is not None
        if value is None or uncertain or self.is_count:
            return True, True
        return closed_ends(value, rule)


@dataclass(frozen=True)
class Figure(InFile):
    """How a figure is drawn from runs (docs/spec-format.md).

    `runs`: the rows that print no values, by column where there are columns, in order."""

    plot: fields.PlotName
    split: Annotated[Count, Field(ge=0)] = 0
    x: Text = "x"
    y: Text = "y"
    x_label: Text | None = None
    y_label: Text | None = None
    runs: Annotated[tuple[Cell, ...], Filled] = ()


def _by_profile(value: Any) -> Any:
    """Turns a list of profiles into a table that says no more of each."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return {name: {} for name in value}
    return value


@dataclass(frozen=True)
class Table(InFile):
    """One table or figure of a paper. Its file is bound to experiments row by row in `cells`. One
    of the kind `control` is no table of the paper. It is there under `profiles` alone."""

    id: Annotated[Name, Field(alias="table")]
    title: Text
    section: Text
    kind: fields.TableKind
    metric: Name | None = None
    unit: str | None = None
    notes: tuple[Text, ...] = ()
    sd: Sd = field(default_factory=Sd)
    experiment: Settings = field(default_factory=dict)
    column_entries: Annotated[
        tuple[Annotated[TableColumn, BeforeValidator(_gathered)], ...], Field(alias="columns")
    ] = ()
    row_entries: Annotated[
        tuple[Annotated[TableRow, BeforeValidator(_gathered)], ...],
        fields.NotEmpty,
        Field(alias="rows", validate_default=True),
    ] = ()
    margin: Margin | None = None
    claims: tuple[Claim, ...] = ()
    relations: tuple[Relation, ...] = ()
    unstated: tuple[Unstated, ...] = ()
    figure: Figure | None = None
    profiles: Annotated[Mapping[str, LocalProfile], BeforeValidator(_by_profile)] = field(
        default_factory=dict
    )
    paper: Annotated[str, Filled] = ""
    cells: Annotated[tuple[Cell, ...], Filled] = ()
    file: Annotated[Path, Filled] = Path()

    @cached_property
    def rows(self) -> tuple[Label, ...]:
        """The labels of its rows that print values, in order."""
        return tuple(dict.fromkeys(cell.row for cell in self.cells))

    @cached_property
    def columns(self) -> tuple[Label, ...]:
        """The labels of its columns, in order."""
        return tuple(dict.fromkeys(cell.column for cell in self.cells))

    @cached_property
    def by_place(self) -> Mapping[tuple[Label, Label], Cell]:
        return {(cell.row, cell.column): cell for cell in self.cells}

    @property
    def is_control(self) -> bool:
        """Whether it holds positive controls, and nothing that the paper prints."""
        return self.kind == "control"

    @property
    def drawn(self) -> tuple[Cell, ...]:
        return () if self.figure is None else self.figure.runs

    def spread_of(self, cell: Cell) -> str:
        """How exact a printed value is, as far as the spec says."""
        at, sd = cell.printed, self.sd
        lent = ", ".join(sd.sources) or None
        told = {"sd": at.sd, "runs": sd.runs, "ddof": sd.ddof, "low": at.low, "high": at.high}
        given = {**told, "from": lent}.items()
        return ", ".join(f"{key} {value}" for key, value in given if value is not None)

    def margin_of(self, cell: Cell) -> Margin | None:
        """How close is close enough for a cell: its own margin, else the table's in its unit. What
        is recomputed has none: it prints as published or it does not."""
        if cell.margin is not None or cell.kind == "analytic":
            return cell.margin
        return self.margin if (cell.unit or "") == (self.unit or "") else None


@dataclass(frozen=True)
class Profile(InFile):
    """How much is run: trials, overrides over every experiment, and replacements of data sets.

    `looks`: Numbers of trials of its interim analyses, rising. None means one, with `trials`.
    `like`: The profile from which it has overrides, data sets and omissions. `omit`: Cells that it
    does not run, besides those of tables, rows and columns that say so. `whole`: Whether it runs
    the cells, too, that the profile that it is like leaves out. `on`: Per data-set name of `--on`,
    the overrides that put the profile on that set. `data`: The one of these that it runs on unless
    another is named. `misses`: Which condition of the choice of its data is not met."""

    trials: fields.TrialCount
    looks: fields.Looks = ()
    series: Annotated[Count, Field(ge=0, le=limits.TRIALS)] = 0
    like: Name | None = None
    overrides: tuple[Override, ...] = ()
    omit: tuple[Omission, ...] = ()
    whole: bool = False
    on: Mapping[Name, tuple[Override, ...]] = field(default_factory=dict)
    data: Name | None = None
    misses: Text | None = None
    name: Annotated[str, Filled] = "as published"

    @property
    def source(self) -> str:
        """The profile that says what it runs: itself, or the one that it is like."""
        return self.like or self.name

    @property
    def last_look(self) -> int | None:
        """With how many trials a cell is judged; None without declared interim analyses."""
        return max(self.looks, default=None)

    def why_left_out(self, cell: Cell) -> str | None:
        """Why it does not run a cell, as the cell's table, row or column says."""
        return None if self.whole else cell.omitted.get(self.source)


def matches(pattern: str, label: Sequence[str]) -> bool:
    """Whether a label is one of a pattern `A|*`: its parts, or `*` for any."""
    parts = [part.strip() for part in pattern.split("|")]
    return len(parts) == len(label) and all(
        part in ("*", name) for part, name in zip(parts, label, strict=True)
    )


AS_PUBLISHED = Profile(1)
"""Runs every experiment as the paper has it."""


@dataclass(frozen=True, eq=False)
class Paper(InFile):
    """A paper: its tables, profiles and the choices that hold for all of them.

    `name`: as it calls its method, in short. `own`, `baselines`: patterns of the rows of methods
    that it proposes, and of those that it compares them with; leads are taken between the two.
    `readings`: the alternatives under which its cells are bound (`spec.readings`). `as_taken`: the
    paper without these; None where there are none."""

    id: Name
    title: Text
    authors: Text
    year: Annotated[Count, Field(ge=1900)]
    profiles: Mapping[Name, Profile]
    venue: Text | None = None
    address: fields.Address | None = None
    name: str = ""
    own: tuple[Text, ...] = ()
    baselines: tuple[Text, ...] = ()
    experiment: Settings = field(default_factory=dict)
    unstated: tuple[Unstated, ...] = ()
    tables: Annotated[tuple[Table, ...], Filled] = ()
    file: Annotated[Path, Filled] = Path()
    readings: Annotated[tuple[str, ...], Filled] = ()
    as_taken: Annotated["Paper | None", Filled] = None

    @property
    def printed(self) -> tuple[Table, ...]:
        """Its tables and figures, controls left out."""
        return tuple(one for one in self.tables if not one.is_control)

    def under(self, profile: Profile) -> "Paper":
        """The paper without the controls that a profile does not run."""
        kept = (one for one in self.tables if not one.is_control or profile.source in one.profiles)
        return replace(self, tables=tuple(kept))

    def is_baseline(self, row: str) -> bool:
        """Whether a row, as `A|B`, is one of the methods that the paper compares its own with."""
        return any(matches(pattern, row.split("|")) for pattern in self.baselines)

    def table(self, id: str) -> Table:
        """The table called `id` ("3", "B.14", "figure-4"); `KeyError` if there is none."""
        return {table.id: table for table in self.tables}[id]
