"""What a table spec becomes once it is read: papers, tables, cells and claims.

Everything here is frozen and holds no result. Numbers stay as printed (`benchmark.spec.printed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from .choices import CLOSED, Unstated
from .fields import (
    Above0,
    Divisor,
    Setting,
    Settings,
    Text,
    wrong,
)
from .printed import Printed, Rule, closed_ends

Kind = Literal["empirical", "analytic", "descriptive"]
Label = tuple[str, ...]
Experiment = Mapping[str, Any]
"""A nested mapping: method, clients, encoder, head, pretraining, training, evaluation."""


class Origin(NamedTuple):
    """Where a setting comes from.

    layer: `authors`, `paper`, `table`, `column`, `row`, `reading`, `profile` or `set`; of a setting
    that none gives `default`, or `method` where that decides it; `unstated` of an open choice.
    text: the authors' source, the reading's name, the reason of a change, a default's module.
    """

    layer: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Readout:
    """Which number of a run a cell shows.

    at: a round counted from 1, `final` or `best` (the best round of the mean over clients).
    """

    at: int | Literal["final", "best"] = "final"


@dataclass(frozen=True)
class Margin:
    """How far a reproduced mean may lie from the printed value, in the table's unit, and why."""

    __pydantic_config__ = CLOSED

    value: Above0
    reason: Text


@dataclass(frozen=True)
class Override:
    """A change of a profile to one setting, and why it is made.

    path: dotted; `at` is the round that is read. Exactly one of: value, the new one; divide, what
    the cell's own value is divided by; replace, the new value by the cell's own (as text).

    Raises `ValueError` unless exactly one of the three is given.
    """

    __pydantic_config__ = CLOSED

    path: Text
    why: Text
    value: Setting = None
    divide: Divisor | None = None
    replace: Settings | None = None

    def __post_init__(self) -> None:
        if sum(way is not None for way in (self.value, self.divide, self.replace)) != 1:
            raise wrong("give exactly one of value, divide and replace")


@dataclass(frozen=True)
class Cell:
    """One printed value and the whole experiment that it is bound to.

    margin: of the cell's row or column. skip: why the value is not an experiment (quoted from
    another paper, say). Skipped and descriptive cells and printed dashes have an empty experiment.
    A cell whose printed text is empty has one: a claim is about what is measured there.
    origin: by path, where each setting of the experiment comes from.
    """

    paper: str
    table: str
    row: tuple[str, ...]
    column: tuple[str, ...]
    kind: Kind
    metric: str | None
    unit: str | None
    printed: Printed
    read: Readout
    experiment: Experiment
    overrides: Mapping[str, tuple[Override, ...]] = field(default_factory=dict)
    trial: int | None = None
    formula: str | None = None
    note: str | None = None
    skip: str | None = None
    margin: Margin | None = None
    origin: Mapping[str, Origin] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """`row | column`, as claims and messages name the cell."""
        return f"{'|'.join(self.row)} @ {'|'.join(self.column)}"

    @property
    def is_count(self) -> bool:
        """Whether it prints a count (of rounds, images, clusters), which nobody rounds.

        That is a whole number without a unit, with all of its digits, that was not measured.
        """
        value = self.printed.value
        exact = value is not None and value.as_tuple().exponent == 0
        uncertain = self.printed.approximate or self.printed.low is not None
        return exact and not self.unit and self.kind != "empirical" and not uncertain

    @cached_property
    def bounds(self) -> tuple[Decimal, Decimal]:
        """The closed interval of values that print like it; of a count, the count itself.

        Raises `ValueError` for a cell without a number.
        """
        value = self.printed.value
        if value is not None and self.is_count:
            return value, value
        return self.printed.bounds

    def closed_ends(self, rule: Rule) -> tuple[bool, bool]:
        """Whether the ends of `bounds` print like the cell under a rule of rounding."""
        value, uncertain = self.printed.value, self.printed.low is not None
        if value is None or uncertain or self.is_count:
            return True, True
        return closed_ends(value, rule)


@dataclass(frozen=True)
class Claim:
    """A comparison that the paper's text makes, in our words and as an expression.

    vague: the words of the text that have no sharp bound, where the expression gives them one.
    reading_of: the claim, of the same table, whose sentence this one reads in another way.
    every_trial: whether the text says it of each single trial, not of their mean.
    headline: of a claim of abstract or conclusion, what it says as a clause (`it beats FedAvg`).
    """

    __pydantic_config__ = CLOSED

    id: Text
    says: Text
    holds: Text
    where: Text | None = None
    note: Text | None = None
    vague: Text | None = None
    reading_of: Text | None = None
    every_trial: bool = False
    headline: Text | None = None


@dataclass(frozen=True)
class Relation:
    """What a formula says of printed cells: an expression as in a claim, for every row.

    holds: with `{row}` and `{column}` for the labels. rows, columns: patterns of those that it is
    about; none means all. vague: words of the text that can be read in another way, so that cells
    which do not obey contradict no more than the spec.
    """

    __pydantic_config__ = CLOSED

    id: Text
    says: Text
    holds: Text
    rows: tuple[Text, ...] = ()
    columns: tuple[Text, ...] = ()
    where: Text | None = None
    note: Text | None = None
    vague: Text | None = None


