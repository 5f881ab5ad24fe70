"""Joins specs, plan and stored trials into a judged report; trains and renders nothing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from fedrepro.benchmark.audit.findings import Finding, findings_for
from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.claims.nodes import CellKey, key_of
from fedrepro.benchmark.claims.trials import ClaimContext, judge_claims
from fedrepro.benchmark.judging.cell_verdicts import cell_verdicts
from fedrepro.benchmark.judging.departures import DepartureTable
from fedrepro.benchmark.judging.evidence import Evidence, Trials
from fedrepro.benchmark.judging.figure_data import panels
from fedrepro.benchmark.judging.provenance import provenance, run_summaries
from fedrepro.benchmark.planning.plan import Plan, PlannedCell, PlannedDrawing
from fedrepro.benchmark.results import (
    AuditFinding,
    CellResult,
    ClaimResult,
    Departure,
    Report,
    TableResult,
    Verdict,
)
from fedrepro.benchmark.spec.model import Table, Unstated
from fedrepro.benchmark.stats.intervals import mean_interval


def judge(
    plan: Plan,
    store: Trials,
    *,
    command: str,
    wall_s: float = 0.0,
    not_run: Mapping[str, str] | None = None,
    audit: bool = True,
) -> Report:
    """The report of a plan on what `store` holds.

    command: as the user gave it.
    wall_s: of the whole job.
    not_run: by run key, why the executor did not try it.
    audit: whether findings on the printed numbers are wanted; they take seconds.

    Raises `SpecError` for a claim that names no cell, and `StoreError` for arrays that cannot be
    read.
    """
    found = findings_for(plan.paper, plan.tables) if audit else ()
    evidence = Evidence(plan, store, not_run or {})
    judging = _Judging(plan, evidence, found)
    judged = tuple(judging.table(table) for table in judging.tables)
    return Report(
        paper=plan.paper.id,
        title=plan.paper.title,
        authors=plan.paper.authors,
        year=plan.paper.year,
        profile=plan.profile.name,
        on=plan.on,
        scaled=any(table.departures for table in judged),
        tables=judged,
        runs=run_summaries(plan, evidence),
        provenance=provenance(plan, evidence, command, wall_s),
    )


Planned = TypeVar("Planned")


@dataclass(frozen=True)
class _Judging:
    plan: Plan
    evidence: Evidence
    audit: tuple[Finding, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        planned = self.plan.tables
        return tuple(table for table in self.plan.paper.tables if table.id in planned)

    # What would otherwise be looked up among all cells for every table or run.

    @cached_property
    def planned(self) -> Mapping[str, list[PlannedCell]]:
        return _by((one.cell.table, one) for one in self.plan.cells)

    @cached_property
    def drawn(self) -> Mapping[str, list[PlannedDrawing]]:
        return _by((one.table, one) for one in self.plan.drawings)

    @cached_property
    def scaled_cells(self) -> frozenset[CellKey]:
        return frozenset(
            key_of(one.cell) for one in self.plan.cells if self.evidence.departures(one)
        )

    @cached_property
    def reasons(self) -> Mapping[CellKey, str]:
        """By cell of the paper, why it has no trials."""
        return {
            key_of(cell): self.evidence.cells[key_of(cell)].missing or "no trial"
            if key_of(cell) in self.evidence.cells
            else f"table {table.id} or this row was not selected"
            for table in self.plan.paper.tables
            for cell in table.cells
        }

    @cached_property
    def incomplete(self) -> Mapping[CellKey, str]:
        """By cell, how many of its trials are there and why not all; only those that lack some."""
        return {key: one.incomplete for key, one in self.evidence.cells.items() if one.incomplete}

    @cached_property
    def values(self) -> Mapping[CellKey, Mapping[int, float]]:
        return {key: trials.by_seed for key, trials in self.evidence.cells.items()}

    def table(self, table: Table) -> TableResult:
        cells, drawings = self.planned.get(table.id, []), self.drawn.get(table.id, [])
        verdicts, departures = cell_verdicts(table, cells, self.evidence), DepartureTable()
        commands = {row: self.command(table.id, row) for row in table.rows}
        figure = table.figure
        judged = tuple(
            self.cell(
                one,
                verdicts[key_of(one.cell)],
                departures.positions(self.evidence.departures(one)),
                None if one.config is None else commands[one.cell.row],
            )
            for one in cells
        )
        for drawing in drawings:
            departures.positions(self.evidence.departures(drawing))
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
            claims=self.claims(table),
            departures=departures.all,
            unstated=tuple(map(_as_departure, (*self.plan.paper.unstated, *table.unstated))),
            notes=table.notes,
            panels=(
                ()
                if figure is None
                else panels(figure, drawings, judged, self.evidence, table.unit)
            ),
            command=self.command(table.id),
            findings=self.findings(table),
        )

    def findings(self, table: Table) -> tuple[AuditFinding, ...]:
        """What the audit found out of order among the printed numbers of `table`."""
        return tuple(
            AuditFinding(
                id=one.id,
                kind=one.kind,
                statement=one.statement,
                published=one.published,
                computed=one.computed,
                status=one.status,
                cells=tuple((row, column) for id, row, column in one.cells if id == table.id),
            )
            for one in self.audit
            if one.status != "consistent" and table.id in one.tables
        )

    # -- cells -----------------------------------------------------------------------------------

    def cell(
        self,
        planned: PlannedCell,
        verdict: Verdict,
        departures: tuple[int, ...],
        command: str | None,
    ) -> CellResult:
        cell, trials = planned.cell, self.evidence.cells[key_of(planned.cell)]
        sample = self.evidence.samples[key_of(cell)]
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
            trials=trials.values,
            mean=None if sample is None else sample.mean,
            sd=None if sample is None or sample.n < 2 else sample.sd,
            interval=mean_interval(sample),
            verdict=verdict,
            run=None if planned.config is None else planned.config.key,
            command=command,
            note="; ".join(notes) or None,
            departures=departures,
            margin=None if margin is None else margin.value,
            failed=trials.failed,
        )

    # -- claims ----------------------------------------------------------------------------------

    def claims(self, table: Table) -> tuple[ClaimResult, ...]:
        paper = self.plan.paper
        resolved = [(claim, bind(claim, table, paper)) for claim in table.claims]
        context = ClaimContext(
            values=self.values,
            margin=None if table.margin is None else table.margin.value,
            unit=table.unit,
            scaled=self.scaled_cells,
            reasons=self.reasons,
            incomplete=self.incomplete,
        )
        return judge_claims(resolved, context)

    # -- how to run it again ---------------------------------------------------------------------

    def command(self, table: str, row: Sequence[str] | None = None) -> str:
        """The command that runs a table, or one of its rows, as this plan does."""
        words = ["fedrepro", "run", self.plan.paper.id, "--tables", table]
        if row is not None:
            words += ["--rows", "|".join(row)]
        words += ["--profile", self.plan.profile.name]
        if self.plan.on is not None:
            words += ["--on", self.plan.on]
        if self.plan.trials != self.plan.profile.trials:
            words += ["--trials", str(self.plan.trials)]
        for path, value in self.plan.sets:
            # JSON spells text, numbers, truth and flat lists as TOML does.
            words += ["--set", f"{path}={json.dumps(value, default=str, ensure_ascii=False)}"]
        return shlex.join(words)


def _by(pairs: Iterable[tuple[str, Planned]]) -> dict[str, list[Planned]]:
    grouped: dict[str, list[Planned]] = {}
    for name, planned in pairs:
        grouped.setdefault(name, []).append(planned)
    return grouped


def _as_departure(unstated: Unstated) -> Departure:
    return Departure(unstated.setting, "not stated", unstated.taken, unstated.why)
