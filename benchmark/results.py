"""Judged results: all that a report shows, as plain frozen data. `benchmark.judging.judge` makes
them of specs and stored trials; `reports` renders them and computes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from .audit.findings import Finding
from .claims.answer import ClaimAnswer, ClaimResult
from .judging.answers import Lead, TableAnswer, TableWord
from .spec.choices import Unstated

VerdictWord = Literal[
    "REPRODUCED", "DISCREPANT", "INCONCLUSIVE", "NOT COMPARED", "NOT RUN", "FAILED",
]  # fmt: skip
Detail = Literal[
    "REPRODUCED", "DISCREPANT", "COMPATIBLE", "SHIFTED", "INCONCLUSIVE",
    "EXACT", "MISPRINT?", "SCALED", "NOT RUN", "ERROR", "DESCRIPTIVE",
]  # fmt: skip
SeriesKind = Literal["curves", "choices", "counts", "points", "scatter", "pictures"]
ProtocolScale = Literal["full", "scaled"]


_WORDS: Mapping[Detail, VerdictWord] = {
    "EXACT": "REPRODUCED",
    "MISPRINT?": "DISCREPANT",
    "COMPATIBLE": "INCONCLUSIVE",
    "SHIFTED": "INCONCLUSIVE",
    "SCALED": "NOT COMPARED",
    "DESCRIPTIVE": "NOT COMPARED",
    "ERROR": "FAILED",
}
"""By finer word, what a report shows where that is another one."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be said about a cell. `detail`: the finer word (`EXACT` is a counted `REPRODUCED`).
    `difference`: reproduced mean minus printed value, in the table's unit. `interval`: its 90 %
    interval (two one-sided tests at 5 %). `stands_to`: where a number printed without a spread is
    REPRODUCED, the largest ratio of the paper's spread to ours up to which it stands."""

    detail: Detail
    reason: str
    difference: float | None = None
    interval: tuple[float, float] | None = None
    working: tuple[str, ...] = ()
    stands_to: float | None = None
    word: VerdictWord = field(init=False)

    def __post_init__(self) -> None:
        word = _WORDS.get(self.detail) or cast(VerdictWord, self.detail)
        object.__setattr__(self, "word", word)


@dataclass(frozen=True, slots=True)
class CellResult:
    """One cell, printed and reproduced. Values are in the table's unit (percent or fraction).
    `trials`: by seed in order, None where a trial is missing. `interval`: 95 % confidence interval
    of the mean. `departures`: positions among those of its table. `read`: the round, or which one.
    `failed`: `trial 3: diverged at round 7` for each trial behind this cell that failed. `spread`:
    what the spec says of how exact the printed value is (`Table.spread_of`)."""

    row: tuple[str, ...]
    column: tuple[str, ...]
    kind: str
    metric: str | None
    unit: str | None
    published: str
    published_sd: str | None
    trials: tuple[float | None, ...]
    mean: float | None
    sd: float | None
    interval: tuple[float, float] | None
    verdict: Verdict
    run: str | None
    command: str | None
    note: str | None = None
    departures: tuple[int, ...] = ()
    margin: float | None = None
    failed: tuple[str, ...] = ()
    read: int | Literal["final", "best"] | None = None
    spread: str = ""

    @property
    def fails(self) -> bool:
        """Whether it fails a job: what is shown to be another number than the printed one."""
        return self.verdict.detail == "DISCREPANT"


@dataclass(frozen=True, slots=True)
class Departure:
    """One difference between what was run and what the paper describes."""

    setting: str
    paper: str
    here: str
    why: str


@dataclass(frozen=True)
class Series:
    """Data of one figure panel, taken from stored trials; `kind` says how to draw it.

    `curves`: lines maps a label to a list (trials) of (rounds, values).
    `choices`: matrix is rounds x clients of cluster numbers of one trial.
    `counts`: matrix is clients x classes.
    `points`: lines maps a class to one pair of (x, y) of its images.
    `scatter`: lines maps a label to its point in each trial, as lists of length one.
    `pictures`: pictures maps a label to rows of pixels of 1 or 3 channels from 0 to 255."""

    kind: SeriesKind
    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, list[tuple[list[float], list[float]]]] = field(default_factory=dict)
    matrix: list[list[int]] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    pictures: Mapping[str, list[list[list[int]]]] = field(default_factory=dict)


