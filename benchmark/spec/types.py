"""What a table spec becomes once it is read: papers, tables, cells and claims.

Everything here is frozen and holds no result. Numbers stay as printed (`benchmark.printed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchmark.printed import Printed

Kind = Literal["empirical", "analytic", "descriptive"]
Experiment = Mapping[str, Any]
"""A nested mapping: method, clients, encoder, head, pretraining, training, evaluation."""


@dataclass(frozen=True)
class Read:
    """Which number of a run a cell shows.

    at: a round counted from 1, `final` or `best` (the best round of the mean over clients).
    """

    at: int | Literal["final", "best"] = "final"


@dataclass(frozen=True)
class Margin:
    """How far a reproduced mean may lie from the printed value, in the table's unit, and why."""

    value: float
    reason: str


@dataclass(frozen=True)
class Override:
    """A change of a profile to one setting: dotted path, new value, and why it is made."""

    path: str
    value: Any
    why: str


@dataclass(frozen=True)
class Unstated:
    """A setting that the paper does not give, what is taken, and why."""

    setting: str
    taken: str
    why: str


@dataclass(frozen=True)
class Cell:
    """One printed value and the whole experiment that it is bound to."""

    paper: str
    table: str
    row: tuple[str, ...]
    column: tuple[str, ...]
    kind: Kind
    metric: str | None
    unit: str | None
    printed: Printed
    read: Read
    experiment: Experiment
    overrides: Mapping[str, tuple[Override, ...]] = field(default_factory=dict)
    trial: int | None = None
    formula: str | None = None
    note: str | None = None

    @property
    def label(self) -> str:
        """`row | column`, as claims and messages name the cell."""
        return f"{'|'.join(self.row)} @ {'|'.join(self.column)}"


@dataclass(frozen=True)
class Claim:
    """A comparison that the paper's text makes, in our words and as an expression."""

    id: str
    says: str
    holds: str
    where: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class Figure:
    """A drawing of runs that a spec asks for: which kind, over which rows, split into panels."""

    plot: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """One table or figure of a paper."""

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


@dataclass(frozen=True)
class Profile:
    """How much is run: trials, overrides over every experiment, and replacements of data sets.

    on: per data-set name of `--on`, the overrides that put the profile on that set.
    """

    name: str
    trials: int
    overrides: tuple[Override, ...]
    on: Mapping[str, tuple[Override, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Paper:
    """A paper: its tables, profiles and the choices that hold for all of them."""

    id: str
    title: str
    authors: str
    year: int
    tables: tuple[Table, ...]
    profiles: Mapping[str, Profile]
    unstated: tuple[Unstated, ...]
    file: Path
    venue: str | None = None

    def table(self, id: str) -> Table:
        """The table called `id` ("3", "B.14", "figure-4").

        Raises `KeyError` if there is none.
        """
        for table in self.tables:
            if table.id == id:
                return table
        raise KeyError(id)
