"""Joins specs, plan and stored trials into a judged report; trains and renders nothing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TypeVar

from fedrepro import __version__
from fedrepro.benchmark.analytic import judge_analytic
from fedrepro.benchmark.audit.findings import Finding, findings_for
from fedrepro.benchmark.claims.bind_cells import resolve
from fedrepro.benchmark.claims.nodes import CellKey, key_of
from fedrepro.benchmark.claims.trials import ClaimContext, judge_claims
from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.judging.departures import Numbered
from fedrepro.benchmark.judging.evidence import CellTrials, Evidence, Trials
from fedrepro.benchmark.judging.figure_data import panels
from fedrepro.benchmark.judging.verdicts import Evidence as Measured
from fedrepro.benchmark.judging.verdicts import Published, judge_table, published_sides
from fedrepro.benchmark.planning.plan import Plan, PlannedCell, PlannedDrawing
from fedrepro.benchmark.results import (
    AuditFinding,
    CellResult,
    ClaimResult,
    Departure,
    Provenance,
    Report,
    RunSummary,
    TableResult,
    Verdict,
)
from fedrepro.benchmark.spec.model import Cell, Table, Unstated
from fedrepro.benchmark.stats.intervals import mean_interval
from fedrepro.benchmark.stats.samples import describe
from fedrepro.benchmark.training.training import commit


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

    command: as the user gave it. wall_s: of the whole job. not_run: by run key, why the executor
    did not try it. audit: whether findings on the printed numbers are wanted; they take seconds.

    Raises `SpecError` for a claim that names no cell, and `StoreError` for arrays that cannot be
    read.
    """
    found = findings_for(plan.paper, plan.tables) if audit else ()
    judging = _Judging(plan, Evidence(plan, store, not_run or {}), found)
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
        runs=tuple(judging.run(config) for config in plan.runs),
        provenance=judging.provenance(command, wall_s),
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
    def sharing(self) -> Mapping[RunConfig, int]:
        return self.plan.sharing()

    @cached_property
    def scaled_cells(self) -> frozenset[CellKey]:
        return frozenset(key_of(one.cell) for one in self.plan.cells if self.departures(one))

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
    def values(self) -> Mapping[CellKey, Mapping[int, float]]:
        return {key: trials.by_seed for key, trials in self.evidence.cells.items()}

    def table(self, table: Table) -> TableResult:
        cells, drawings = self.planned.get(table.id, []), self.drawn.get(table.id, [])
        verdicts, departures = self.verdicts(table, cells), Numbered()
        commands = {row: self.command(table.id, row) for row in table.rows}
        figure = table.figure
        judged = tuple(
            self.cell(
                one,
                verdicts[key_of(one.cell)],
                departures.positions(self.departures(one)),
                None if one.config is None else commands[one.cell.row],
            )
            for one in cells
        )
        for drawing in drawings:
            departures.positions(self.departures(drawing))
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

    def departures(self, planned: PlannedCell | PlannedDrawing) -> tuple[Departure, ...]:
        return self.evidence.departures(planned)

    # -- cells -----------------------------------------------------------------------------------

    def verdicts(self, table: Table, cells: Sequence[PlannedCell]) -> dict[CellKey, Verdict]:
        """The verdict of every cell; those that can be judged are judged together."""
        verdicts: dict[CellKey, Verdict] = {}
        judged: list[Cell] = []
        for planned in cells:
            verdict = self.without_judging(table, planned)
            if verdict is None:
                judged.append(planned.cell)
            else:
                verdicts[key_of(planned.cell)] = verdict
        if judged:
            sides = _sides(table, judged)
            measured = [
                Measured(side, self.trials(cell).found, margin.value)
                for side, cell in zip(sides, judged, strict=True)
                if (margin := table.margin_of(cell)) is not None
            ]
            words = judge_table(measured, " points" if table.unit == "%" else "")
            verdicts |= {key_of(c): word for c, word in zip(judged, words, strict=True)}
        return verdicts

    def without_judging(self, table: Table, planned: PlannedCell) -> Verdict | None:
        """The verdict of a cell whose number is not held against the print, else None."""
        cell, trials = planned.cell, self.trials(planned.cell)
        if cell.kind == "analytic" and cell.skip is None:
            return judge_analytic(cell, trials.found[0] if trials.found else None)
        if cell.kind == "descriptive":
            return Verdict("DESCRIPTIVE", "Shown as printed; it is not a measurement of ours.")
        if cell.skip is None and cell.printed.is_dash:
            return Verdict("DESCRIPTIVE", "The paper prints a dash here.")
        if not trials.found:
            return Verdict("ERROR" if trials.failed else "NOT RUN", _sentence(trials.missing or ""))
        departures = self.departures(planned)
        if departures:
            return self.scaled(cell, departures)
        if cell.printed.value is None:
            return Verdict("DESCRIPTIVE", "The paper prints no value here; a claim needs ours.")
        difference = self.difference(cell)
        if table.margin_of(cell) is None:
            why = "The spec gives no margin" + ("" if table.margin is None else " in this unit")
            return Verdict("INCONCLUSIVE", f"{why} to judge by.", difference)
        if cell.printed.sd is not None and (table.sd_runs or 0) < 2:
            why = "The paper does not say of how many runs the printed spread is."
            return Verdict("INCONCLUSIVE", why, difference)
        return None

    def scaled(self, cell: Cell, departures: Sequence[Departure]) -> Verdict:
        settings = list(dict.fromkeys(one.setting for one in departures))
        more = f" and {len(settings) - 4} more" if len(settings) > 4 else ""
        named = ", ".join(settings[:4]) + more
        return Verdict(
            "SCALED",
            f"Not judged: the run departs from the paper in {named}.",
            self.difference(cell),
        )

    def difference(self, cell: Cell) -> float | None:
        """The mean of the trials minus the printed value; None where one of them is not there."""
        value, sample = cell.printed.value, self.evidence.samples[key_of(cell)]
        return None if value is None or sample is None else sample.mean - float(value)

    def cell(
        self,
        planned: PlannedCell,
        verdict: Verdict,
        departures: tuple[int, ...],
        command: str | None,
    ) -> CellResult:
        cell, trials = planned.cell, self.trials(planned.cell)
        sample = self.evidence.samples[key_of(cell)]
        margin = self.plan.paper.table(cell.table).margin_of(cell)
        own = cell.margin and f"margin here: ±{cell.margin.value:g} ({cell.margin.reason})"
        notes = [note for note in (cell.note, own, trials.incomplete) if note]
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
        )

    def trials(self, cell: Cell) -> CellTrials:
        return self.evidence.cells[key_of(cell)]

    # -- claims ----------------------------------------------------------------------------------

    def claims(self, table: Table) -> tuple[ClaimResult, ...]:
        paper = self.plan.paper
        resolved = [(claim, resolve(claim, table, paper)) for claim in table.claims]
        setting = ClaimContext(
            values=self.values,
            margin=None if table.margin is None else table.margin.value,
            unit=table.unit,
            scaled=self.scaled_cells,
            reasons=self.reasons,
        )
        return judge_claims(resolved, setting)

    # -- runs and provenance ---------------------------------------------------------------------

    @cached_property
    def counts(self) -> Mapping[str, Mapping[str, float]]:
        """By run, what its trials counted: the mean of those that did."""
        counted: dict[tuple[str, str], list[float]] = {}
        for config in self.plan.runs:
            for record in self.evidence.records(config):
                for name, count in record.counts.items():
                    counted.setdefault((config.key, name), []).append(count)
        counts: dict[str, dict[str, float]] = {config.key: {} for config in self.plan.runs}
        described = describe(list(counted.values()))
        for (run, name), sample in zip(counted, described, strict=True):
            if sample is not None:
                counts[run][name] = sample.mean
        return counts

    def run(self, config: RunConfig) -> RunSummary:
        records = self.evidence.records(config)
        return RunSummary(
            key=config.key,
            description=config.description,
            seeds=tuple(record.seed for record in records),
            cells=self.sharing.get(config, 0),
            wall_s=sum(float(record.provenance.get("wall_s", 0.0)) for record in records),
            config={
                **config.as_dict(),
                "start": None if config.start is None else config.start.key,
            },
            counts=self.counts[config.key],
            errors=self.evidence.errors(config),
            source=dict(records[0].source) if records else {},
        )

    def provenance(self, command: str, wall_s: float) -> Provenance:
        records = [record for run in self.plan.runs for record in self.evidence.records(run)]
        found = [record.provenance for record in records]
        versions = [dict(one.get("versions", {})) for one in found]
        here = commit()
        return Provenance(
            version=__version__,
            commit=None if here is None else here.rstrip("+"),
            dirty=here is not None and here.endswith("+"),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            command=command,
            device=_joined(str(one.get("device", "unknown")) for one in found),
            versions={
                name: _joined(one[name] for one in versions if name in one)
                for name in dict.fromkeys(name for one in versions for name in one)
            },
            seeds=tuple(sorted({record.seed for record in records})),
            data={
                portion: dict(used)
                for one in found
                for portion, used in one.get("data", {}).items()
            },
            wall_s=wall_s,
            training_s=sum(float(one.get("wall_s", 0.0)) for one in found),
        )

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


def _sides(table: Table, cells: Sequence[Cell]) -> list[Published]:
    """Published sides; spreads are pooled only among cells that show the same metric."""
    sides: dict[CellKey, Published] = {}
    for metric in dict.fromkeys(cell.metric for cell in cells):
        group = [cell for cell in cells if cell.metric == metric]
        printed = [cell.printed for cell in group]
        found = published_sides(printed, ddof=table.sd_ddof, runs=table.sd_runs)
        sides |= {key_of(cell): side for cell, side in zip(group, found, strict=True)}
    return [sides[key_of(cell)] for cell in cells]


def _as_departure(unstated: Unstated) -> Departure:
    return Departure(unstated.setting, "not stated", unstated.taken, unstated.why)


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
