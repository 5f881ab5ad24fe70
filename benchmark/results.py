"""Judged results: everything a report shows, as plain frozen data.

`benchmark.judging.judge` fills these from specs and stored trials; `reports` renders them and
computes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .open_choices import ChoiceResult

VerdictWord = Literal[
    "REPRODUCED", "DISCREPANT", "COMPATIBLE", "SHIFTED", "INCONCLUSIVE",
    "EXACT", "MISPRINT?", "SCALED", "NOT RUN", "ERROR", "DESCRIPTIVE",
]  # fmt: skip
ClaimWord = Literal[
    "HOLDS", "PARTLY", "REVERSED", "OPPOSITE HERE", "UNRESOLVED", "NOT JUDGED", "NOT RUN",
]  # fmt: skip
SupportWord = Literal["supported", "contradicted", "undecidable", "not printed"]
Protocol = Literal["full", "scaled"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be said about a cell: the word, one sentence of reason, and its numbers.

    Attributes:
        difference: reproduced mean minus printed value, in the table's unit.
        interval: the 90 % interval of the difference (two one-sided tests at 5 %).
        trials_needed: how many trials would decide, None if none would or the question does not
            arise.
        working: lines of arithmetic for analytic cells.
        if_noisier: of a number that is printed without a spread, here and elsewhere, the word if
            the paper's spread were so many times ours.
        stands_to: where REPRODUCED, the largest such ratio up to which it stands.
    """

    word: VerdictWord
    reason: str
    difference: float | None = None
    interval: tuple[float, float] | None = None
    trials_needed: int | None = None
    working: tuple[str, ...] = ()
    if_noisier: tuple[tuple[float, VerdictWord], ...] = ()
    stands_to: float | None = None


@dataclass(frozen=True, slots=True)
class CellUnder:
    """A cell read from the same trials under another reading (`ChoiceResult`)."""

    reading: str
    mean: float | None
    sd: float | None
    verdict: VerdictWord
    difference: float | None


