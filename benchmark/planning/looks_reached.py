"""How far each run has come along the looks that its profile declares.

Claims need unlike numbers of trials, so runs have unlike numbers: a run is asked for as many as the
last look for which all of its trials are there. Those of an unfinished look wait in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from ..config import RunConfig
from .plan import Plan
from .summary import Trial

IsThere = Callable[[RunConfig, int], bool]
"""Whether a trial is finished, or was tried and failed: no run stops before a failed one."""


def up_to_last_look(plan: Plan) -> Plan:
    """The plan with all trials that its looks may show."""
    return replace(plan, trials=plan.looks[-1], asked={}) if plan.looks else plan


def as_far_as_reached(plan: Plan, is_there: IsThere) -> Plan:
    """The plan with as many trials of each run as the look that it has reached; at least the first.

    What other runs start from is asked for as often as these. Without looks the plan is as it was.
    """
    if not plan.looks:
        return plan
    asked = {run.key: max(reached(run, plan.looks, is_there), plan.looks[0]) for run in plan.shown}
    for run in reversed(plan.runs):
        trials = asked.setdefault(run.key, 1)
        if run.start is not None and run.start_trial is None:
            asked[run.start.key] = max(asked.get(run.start.key, 1), trials)
    return replace(plan, asked=asked)


def reached(run: RunConfig, looks: Sequence[int], is_there: IsThere) -> int:
    """The largest look for which all trials of a run are there; 0 before the first."""
    if run.stage == "costs":
        return looks[-1] if is_there(run, 0) else 0
    trials = sum(1 for _ in takewhile(lambda seed: is_there(run, seed), range(looks[-1])))
    return max((look for look in looks if look <= trials), default=0)


def with_starts(run: RunConfig, seed: int) -> Iterator[Trial]:
    """A trial after those that it starts from."""
    if run.start is not None:
        yield from with_starts(run.start, seed if run.start_trial is None else run.start_trial)
    yield run, seed
