"""How far each run has come along the looks that its profile declares.

Claims need unlike numbers of trials, so runs have unlike numbers: a run is asked for as many as the
last look for which all of its trials are there. Those of an unfinished look wait in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from ..config import RunConfig
from ..spec.model import Profile
from ..store.as_made import AsMade
from ..store.store import Store
from .plan import Plan
from .summary import Trial

IsThere = Callable[[RunConfig, int], bool]
"""Whether a trial is finished."""


def looks_of(profile: Profile, most: int | None = None) -> tuple[int, ...]:
    """With how many trials claims are looked at, at most `most` (None for all looks declared)."""
    declared = profile.looks or (profile.trials if most is None else most,)
    if most is None:
        return declared
    return tuple(look for look in declared if look <= most) or (most,)


def looks_at(plan: Plan, run: RunConfig, looks: Sequence[int]) -> Sequence[int]:
    """Those of one run: where its table has more trials than the profile's others, all of them."""
    more = None if plan.profile.looks else plan.asked.get(run.key)
    return looks if more is None else (more,)


def reached(run: RunConfig, looks: Sequence[int], is_there: IsThere) -> int:
    """The largest look for which all trials of a run are there; 0 before the first."""
    if run.stage == "costs":
        return looks[-1] if is_there(run, 0) else 0
    trials = sum(1 for _ in takewhile(lambda seed: is_there(run, seed), range(looks[-1])))
    return max((look for look in looks if look <= trials), default=0)


def as_far_as_reached(plan: Plan, looks: Sequence[int], is_there: IsThere) -> Plan:
    """The plan with as many trials of each run as the look that it has reached; at least the first.

    What other runs start from is asked for as often as these.
    """
    own = {run: looks_at(plan, run, looks) for run in plan.shown}
    asked = {run.key: max(reached(run, at, is_there), at[0]) for run, at in own.items()}
    for run in reversed(plan.runs):
        trials = asked.setdefault(run.key, 1)
        if run.start is not None and run.start_trial is None:
            asked[run.start.key] = max(asked.get(run.start.key, 1), trials)
    return replace(plan, asked=asked)


def as_stored(plan: Plan, store: Store | AsMade, trials: int | None) -> Plan:
    """What a report on a store shows: of a profile with looks, each run as far as it has come.

    Failed trials count as tried: a run must not seem to have stopped before them. `trials` that
    were asked for are taken as they are.
    """
    if trials is not None or not plan.profile.looks:
        return plan

    def tried(run: RunConfig, seed: int) -> bool:
        return store.find(run, seed) is not None or store.error(run, seed) is not None

    return as_far_as_reached(plan, plan.profile.looks, tried)


def with_starts(run: RunConfig, seed: int) -> Iterator[Trial]:
    """A trial after those that it starts from."""
    if run.start is not None:
        yield from with_starts(run.start, seed if run.start_trial is None else run.start_trial)
    yield run, seed