@dataclass(frozen=True)
class DrawnRun:
    """A run that a figure draws: its label, and all that binds a cell but a printed value."""

    label: tuple[str, ...]
    experiment: Experiment
    read: Readout
    overrides: Mapping[str, tuple[Override, ...]] = field(default_factory=dict)
    metric: str | None = None
    origin: Mapping[str, Origin] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """A drawing of runs that a spec asks for: which kind, which runs, and how it is split.

    plot: a name of `spec.fields.PLOTS`. runs: the rows of a figure that print no values,
    by column where there are columns, in order. options: the plot's own (see docs/spec-format.md).
    """

    plot: str
    options: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[DrawnRun, ...] = ()


@dataclass(frozen=True)
class Table:
    """One table or figure of a paper.

    sd_ddof, sd_runs: kind of its printed spreads, and how many runs are behind them.
    sd_from: the tables whose printed spreads stand for the same experiments here, where this one
    prints none.
    more_trials: by profile.
    """

    paper: str
    id: str
    title: str
    section: str
    kind: Kind
    metric: str | None
    unit: str | None
    cells: tuple[Cell, ...]
    claims: tuple[Claim, ...]
    margin: Margin | None
    sd_ddof: int | None
    sd_runs: int | None
    unstated: tuple[Unstated, ...]
    notes: tuple[str, ...]
    figure: Figure | None
    file: Path
    relations: tuple[Relation, ...] = ()
    sd_from: tuple[str, ...] = ()
    more_trials: Mapping[str, MoreTrials] = field(default_factory=dict)

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
        """Its cells by row and column."""
        return {(cell.row, cell.column): cell for cell in self.cells}

    def margin_of(self, cell: Cell) -> Margin | None:
        """How close is close enough for a cell: its own margin, else the table's in its unit.

        What is recomputed has none: it prints as published or it does not.
        """
        if cell.margin is not None or cell.kind == "analytic":
            return cell.margin
        return self.margin if (cell.unit or "") == (self.unit or "") else None


@dataclass(frozen=True)
class Omission:
    """Cells that a profile does not run: those where `path` has `value`, and why."""

    __pydantic_config__ = CLOSED

    path: Text
    value: Setting
    why: Text


@dataclass(frozen=True)
class MoreTrials:
    """How many trials a table has under a profile, more than the profile's others, and why."""

    trials: int
    why: str


@dataclass(frozen=True)
class Profile:
    """How much is run: trials, overrides over every experiment, and replacements of data sets.

    on: per data-set name of `--on`, the overrides that put the profile on that set. omit: cells
    that it does not run. looks: with how many trials claims may be looked at, rising; none means
    once, with `trials`. series: which independent series its trials are. like: the profile whose
    overrides, data sets and omissions it has.
    """

    name: str
    trials: int
    overrides: tuple[Override, ...]
    on: Mapping[str, tuple[Override, ...]] = field(default_factory=dict)
    omit: tuple[Omission, ...] = ()
    looks: tuple[int, ...] = ()
    series: int = 0
    like: str | None = None

    @property
    def source(self) -> str:
        """The profile that says what it runs: itself, or the one that it is like."""
        return self.like or self.name

    @property
    def last_look(self) -> int | None:
        """With how many trials a cell is judged; None where no looks are declared."""
        return max(self.looks, default=None)

    def omitted(self, experiment: Experiment) -> str | None:
        """Why the profile does not run the experiment of a cell, or None if it does."""
        for omission in self.omit:
            value: Any = experiment
            for key in omission.path.split("."):
                value = value.get(key) if isinstance(value, Mapping) else None
            if value == omission.value:
                return omission.why
        return None

    def overrides_for(self, cell: Cell | DrawnRun, on: str | None = None) -> tuple[Override, ...]:
        """All overrides of a cell in order: the paper's, the table's to the row's, those of `on`.

        Raises `KeyError` if the profile cannot be put on that data set.
        """
        own = cell.overrides.get(self.source, ())
        return self.overrides + own + (() if on is None else self.on[on])


@dataclass(frozen=True)
class Paper:
    """A paper: its tables, profiles and the choices that hold for all of them.

    address: where it can be read, `https://doi.org/...` where it has a DOI.
    name: as it calls its method, in short.
    own, baselines: patterns of the rows of methods that it proposes, and of those that it compares
    them with; leads are taken between the two.
    readings: the alternatives under which its cells are bound (`benchmark.spec.readings`).
    as_taken: the paper without these; None where there are none.
    """

    id: str
    title: str
    authors: str
    year: int
    tables: tuple[Table, ...]
    profiles: Mapping[str, Profile]
    unstated: tuple[Unstated, ...]
    file: Path
    venue: str | None = None
    address: str | None = None
    name: str = ""
    own: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    as_taken: Paper | None = None

    def is_baseline(self, row: str) -> bool:
        """Whether a row, as `A|B`, is one of the methods that the paper compares its own with."""
        parts = row.split("|")
        patterns = (pattern.split("|") for pattern in self.baselines)
        return any(
            len(pattern) == len(parts)
            and all(want in ("*", part) for want, part in zip(pattern, parts, strict=True))
            for pattern in patterns
        )

    def table(self, id: str) -> Table:
        """The table called `id` ("3", "B.14", "figure-4").

        Raises `KeyError` if there is none.
        """
        for table in self.tables:
            if table.id == id:
                return table
        raise KeyError(id)
