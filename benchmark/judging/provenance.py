"""Where the numbers of a report come from: its runs, the machine, versions, seeds and data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from ..planning.plan import Plan
from ..results import Provenance, RunSummary
from ..stats.intervals import describe
from ..store.record import TrialRecord
from ..training.checkout import commit
from ..version import __version__
from .evidence import Evidence


def run_summaries(plan: Plan, evidence: Evidence) -> tuple[RunSummary, ...]:
    """Every run of a plan, with what its finished trials took and counted."""
    sharing = plan.sharing()
    summaries = []
    for config in plan.runs:
        records = evidence.records(config)
        start = None if config.start is None else config.start.key
        summaries.append(
            RunSummary(
                key=config.key,
                description=config.description,
                seeds=tuple(record.seed for record in records),
                cells=sharing.get(config, 0),
                wall_s=sum(float(record.provenance.get("wall_s", 0.0)) for record in records),
                config={**config.as_dict(), "start": start},
                counts=_counts(records),
                errors=evidence.errors(config),
                source=dict(records[0].source) if records else {},
            )
        )
    return tuple(summaries)


def provenance(plan: Plan, evidence: Evidence, command: str, wall_s: float) -> Provenance:
    """Where all finished trials of a plan come from, taken together."""
    records = [record for run in plan.runs for record in evidence.records(run)]
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
            portion: dict(used) for one in found for portion, used in one.get("data", {}).items()
        },
        wall_s=wall_s,
        training_s=sum(float(one.get("wall_s", 0.0)) for one in found),
    )


def _counts(records: Sequence[TrialRecord]) -> Mapping[str, float]:
    """What the trials of a run counted: the mean over those that did."""
    samples = {
        name: describe([one.counts[name] for one in records if name in one.counts])
        for name in dict.fromkeys(name for one in records for name in one.counts)
    }
    return {name: sample.mean for name, sample in samples.items() if sample is not None}


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))
