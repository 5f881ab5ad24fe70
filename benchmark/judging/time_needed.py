"""How long the trials take that would decide an open claim."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from ..claims.nodes import Elementary, key_of
from ..planning.looks_reached import with_starts
from ..results import ClaimResult
from .evidence import Evidence


def seconds_needed(
    result: ClaimResult, comparisons: Sequence[Elementary], evidence: Evidence
) -> float | None:
    """Seconds of one process for the trials that a claim lacks until `trials_needed`.

    A trial takes what the stored ones of its run took on average. None where no number of trials is
    named, or a run has no trial to go by.
    """
    if result.trials_needed is None:
        return None
    keys = {leaf.key for one in comparisons for leaf in one.leaves}
    runs = dict.fromkeys(
        one.config for one in evidence.plan.cells if key_of(one.cell) in keys and one.config
    )
    lacking = {
        (run.key, seed): run
        for config in runs
        if config.stage != "costs"
        for wanted in range(result.trials_needed)
        for run, seed in with_starts(config, wanted)
        if evidence.record(run, seed) is None
    }
    each = {
        run.key: [float(one.provenance.get("wall_s", 0.0)) for one in evidence.records(run)]
        for run in lacking.values()
    }
    if not all(each.values()):
        return None
    return sum(mean(each[key]) for key, _ in lacking)
