"""A report from committed trials: each cell says which commit trained it, what changed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..config import FULL_PRECISION, RunConfig
from ..planning.plan import Plan
from ..results import CellResult, Report
from ..store.published import PublishedTrial, PublishedTrials
from .judge import judge
from .trials import load_trials

_FILES = 4
"""So many edited files are named; of more it is said how many there are."""
_COMMIT = 7
"""Digits by which a commit is told."""
Runs = Mapping[str, RunConfig]
"""By key."""


@dataclass(frozen=True)
class RunCell:
    """A cell that has committed trials, as a row of the table of all of them.

    planned: how many trials the protocol asks for.
    """

    paper: str
    table: str
    cell: CellResult
    trials: tuple[PublishedTrial, ...]
    planned: int

    @property
    def commits(self) -> tuple[str, ...]:
        return _commits(self.trials)

    @property
    def devices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(str(one.record.provenance.get("device")) for one in self.trials))

    @property
    def precisions(self) -> tuple[str, ...]:
        """Of the arithmetic; what a run does not name is float32."""
        return tuple(
            dict.fromkeys(
                str(one.record.config.get("precision", FULL_PRECISION)) for one in self.trials
            )
        )

    @property
    def hours(self) -> float:
        """Of training all of its trials, without what they start from."""
        return sum(float(one.record.provenance.get("wall_s", 0.0)) for one in self.trials) / 3600


def judge_committed(
    plan: Plan, published: PublishedTrials, *, command: str, audit: bool = True
) -> Report:
    """The report of a plan on committed trials; takes and raises what `judge` does."""
    report = judge(plan, load_trials(plan, published), command=command, audit=audit)
    runs = {run.key: run for run in plan.runs}
    return replace(
        report,
        tables=tuple(
            replace(
                table,
                cells=tuple(_noted(one, runs, plan, published) for one in table.cells),
            )
            for table in report.tables
        ),
    )


def run_cells(plan: Plan, report: Report, published: PublishedTrials) -> Iterator[RunCell]:
    """The cells of a report that have committed trials and whose number is held to the print."""
    runs = {run.key: run for run in plan.runs}
    for table in report.tables:
        for cell in table.cells:
            trials = _trials(cell, runs, plan, published)
            if trials and cell.kind == "empirical":
                yield RunCell(plan.paper.id, table.id, cell, trials, len(cell.trials))


def kinds(published: PublishedTrials) -> list[tuple[int, str]]:
    """The series and precisions of committed trials, in order."""
    configs = [one.record.config for one in published]
    return sorted({(one.get("series", 0), one.get("precision", FULL_PRECISION)) for one in configs})


def unknown(plans: Sequence[Plan], published: PublishedTrials) -> list[str]:
    """Committed trials that no run of these plans is: specs or settings have changed since.

    In another series or precision they are the same runs.
    """
    runs = {run for plan in plans for run in plan.runs}
    known = {run.key for run in runs} | {
        run.in_series(series).in_precision(precision).key
        for run in runs
        for series, precision in kinds(published)
    }
    return [f"{run}/seed{seed}.json" for run, seed in published.trials if run not in known]


def _noted(cell: CellResult, runs: Runs, plan: Plan, published: PublishedTrials) -> CellResult:
    """A cell whose note says which code trained it."""
    trials = _trials(cell, runs, plan, published)
    if not trials:
        return cell
    run = runs[str(cell.run)]
    edited = sorted(
        {file for one in trials for file in published.changed_since(run, one.record.seed)}
    )
    named = ", ".join(edited) if len(edited) <= _FILES else f"{len(edited)} files"
    since = f"code since changed in {named}" if edited else "its code is unchanged since"
    note = f"trained at {' and '.join(_commits(trials))}; {since}"
    return replace(cell, note="; ".join(filter(None, (cell.note, note))))


def _trials(
    cell: CellResult, runs: Runs, plan: Plan, published: PublishedTrials
) -> tuple[PublishedTrial, ...]:
    run = runs.get(cell.run or "")
    seeds = () if run is None else plan.seeds(run)
    found = (published.trials.get((str(cell.run), seed)) for seed in seeds)
    return tuple(one for one in found if one is not None)


def _commits(trials: Sequence[PublishedTrial]) -> tuple[str, ...]:
    """`commit 0a1b2c3 (fedrepro 0.1.0)` of each code that trained some of these trials."""
    return tuple(dict.fromkeys(f"{_short(one.commit)} (fedrepro {one.version})" for one in trials))


def _short(commit: str | None) -> str:
    if commit is None:
        return "no commit"
    edited = " with edited files" if commit.endswith("+") else ""
    return f"commit {commit[:_COMMIT]}{edited}"
