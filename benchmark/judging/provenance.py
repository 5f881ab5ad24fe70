"""Where the numbers of a report come from: its runs, the machine, versions, seeds and data. Also
what a table was run on here and in the paper, and the command that runs it again."""

import json
import shlex
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from ..config import chain
from ..data_names import title
from ..planning.plan import Plan, PlannedCell
from ..results import Provenance, RunSummary
from ..spec.folders import option_for
from ..spec.settings import PRECISION, get
from ..stats.intervals import describe
from ..version import __version__, commit
from .evidence import Evidence

_MOST = 3  # more values than this are counted, not listed


def run_summaries(plan: Plan, evidence: Evidence) -> tuple[RunSummary, ...]:
    """Every run of a plan, with what its finished trials took and counted."""
    sharing = plan.sharing()
    return tuple(
        RunSummary(
            key=config.key,
            description=config.description,
            seeds=tuple(record.seed for record in records),
            cells=sharing.get(config, 0),
            wall_s=sum(float(record.provenance.get("wall_s", 0.0)) for record in records),
            config={**config.as_dict(), "start": config.init_from and config.init_from.key},
            counts={
                name: sample.mean
                for name in dict.fromkeys(name for one in records for name in one.counts)
                if (sample := describe([x.counts[name] for x in records if name in x.counts]))
            },
            errors=evidence.errors(config),
        )
        for config in plan.runs
        for records in [evidence.records(config)]
    )


def provenance(plan: Plan, evidence: Evidence, command: str, wall_s: float) -> Provenance:
    """Where all finished trials of a plan come from, taken together."""
    records = evidence.records(*plan.runs)
    found = [record.provenance for record in records]
    versions = [dict(one.get("versions", {})) for one in found]
    here = commit() or ""
    return Provenance(
        version=__version__,
        commit=here.rstrip("+") or None,
        dirty=here.endswith("+"),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command,
        device=", ".join(dict.fromkeys(str(one.get("device", "unknown")) for one in found)),
        versions={
            name: ", ".join(dict.fromkeys(one[name] for one in versions if name in one))
            for name in dict.fromkeys(name for one in versions for name in one)
        },
        seeds=tuple(sorted({record.seed for record in records})),
        data={part: dict(used) for one in found for part, used in one.get("data", {}).items()},
        wall_s=wall_s,
        training_s=sum(float(one.get("wall_s", 0.0)) for one in found),
        peak_bytes=max((one.get("peak_bytes") or 0 for one in found), default=0) or None,
    )


def run_on(plan: Plan, cells: Sequence[PlannedCell]) -> str:
    """Data, clients, rounds and trials; empty where nothing of these cells is trained. An example
    is `coloured letters, 12 clients, 15 rounds, 10 trials (paper: STL-10, 60 clients, 100 rounds)`;
    the paper's part is left out where both are alike."""
    here, there = _used(cells)
    if not here:
        return ""
    trials = {len(plan.seeds(one.config)) for one in cells if one.config is not None}
    upto, noun = "up to " if len(trials) > 1 else "", "trial" if trials == {1} else "trials"
    ours, theirs = _said(here), _said(there)
    paper = f" (paper: {theirs})" if theirs and theirs != ours else ""
    return f"{ours}, {upto}{max(trials)} {noun}{paper}"


def other_data(cells: Iterable[PlannedCell]) -> str:
    """The data of `run_on` alone, where the paper's are others; else empty."""
    ours, theirs = (_said([run[:1] for run in runs]) for runs in _used(cells))
    return "" if ours == theirs else ours


def _used(cells: Iterable[PlannedCell]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Data, clients and rounds of the runs of cells, here and in the paper."""
    here, there = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    for one in cells:
        if one.config is not None:
            # The run with clients; itself where none has any.
            run = next((run for run in chain(one.config) if run.clients is not None), one.config)
            count = (run.clients or {}).get("count")
            here.append((title(run.data["name"]), count, run.options.get("rounds")))
            paths = ("clients.data", "clients.count", "evaluation.rounds", "training.rounds")
            data, clients, *rounds = (get(one.cell.experiment, path) for path in paths)
            there.append((data and title(data), clients, rounds[0] or rounds[1]))
    return here, there


def _said(runs: Iterable[tuple[Any, ...]]) -> str:
    parts = []
    for values, noun in zip(zip(*runs, strict=True), ("", " clients", " rounds"), strict=False):
        distinct = dict.fromkeys(value for value in values if value is not None)
        found = [str(value) for value in (sorted(distinct) if noun else distinct)]
        if len(found) > _MOST:
            text = f"{found[0]} to {found[-1]}" if noun else f"{len(found)} data sets"
        else:
            text = " or ".join(filter(None, (", ".join(found[:-1]), *found[-1:])))
        parts += [f"{text}{noun}"] if found else []
    return ", ".join(parts)


def command_of(plan: Plan, table: str, row: Sequence[str] | None = None) -> str:
    """The command that runs a table, or one of its rows, as a plan does."""
    paper = plan.paper
    words = ["fedrepro", "run", paper.id, *option_for(paper.id, paper.file), "--tables", table]
    if row is not None:
        words += ["--rows", "|".join(row)]
    words += ["--profile", plan.profile.name]
    if plan.on is not None:
        words += ["--on", plan.on]
    trials = _looked_at(plan, table, row)
    if plan.has_other_trials or trials != plan.trials:
        words += ["--trials", str(trials)]
    if plan.has_other_series:
        words += ["--series", str(plan.profile.series)]
    for reading in paper.readings:
        words += ["--reading", reading]
    for path, value in plan.sets:
        # JSON spells text, numbers, truth and flat lists as TOML does.
        text = json.dumps(value, default=str, ensure_ascii=False)
        is_precision = path == PRECISION
        words += ["--precision", str(value)] if is_precision else ["--set", f"{path}={text}"]
    return shlex.join(words)


def _looked_at(plan: Plan, table: str, row: Sequence[str] | None) -> int:
    """How many trials a table or row shows; with interim analyses, of the run with most."""
    labelled = [(one, one.cell.row) for one in plan.cells]
    labelled += [(one, one.cell.parts) for one in plan.drawings]
    asked = (
        plan.asked.get(one.config.key, plan.trials)
        for one, label in (labelled if plan.looks else ())
        if one.config is not None and one.cell.table == table and row in (None, label)
    )
    return max(asked, default=plan.trials)
