"""Joins specs, plan and trials into a judged report; trains, writes and renders nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..analytic import recomputed
from ..audit.findings import Finding, findings_for
from ..claims.answer import ClaimResult, Known
from ..claims.answer import judged as judge_claim
from ..claims.bind_cells import bind
from ..claims.contrasts import is_trained
from ..claims.nodes import Elementary
from ..config import RunConfig
from ..metrics import within_bounds
from ..planning.headroom import Headroom, data_of, measured
from ..planning.plan import Plan, PlannedCell
from ..results import AuditFinding, CellResult, Departure, FirstLines, Report, TableResult, Verdict
from ..spec.model import CellKey, Claim, Table
from ..stats.intervals import describe
from .answers import answer, pooled
from .cell_verdicts import cell_verdicts
from .controls import Gate, given, parts
from .evidence import Evidence, Finished, Trials
from .figure_data import panels
from .first_lines import evidence, sentence, totals, would_show
from .first_lines import run_on as what_first
from .observed import Observed, observed
from .other_readings import choices, read_otherwise, universes, with_other_readings
from .provenance import command_of, more_trials, provenance, run_on, run_summaries


def judge(
    plan: Plan, trials: Trials, *, command: str, wall_s: float = 0.0, audit: bool = True
) -> Report:
    """The report of a plan on trials (`benchmark.judging.evidence.load_trials`).

    Of a plan with looks, each run is shown as far as the last look that its trials have reached.

    command: as the user gave it.
    wall_s: of the whole job.
    audit: whether to look for findings on the printed numbers, which takes seconds.

    Raises `SpecError` for a claim that names no cell, and `StoreError` for arrays that cannot be
    read.
    """

    def was_tried(run: RunConfig, seed: int) -> bool:
        found = trials.get((run.key, seed))
        return found is not None and (isinstance(found, Finished) or found.failed)

    shown = plan.as_far_as_reached(was_tried)
    others = {name: Evidence(one, trials) for name, one in read_otherwise(shown).items()}
    return judge_evidence(
        Evidence(shown, trials), others, command=command, wall_s=wall_s, audit=audit
    )


def judge_evidence(
    evidence: Evidence,
    others: Mapping[str, Evidence] | None = None,
    *,
    command: str,
    wall_s: float = 0.0,
    audit: bool = True,
) -> Report:
    """The report of a plan on what is known of its cells.

    others: by reading that reads the same trials in another way, what is known under it.

    Takes and raises otherwise what `judge` does.
    """
    plan = evidence.plan
    found = findings_for(plan.paper, plan.tables) if audit else ()
    judging, taken = _Judging(plan, evidence, found), plan.paper.readings
    judged = judging.tables()
    read = {name: _Judging(one.plan, one, ()).tables() for name, one in (others or {}).items()}
    return Report(
        paper=plan.paper.id,
        title=plan.paper.title,
        authors=plan.paper.authors,
        year=plan.paper.year,
        profile=plan.profile.name,
        on=plan.on,
        scaled=any(table.departures for table in judged),
        tables=with_other_readings(judged, read),
        runs=run_summaries(plan, evidence),
        provenance=provenance(plan, evidence, command, wall_s),
        readings=taken,
        choices=choices(plan),
        universes=universes(
            {taken: judged} | {(*taken, name): tables for name, tables in read.items()}
        ),
        address=plan.paper.address,
        venue=plan.paper.venue,
        series=plan.profile.series,
        edited=tuple(sorted(evidence.edited)),
        protected=evidence.given is not None or plan.is_protected,
        first=judging.first_lines(judged),
        controls=judging.tables(of_controls=True),
    )


@dataclass(frozen=True)
class _Judging:
    plan: Plan
    evidence: Evidence
    audit: tuple[Finding, ...]

    @cached_property
    def values(self) -> Mapping[CellKey, Mapping[int, float]]:
        """By cell and seed, what was trained or counted."""
        found = {key: one.by_seed for key, one in self.evidence.cells.items()}
        return {key: trials for key, trials in found.items() if trials}

    @cached_property
    def recomputed(self) -> Mapping[CellKey, Mapping[int, float]]:
        """Of counted cells that claims name, what their formula gives."""
        bound = (one for claims in self.bound.values() for _, made in claims for one in made)
        named = {leaf.key for one in bound for leaf in one.leaves}
        return {
            one.cell.key: {0: value}
            for one in self.plan.cells
            if one.cell.key in named and (value := recomputed(one.cell)) is not None
        }

    @cached_property
    def missing(self) -> Mapping[CellKey, str]:
        trials = self.evidence.cells
        return {
            cell.key: trials[cell.key].missing or "no trial"
            if cell.key in trials
            else f"table {table.id} or this row was not selected"
            for table in self.plan.paper.tables
            for cell in table.cells
        }

    @property
    def looks(self) -> tuple[int, ...]:
        return self.plan.profile.looks if self.plan.looks else ()

    @cached_property
    def scaled(self) -> frozenset[CellKey]:
        """The cells whose runs depart from the published protocol."""
        planned = (one for one in self.plan.cells if self.evidence.departures(one))
        return frozenset(one.cell.key for one in planned)

    @cached_property
    def shown(self) -> tuple[Table, ...]:
        return tuple(one for one in self.plan.paper.tables if one.id in self.plan.tables)

    @cached_property
    def bound(self) -> Mapping[str, Sequence[tuple[Claim, Sequence[Elementary]]]]:
        """By table that is shown, its claims with the comparisons that they make."""
        paper = self.plan.paper
        return {
            one.id: [(claim, bind(claim, one, paper)) for claim in one.claims] for one in self.shown
        }

    @cached_property
    def data(self) -> Mapping[CellKey, str]:
        """By trained cell, the data set on which its clients learn."""
        cells, trained = self.evidence.cells, dict[CellKey, str]()
        for one in self.plan.cells:
            key = one.cell.key
            if one.cell.kind == "empirical" and (one.config is not None or cells[key].found):
                trained[key] = data_of(one) or "data that are not known"
        return trained

    def data_in(self, table: Table) -> set[str]:
        return {name for key, name in self.data.items() if key[0] == table.id}

    @cached_property
    def headroom(self) -> Mapping[str, Headroom]:
        cells = self.evidence.cells
        return measured(self.plan.controls, lambda one: cells[one.cell.key].found)

    @cached_property
    def controls(self) -> Sequence[ClaimResult]:
        return [one for found in self.tables(of_controls=True) for one in found.claims]

    @cached_property
    def gate(self) -> Gate | None:
        """What the controls allow to be said; None where the profile has none."""
        by_data: dict[str, list[ClaimResult]] = {}
        tables = [one for one in self.shown if one.is_control]
        bound = (leaves for one in tables for _, leaves in self.bound[one.id])
        for result, comparisons in zip(self.controls, bound, strict=True):
            for name in self.read_by(comparisons):
                by_data.setdefault(name, []).append(result)
        return Gate(by_data) if tables else None

    def read_by(self, comparisons: Sequence[Elementary]) -> set[str]:
        leaves = [leaf for one in comparisons for leaf in one.leaves if is_trained(leaf)]
        return {self.data[leaf.key] for leaf in leaves if leaf.key in self.data}

    def claim(self, claim: Claim, comparisons: Sequence[Elementary], table: Table) -> ClaimResult:
        found, data = judge_claim(claim, comparisons, self.known(table, comparisons)), set[str]()
        if not table.is_control:
            data = self.read_by(comparisons)
        if claim.rests_on is not None:
            found = replace(found, given=given(sorted(data), self.headroom))
        if not data or self.gate is None:
            return found
        return self.gate.claim(found, data | self.data_in(table))

    def known(self, table: Table, comparisons: Sequence[Elementary]) -> Known:
        """What is known of the cells of a claim.

        Counted cells have what was counted if all of them do, else what their formulas give.
        """
        counted = {leaf.key for one in comparisons for leaf in one.leaves if not is_trained(leaf)}
        values = self.values
        if not all(key in values for key in counted):
            found = {key: self.recomputed[key] for key in counted if key in self.recomputed}
            rest = {key: trials for key, trials in values.items() if key not in counted}
            values = {**rest, **found}
        cells = self.evidence.cells.items()
        return Known(
            values,
            missing=self.missing,
            incomplete={key: one.incomplete for key, one in cells if one.incomplete},
            margin=lambda one: self.margin(table, one),
            looks=self.looks,
        )

    def margin(self, table: Table, one: Elementary) -> float | None:
        """How close to a stated size is close enough; None where it is not compared."""
        if any(leaf.key in self.scaled for leaf in one.leaves):
            return None
        own = [leaf.margin.value for leaf in one.leaves if leaf.margin is not None]
        if own:
            return float(min(own))
        fits = table.margin is not None and one.unit == (table.unit or "")
        return float(table.margin.value) if table.margin is not None and fits else None

    def tables(self, of_controls: bool = False) -> tuple[TableResult, ...]:
        shown = (one for one in self.shown if one.is_control is of_controls)
        return tuple(map(self.table, shown))

    def table(self, table: Table) -> TableResult:
        cells = [one for one in self.plan.cells if one.cell.table == table.id]
        drawings = [one for one in self.plan.drawings if one.cell.table == table.id]
        shown = [self.evidence.departures(one) for one in (*cells, *drawings)]
        departures = tuple(dict.fromkeys(departure for own in shown for departure in own))
        verdicts = cell_verdicts(table, cells, self.evidence)
        commands = {row: command_of(self.plan, table.id, row) for row in table.rows}
        trials = self.evidence.cells.items()
        lacking = {key: why for key, one in trials if (why := one.incomplete or one.missing)}
        seen = self.observed[table.id]
        answered = answer(table, self.plan.paper, seen, lacking, self.looks)
        if not table.is_control and self.gate is not None:
            answered = self.gate.table(answered, self.data_in(table))
        judged = tuple(
            self.cell(
                one,
                verdicts[one.cell.key],
                tuple(map(departures.index, own)),
                None if one.config is None else commands[one.cell.row],
            )
            for one, own in zip(cells, shown, strict=False)
        )
        return TableResult(
            id=table.id,
            title=table.title,
            section=table.section,
            kind=table.kind,
            metric=table.metric,
            unit=table.unit,
            margin=None if table.margin is None else table.margin.value,
            margin_reason=None if table.margin is None else table.margin.reason,
            cells=judged,
            claims=tuple(
                self.claim(claim, comparisons, table) for claim, comparisons in self.bound[table.id]
            ),
            departures=departures,
            unstated=tuple(
                Departure(one.setting, "not stated", one.taken, one.why)
                for one in (*self.plan.paper.unstated, *table.unstated)
            ),
            notes=(
                *table.notes,
                *more_trials(self.plan, table),
                *self.evidence.notes((*cells, *drawings)),
            ),
            panels=panels(table.figure, drawings, judged, self.evidence, table.unit),
            command=command_of(self.plan, table.id),
            findings=self.findings(table),
            run_on=self.evidence.made or run_on(self.plan, cells),
            word=answered.word,
            reason=answered.reason,
            answers=answered.answers,
            leads=answered.leads,
        )

    @cached_property
    def observed(self) -> Mapping[str, Sequence[Observed]]:
        """By table that is shown, its printed cells that have trials."""
        cells = [one.cell for one in self.plan.cells]
        return {
            table.id: observed((one for one in cells if one.table == table.id), self.values)
            for table in self.shown
        }

    def first_lines(self, tables: Sequence[TableResult]) -> FirstLines:
        paper, trials = self.plan.paper, self.evidence.cells.values()
        claims = [claim for table in tables for claim in table.claims]
        has_headlines = any(one.headline for table in paper.tables for one in table.claims)
        wrong = {one.id for one in self.audit if one.status == "inconsistent"}
        found = len(wrong) if self.audit else None
        failed = sum(len(one.failed) for one in trials)
        return FirstLines(
            sentence=sentence(paper.name, claims, has_headlines),
            run_on=what_first(self.plan.profile.name, tables),
            evidence=tuple(evidence(tables)),
            totals=tuple(totals(tables, found, pooled(self.observed, paper), failed)),
            controls="" if self.gate is None else self.control_line(self.gate, tables),
        )

    def control_line(self, gate: Gate, tables: Sequence[TableResult]) -> str:
        data = set().union(*(self.data_in(one) for one in self.shown if not one.is_control))
        said = [*parts(self.controls, gate, data, self.headroom.values()), *would_show(tables)]
        misses = None if self.plan.on else self.plan.profile.misses
        return "; ".join([*said, *filter(None, [misses])])

    def findings(self, table: Table) -> tuple[AuditFinding, ...]:
        """What the audit found out of order among the printed numbers of `table`."""
        return tuple(
            AuditFinding(
                *(one.id, one.kind, one.statement, one.published, one.computed, one.status),
                cells=tuple((row, column) for id, row, column in one.cells if id == table.id),
            )
            for one in self.audit
            if one.status != "consistent" and table.id in one.tables
        )

    def cell(
        self,
        planned: PlannedCell,
        verdict: Verdict,
        departures: tuple[int, ...],
        command: str | None,
    ) -> CellResult:
        cell, trials = planned.cell, self.evidence.cells[planned.cell.key]
        values = trials.values
        if cell.trial is not None:  # one printed trial: ours of that seed stands beside it
            seeds = zip(trials.seeds, values, strict=True)
            values = tuple(value if seed == cell.trial - 1 else None for seed, value in seeds)
        sample = describe([value for value in values if value is not None])
        interval = None if sample is None else sample.interval
        margin = self.plan.paper.table(cell.table).margin_of(cell)
        own = cell.margin and f"margin here: ±{cell.margin.value:g} ({cell.margin.reason})"
        notes = [note for note in (cell.note, own) if note]
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
            run=None if planned.config is None else planned.config.key,
            command=command,
            note="; ".join(notes) or None,
            departures=departures,
            margin=None if margin is None else margin.value,
            failed=trials.failed,
        )