@dataclass(frozen=True, slots=True)
class CellResult:
    """One cell, printed and reproduced. Values are in the table's unit (percent or fraction).

    Attributes:
        trials: by seed in order, None where a trial is missing.
        interval: 95 % confidence interval of the mean.
        command: re-runs this cell.
        departures: positions, among those of its table, of the departures of the run behind this
            cell.
        margin: that its difference is held against.
        failed: `trial 3: diverged at round 7` for each trial behind this cell that failed.
        under: what other readings make of the same trials.
    """

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
    under: tuple[CellUnder, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """One elementary comparison of a claim: 'left op right' in the trials.

    Attributes:
        differences: left - right by seed.
        interval: 95 % confidence interval of their mean.
        p: one-sided p-value that the comparison holds.
        p_reversed: one-sided p-value that its opposite holds.
        relation: the sign between left and right (`>`, `<`, `~`, `=`, ...).
        superiority: share of the paired trials that go the stated way, a tie counting half.
        p_t, p_sign: what Student's t and the sign test alone say; `p` is what decides.
        exact: whether both sides are counted or computed, so that it is decided without a test:
            then `p` is 0 where it holds and 1 where it does not.
    """

    text: str
    published_left: str
    published_right: str
    differences: tuple[float, ...]
    mean: float | None
    interval: tuple[float, float] | None
    p: float | None
    p_reversed: float | None
    relation: str = ">"
    superiority: float | None = None
    p_t: float | None = None
    p_sign: float | None = None
    exact: bool = False


@dataclass(frozen=True)
class ClaimResult:
    """A claim of the text: what the printed table says of it, and what the trials say.

    Attributes:
        p, p_reversed: of all its comparisons together, and that one of them is opposite.
        p_adjusted: `p` corrected over the claims of the paper that this report tests.
        shown, opposite: how many of its comparisons are shown, and how many the other way.
        looks: with how many of the first paired trials it is judged, rising.
        declared: the trials that were declared beforehand, over which 5 % are spent.
        trials_needed: of an open claim, how many trials would decide at the differences and spreads
            seen; None where none would.
    """

    id: str
    says: str
    holds: str
    support: SupportWord
    support_reason: str
    word: ClaimWord
    reason: str
    p_adjusted: float | None
    comparisons: tuple[Comparison, ...]
    p: float | None = None
    p_reversed: float | None = None
    shown: int = 0
    opposite: int = 0
    looks: tuple[int, ...] = ()
    declared: int | None = None
    trials_needed: int | None = None

    @property
    def decisive(self) -> Comparison | None:
        """The comparison that the word hangs on; None where nothing was compared.

        That is the one least clearly shown, or of a claim that comes out the other way, the one
        least clearly opposite. Of `PARTLY` it is the one most clearly opposite.
        """
        compared = [one for one in self.comparisons if one.mean is not None]
        if self.word in ("REVERSED", "OPPOSITE HERE"):
            return max(compared, key=_p_reversed, default=None)
        if self.word == "PARTLY":
            return min(compared, key=_p_reversed, default=None)
        return max(compared, key=_p, default=None)


def _p(one: Comparison) -> float:
    """Of what is decided without a test: 0 where it is as stated, 1 where it is not."""
    return one.p if one.p is not None else 1.0 - (one.superiority or 0.0)


def _p_reversed(one: Comparison) -> float:
    return one.p_reversed if one.p_reversed is not None else one.superiority or 0.0


@dataclass(frozen=True)
class AuditFinding:
    """What the printed numbers say of each other (`benchmark.audit`); it changes no verdict.

    Attributes:
        published, computed: the two sides, with the arithmetic.
        cells: (row, column) of the printed values of this table that it is about.
    """

    id: str
    kind: str
    statement: str
    published: str
    computed: str
    status: str
    cells: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


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
    `pictures`: pictures maps a label to rows of pixels of 1 or 3 channels from 0 to 255.
    """

    kind: Literal["curves", "choices", "counts", "points", "scatter", "pictures"]
    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, list[tuple[list[float], list[float]]]] = field(default_factory=dict)
    matrix: list[list[int]] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    pictures: Mapping[str, list[list[list[int]]]] = field(default_factory=dict)


@dataclass(frozen=True)
class TableResult:
    """One table or figure, judged."""

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
    findings: tuple[AuditFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimUnder:
    """What a claim comes to under some readings.

    Attributes:
        difference, interval: of its weakest comparison, signed so that above zero means that the
            claim is right; None where nothing was compared.
    """

    table: str
    id: str
    word: ClaimWord
    difference: float | None
    interval: tuple[float, float] | None
    p: float | None


@dataclass(frozen=True)
class Universe:
    """All claims under some readings, none of which are the readings that are taken."""

    readings: tuple[str, ...]
    claims: tuple[ClaimUnder, ...]


@dataclass(frozen=True)
class RunSummary:
    """One unique run behind the cells.

    Attributes:
        config: its settings; `start` is the key of the run that it starts from.
        errors: `trial 3: diverged at round 7` for each trial that failed.
        source: SHA-256 by file of the code that trained it.
    """

    key: str
    description: str
    seeds: tuple[int, ...]
    cells: int
    wall_s: float
    config: Mapping[str, Any]
    counts: Mapping[str, float]
    errors: tuple[str, ...] = ()
    source: Mapping[str, str] = field(default_factory=dict)


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


@dataclass(frozen=True, slots=True)
class External:
    """That numbers were made elsewhere, and what is said of them by who gave them.

    Attributes:
        protocol: as declared; only `full`, the published protocol, is held against the print.
        note: their own words.
        files: the names of the files that were read.
        seeds: of all values, rising; the trials of a cell stand in this order.
        statement: what a reader must know, in a sentence or two.
    """

    protocol: Protocol
    note: str
    files: tuple[str, ...]
    seeds: tuple[int, ...]
    values: int
    statement: str


@dataclass(frozen=True)
class Report:
    """A judged paper under one profile.

    Attributes:
        external: None where fedrepro made the numbers.
        address: where it can be read: its DOI, or a page.
        readings: the alternatives under which it was run; none means what is taken.
        choices: what the paper leaves open, with the alternatives.
        universes: the claims under other readings, those taken first.
        series: which independent series of trials it shows.
        edited: files that were edited since its trials were made; only a report that was asked to
            show stale trials has any.
        protected: whether the profile declares the number of trials; else claims may be wrong in
            more than 5 % of cases, since a number can be chosen by what was seen.
    """

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
    schema: int = 1
    external: External | None = None
    series: int = 0
    edited: tuple[str, ...] = ()
    protected: bool = True

    def seeded(self, cell: CellResult) -> list[tuple[int, float]]:
        """The trials of a cell that are there, each with its seed."""
        seeds = range(len(cell.trials)) if self.external is None else self.external.seeds
        pairs = zip(seeds, cell.trials, strict=False)
        return [(seed, value) for seed, value in pairs if value is not None]

    def count_verdicts(self) -> dict[str, int]:
        """How many cells carry each verdict."""
        return Counter(cell.verdict.word for table in self.tables for cell in table.cells)

    def count_claims(self) -> dict[str, int]:
        """How many claims carry each word."""
        return Counter(claim.word for table in self.tables for claim in table.claims)