@dataclass(frozen=True)
class TableResult:
    """One table or figure, judged. `run_on`: data, clients, rounds and trials, here and in the
    paper. `answers`: by metric; the first decides the word, and leads are by it. `findings`: on
    printed numbers; they change no word."""

    id: str
    title: str
    section: str
    kind: str
    metric: str | None
    unit: str | None
    margin: float | None
    margin_reason: str | None
    cells: tuple[CellResult, ...]
    claims: tuple[ClaimResult, ...]
    departures: tuple[Departure, ...]
    unstated: tuple[Departure, ...]
    notes: tuple[str, ...]
    panels: tuple[Series, ...]
    command: str
    findings: tuple[Finding, ...] = ()
    run_on: str = ""
    word: TableWord = "NOT RUN"
    reason: str = ""
    answers: tuple[TableAnswer, ...] = ()
    leads: tuple[Lead, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether it fails a job: only the published protocol can refute a table."""
        return self.word == "FAIL" and not self.departures


@dataclass(frozen=True, slots=True)
class ChoiceResult:
    """Something that the paper leaves open and that can be run in more than one way. `table`: the
    one that it is about, None for all. `reading`: the alternative under which this report is; None
    for what is taken. `has_effect`: false where profile or `--set` win over all of it."""

    table: str | None
    choice: Unstated
    reading: str | None = None
    has_effect: bool = True


@dataclass(frozen=True)
class Universe:
    """The answers to all claims, by `3: id`, under some interpretations."""

    readings: tuple[str, ...]
    claims: Mapping[str, ClaimAnswer]


@dataclass(frozen=True)
class RunSummary:
    """One unique run behind the cells. `config`: its settings; `start` is the key of the run that
    it starts from. `errors`: `trial 3: diverged at round 7` for each trial that failed."""

    key: str
    description: str
    seeds: tuple[int, ...]
    cells: int
    wall_s: float
    config: Mapping[str, Any]
    counts: Mapping[str, float]
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Provenance:
    """Where the numbers come from."""

    version: str
    commit: str | None
    dirty: bool
    created: str
    command: str
    device: str
    versions: Mapping[str, str]
    seeds: tuple[int, ...]
    data: Mapping[str, Mapping[str, Any]]
    wall_s: float
    training_s: float
    peak_bytes: int | None = None
    """The most memory of a process that trained; None where no record says it."""


@dataclass(frozen=True, slots=True)
class External:
    """That numbers were made elsewhere, and what is said of them by who gave them. `protocol`: as
    declared; only `full`, the published protocol, is compared with the paper. `note`: their own
    words. `seeds`: of all values, rising; the trials of a cell stand in this order. `statement`:
    what a reader must know, in a sentence or two."""

    protocol: ProtocolScale
    note: str
    files: tuple[str, ...]
    seeds: tuple[int, ...]
    values: int
    statement: str


@dataclass(frozen=True)
class FirstLines:
    """What a report says first. `elsewhere`: of the same claims on other data, a sentence each."""

    sentence: str = ""
    run_on: str = ""
    evidence: tuple[str, ...] = ()
    totals: tuple[str, ...] = ()
    controls: str = ""
    elsewhere: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """All of them; what it was run on stands behind the sentence."""
        run_on = f" ({self.run_on})" if self.run_on else ""
        controls = (self.controls,) if self.controls else ()
        return (self.sentence + run_on, *self.elsewhere, *controls, *self.evidence, *self.totals)

    @property
    def answer(self) -> str:
        """What was found, on all data."""
        return " ".join((self.sentence, *self.elsewhere))


@dataclass(frozen=True)
class OnOtherData:
    """What trials under the profile `headroom` say of a headline claim on one data set.

    `said`: the claim as a clause. `headroom`: by trial, what a probe on pre-trained features is
    ahead of one on random ones. `differences`: by trial, the mean over the claim's comparisons,
    signed as it states them. `settings`: a checksum of all that its runs were made with."""

    table: str
    claim: str
    said: str
    data: str
    headroom: tuple[float, ...]
    differences: tuple[float, ...]
    answer: ClaimAnswer
    settings: str


@dataclass(frozen=True)
class Report:
    """A judged paper under one profile.

    `external`: None where fedrepro made the numbers. `address`: its DOI, or a page. `readings`: the
    alternatives under which it was run; none means what is taken. `universes`: the claims under
    other interpretations (`multiverse`), those taken first. `edited`: files that were edited since
    its trials were made, if stale ones were asked for. `protected`: whether the profile declares
    the number of trials. Else claims may be wrong in more than 5 % of cases, since a number can be
    chosen by what was seen. `controls`: tables of positive controls, which no count of tables,
    cells or claims holds. `on_other_data`: headline claims on data of other headroom, as they were
    recorded."""

    paper: str
    title: str
    authors: str
    year: int
    profile: str
    on: str | None
    scaled: bool
    tables: tuple[TableResult, ...]
    runs: tuple[RunSummary, ...]
    provenance: Provenance
    readings: tuple[str, ...] = ()
    choices: tuple[ChoiceResult, ...] = ()
    universes: tuple[Universe, ...] = ()
    address: str | None = None
    schema: int = 2
    external: External | None = None
    series: int = 0
    edited: tuple[str, ...] = ()
    protected: bool = True
    first: FirstLines = field(default_factory=FirstLines)
    controls: tuple[TableResult, ...] = ()
    venue: str | None = None
    on_other_data: tuple[OnOtherData, ...] = ()


def named(table: str) -> str:
    """'Table 3', 'Figure 4', or 'Text of 3.5' for numbers of the running text ("text-3.5")."""
    kind, _, rest = table.partition("-")
    words = {"figure": f"Figure {rest}", "text": f"Text of {rest}", "controls": "Controls"}
    return words.get(kind, f"Table {table}")


def named_inside(table: str) -> str:
    """As `named`, inside of a sentence: 'table A.13'."""
    said = named(table)
    return said[0].lower() + said[1:]
