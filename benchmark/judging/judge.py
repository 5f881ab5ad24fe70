"""Joins specs, plan and trials into a judged report; trains, writes and renders nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..analytic import recomputed
from ..audit.findings import Finding, findings_for
from ..claims.answer import ClaimResult, Known
from ..claims.answer import judged as judge_claim
from ..claims.nodes import Elementary, Values, is_trained
from ..config import FULL_PRECISION, RunConfig
from ..metrics import within_bounds
from ..planning.headroom import DataHeadroom, data_of, measured
from ..planning.plan import Plan, PlannedCell
from ..results import (
    CellResult,
    ChoiceResult,
    Departure,
    FirstLines,
    OnOtherData,
    Report,
    TableResult,
    Verdict,
)
from ..spec.folders import differs_from_bundled
from ..spec.model import CellKey, Claim, Table
from ..spec.readings import choices_of
from ..spec.settings import PRECISION, get
from ..stats.intervals import describe
from . import first_lines, on_other_data
from .answers import answer, pooled
from .controls import Controls, given, parts, under_controls
from .evidence import Evidence, Finished, Trials
from .figure_data import panels
from .observed import Names, printed_names
from .provenance import command_of, other_data, provenance, run_on, run_summaries
from .verdicts import cell_verdicts

_OTHER_SPECS = "specs: others than those that come with fedrepro for this paper"


def judge(
    plan: Plan, trials: Trials, *, command: str, wall_s: float = 0.0, audit: bool = True
) -> Report:
    """The report of a plan on trials (`benchmark.judging.evidence.load_trials`). Of a plan with
    interim analyses, each run is shown up to the last that its trials have reached. `command`: as
    the user gave it. `wall_s`: of the whole job. `audit`: whether to look for findings on the
    printed numbers, which takes seconds. Raises `SpecError` for a claim that names no cell,
    `StoreError` for unreadable arrays."""

    def was_tried(run: RunConfig, seed: int) -> bool:
        found = trials.get((run.key, seed))
        return found is not None and (isinstance(found, Finished) or found.failed)

    shown = Evidence(plan.as_far_as_reached(was_tried), trials)
    return judge_evidence(shown, command=command, wall_s=wall_s, audit=audit)


def judge_evidence(
    evidence: Evidence, *, command: str, wall_s: float = 0.0, audit: bool = True
) -> Report:
    """The report of a plan on what is known of its cells; takes and raises what `judge` does."""
    plan = evidence.plan
    found = findings_for(plan.paper, plan.tables) if audit else ()
    judging = _Judging(plan, evidence, found)
    edited = {file for one in evidence.finished(*plan.runs) for file in one.edited}
    return Report(
        paper=plan.paper.id,
        title=plan.paper.title,
        authors=plan.paper.authors,
        year=plan.paper.year,
        profile=plan.profile.name,
        on=plan.on,
        scaled=any(table.departures for table in judging.tables),
        tables=judging.tables,
        runs=run_summaries(plan, evidence),
        provenance=provenance(plan, evidence, command, wall_s),
        readings=plan.paper.readings,
        choices=tuple(_choices(plan)),
        address=plan.paper.address,
        venue=plan.paper.venue,
        series=plan.profile.series,
        edited=tuple(sorted(edited)),
        protected=evidence.given is not None or plan.is_protected,
        first=judging.first_lines,
        controls=judging.control_tables,
        on_other_data=judging.on_other_data,
    )


def _choices(plan: Plan) -> Iterator[ChoiceResult]:
    """What the paper leaves open with alternatives, of the tables that are shown."""
    taken = plan.paper.readings
    for choice, table in choices_of(plan.paper):
        if choice.alternatives and table in (None, *plan.tables):
            reading = next((one.name for one in choice.alternatives if one.name in taken), None)
            others = [name for name in taken if name != reading]
            # Whether the plan without it reads anything else.
            has_effect = reading is None or plan.reads != plan.under(others).reads
            yield ChoiceResult(table, choice, reading, has_effect)


@dataclass(frozen=True)
class _Judging:
    plan: Plan
    evidence: Evidence
    audit: tuple[Finding, ...]

    @cached_property
    def known(self) -> Known:
        cells = self.evidence.cells.items()
        return Known(
            values={key: trials for key, one in cells if (trials := one.by_seed)},
            lacking={key: why for key, one in cells if (why := one.missing or one.incomplete)},
            margin=self.margin,
            looks=self.plan.profile.looks if self.plan.looks else (),
        )

    @cached_property
    def recomputed(self) -> Values:
        """Of counted cells that claims name, what their formula gives."""
        bound = (one for claims in self.plan.bound.values() for _, made in claims for one in made)
        named = {leaf.key for one in bound for leaf in one.leaves}
        cells = (one.cell for one in self.plan.cells if one.cell.key in named)
        return {cell.key: {0: x} for cell in cells if (x := recomputed(cell)) is not None}

    @cached_property
    def scaled(self) -> frozenset[CellKey]:
        """The cells whose runs deviate from the published protocol."""
        return frozenset(one.cell.key for one in self.plan.cells if self.evidence.departures(one))

    @cached_property
    def data(self) -> Mapping[CellKey, str]:
        """By trained cell, the data set on which its clients learn."""
        return {
            one.cell.key: data_of(one) or "data that are not known"
            for one in self.plan.cells
            if one.cell.kind == "empirical"
            and (one.config is not None or self.evidence.cells[one.cell.key].found)
        }

    def data_in(self, *tables: Table) -> set[str]:
        ids = {one.id for one in tables}
        return {name for key, name in self.data.items() if key[0] in ids}

    def read_by(self, comparisons: Sequence[Elementary]) -> set[str]:
        leaves = [leaf for one in comparisons for leaf in one.leaves if is_trained(leaf)]
        return {self.data[leaf.key] for leaf in leaves if leaf.key in self.data}

    @cached_property
    def headroom(self) -> Mapping[str, DataHeadroom]:
        cells, stored = self.evidence.cells, self.evidence.stored
        each = (lambda one: cells[one.cell.key].found, lambda one: stored(one).found)
        return measured(self.plan.controls, *each)

    @cached_property
    def controls(self) -> Controls | None:
        """The judged controls, which allow what is said; None where the profile has none."""
        found: dict[str, list[ClaimResult]] = {}
        for table in self.control_tables:
            bound = self.plan.bound[table.id]
            for (_, comparisons), judged in zip(bound, table.claims, strict=True):
                for name in self.read_by(comparisons):
                    found.setdefault(name, []).append(judged)
        return found if self.control_tables else self.evidence.uncontrolled

    def claim(self, claim: Claim, comparisons: Sequence[Elementary], table: Table) -> ClaimResult:
        """What is said of a claim, by the comparisons that the profile does not leave out."""
        is_out, of = self.plan.profile.why_left_out, len(comparisons)
        run = [one for one in comparisons if not any(map(is_out, one.leaves))]
        comparisons = run or comparisons
        found = judge_claim(claim, comparisons, self.known_to(comparisons))
        data = set[str]() if table.is_control else self.read_by(comparisons)
        if claim.rests_on is not None:
            found = replace(found, given=given(sorted(data), self.headroom))
        if data and self.controls is not None:
            found = under_controls(self.controls, found, data | self.data_in(table))
        if not (left_out := of - len(comparisons)):
            return found
        said = f"{found.reason} {left_out} of {of} comparisons are left out."
        return replace(found, answer=replace(found.answer, reason=said, left_out=left_out))

    def known_to(self, comparisons: Sequence[Elementary]) -> Known:
        """What is known of the cells of a claim. Counted cells have what was counted if all of them
        do, else what their formulas give."""
        counted = {leaf.key for one in comparisons for leaf in one.leaves if not is_trained(leaf)}
        if counted <= self.known.values.keys():
            return self.known
        values = {key: trials for key, trials in self.known.values.items() if key not in counted}
        values |= {key: self.recomputed[key] for key in counted if key in self.recomputed}
        planned = counted & self.evidence.cells.keys()
        lacking = {**dict.fromkeys(planned, "no trial"), **self.known.lacking}
        return replace(self.known, values=values, lacking=lacking)

    def margin(self, one: Elementary) -> float | None:
        """How close to a stated size is close enough; None where it is not compared."""
        if any(leaf.key in self.scaled for leaf in one.leaves):
            return None
        table = self.plan.paper.table(one.table)
        own = [leaf.margin.value for leaf in one.leaves if leaf.margin is not None]
        if not own and table.margin is not None and one.unit == (table.unit or ""):
            own = [table.margin.value]
        return float(min(own)) if own else None

    @cached_property
    def tables(self) -> tuple[TableResult, ...]:
        return tuple(self.table(one) for one in self.plan.shown_tables if not one.is_control)

    @cached_property
    def control_tables(self) -> tuple[TableResult, ...]:
        return tuple(self.table(one) for one in self.plan.shown_tables if one.is_control)

    def table(self, table: Table) -> TableResult:
        cells = [one for one in self.plan.cells if one.cell.table == table.id]
        drawings = [one for one in self.plan.drawings if one.cell.table == table.id]
        own = [self.evidence.departures(one) for one in (*cells, *drawings)]
        departures = tuple(dict.fromkeys(one for each in own for one in each))
        verdicts = cell_verdicts(table, cells, self.evidence)
        commands = {row: command_of(self.plan, table.id, row) for row in table.rows}
        word, reason, answers, leads = answer(table, self.plan.paper, self.known, self.names)
        judged = tuple(
            self.cell(
                one,
                verdicts[one.cell.key],
                tuple(map(departures.index, each)),
                None if one.config is None else commands[one.cell.row],
            )
            for one, each in zip(cells, own, strict=False)
        )
        found = TableResult(
            id=table.id,
            title=table.title,
            section=table.section,
            kind=table.kind,
            metric=table.metric,
            unit=table.unit,
            margin=None if table.margin is None else table.margin.value,
            margin_reason=None if table.margin is None else table.margin.reason,
            cells=judged,
            claims=tuple(self.claim(*claim, table) for claim in self.plan.bound[table.id]),
            departures=departures,
            unstated=tuple(self.unstated(table, cells)),
            notes=(*table.notes, *self.evidence.notes((*cells, *drawings))),
            panels=panels(table.figure, drawings, judged, self.evidence, table.unit),
            command=command_of(self.plan, table.id),
            findings=tuple(
                one for one in self.audit if one.status != "consistent" and table.id in one.tables
            ),
            run_on=self.evidence.made or run_on(self.plan, cells),
            word=word,
            reason=reason,
            answers=answers,
            leads=leads,
        )
        if table.is_control or self.controls is None:
            return found
        return under_controls(self.controls, found, self.data_in(table))

    def unstated(self, table: Table, cells: Sequence[PlannedCell]) -> Iterator[Departure]:
        for one in (*self.plan.paper.unstated, *table.unstated):
            yield Departure(one.setting, "not stated", one.taken, one.why)
        open_ones = [one for one in cells if get(one.cell.experiment, PRECISION) is None]
        used = {one.config.precision for one in open_ones if one.config is not None}
        for precision in sorted(used - {FULL_PRECISION}):
            why = "it is faster where the device has it (docs/notes/precision.md)"
            yield Departure(PRECISION, "not stated, float32 is usual", precision, why)

    @cached_property
    def names(self) -> Names:
        return printed_names(self.plan.paper.tables)

    @cached_property
    def on_other_data(self) -> tuple[OnOtherData, ...]:
        return on_other_data.recorded(self.plan)

    @property
    def first_lines(self) -> FirstLines:
        paper, tables, trials = self.plan.paper, self.tables, self.evidence.cells.values()
        claims = [claim for table in tables for claim in table.claims]
        headlines = [one.id for one in paper.tables if any(each.headline for each in one.claims)]
        wrong = {one.id for one in self.audit if one.status == "inconsistent"}
        totals = first_lines.totals(
            tables,
            len(wrong) if self.audit else None,
            pooled(self.plan.shown_tables, self.known.values, self.names),
            sum(len(one.failed) for one in trials),
        )
        is_changed = differs_from_bundled(paper.id, paper.file)
        shown = {one.id for one in first_lines.leading([one for one in tables if one.run_on])}
        cells = [one for one in self.plan.cells if one.cell.table in shown]
        data = "" if self.evidence.made else other_data(cells)
        sentence = first_lines.sentence(paper.name, claims, headlines, data)
        return FirstLines(
            sentence=sentence,
            elsewhere=tuple(on_other_data.elsewhere(tables, self.on_other_data)),
            run_on=first_lines.run_on(self.plan.profile.name, tables),
            evidence=tuple(first_lines.evidence(tables)),
            totals=(*totals, *([_OTHER_SPECS] if is_changed else [])),
            controls="; ".join(self.said_of_controls()),
        )

    def said_of_controls(self) -> list[str]:
        if not isinstance(self.controls, Mapping):
            return []
        judged = [claim for one in self.control_tables for claim in one.claims]
        data = self.data_in(*(one for one in self.plan.shown_tables if not one.is_control))
        misses = None if self.plan.on else self.plan.profile.misses
        said = [*parts(judged, self.controls.keys(), data, self.headroom.values())]
        said += first_lines.would_show(self.tables)
        return [*said, misses] if misses else said

    def cell(
        self, one: PlannedCell, verdict: Verdict, departures: tuple[int, ...], command: str | None
    ) -> CellResult:
        cell, trials = one.cell, self.evidence.cells[one.cell.key]
        values = tuple(
            # Of one printed trial, ours of that seed stands beside it.
            value if cell.trial in (None, seed + 1) else None
            for seed, value in trials.trials.items()
        )
        sample = describe([value for value in values if value is not None])
        interval = None if sample is None else sample.interval
        table = self.plan.paper.table(cell.table)
        margin = table.margin_of(cell)
        here = cell.margin
        own = "" if here is None else f"margin here: ±{here.value:g} ({here.reason})"
        return CellResult(
            row=cell.row,
            column=cell.column,
            kind=cell.kind,
            metric=cell.metric,
            unit=cell.unit,
            published=cell.printed.text,
            published_sd=None if cell.printed.sd is None else str(cell.printed.sd),
            trials=values,
            mean=None if sample is None else sample.mean,
            sd=None if sample is None or sample.n < 2 else sample.sd,
            interval=within_bounds(interval, cell.metric, cell.unit),
            verdict=verdict,
            run=None if one.config is None else one.config.key,
            command=command,
            note="; ".join(filter(None, (cell.note, own))) or None,
            departures=departures,
            margin=None if margin is None else margin.value,
            failed=trials.failed,
            read=one.read,
            spread=table.spread_of(cell),
        )
