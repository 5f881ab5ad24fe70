"""A report on a store's trials whichever code made them, which says what was edited since."""

from __future__ import annotations

from dataclasses import replace

from ..planning.looks_reached import as_stored
from ..planning.plan import Plan
from ..results import Report
from ..store.as_made import AsMade
from ..store.store import Store
from .judge import judge


def judge_as_made(
    plan: Plan, store: Store, trials: int | None, *, command: str, wall_s: float = 0.0
) -> Report:
    """The report of a plan on what `store` holds, stale trials included.

    trials: how many were asked for, None for the profile's.

    Takes and raises otherwise what `judge` does.
    """
    # Not with `kept`: trials of an unfinished look are not shown, and nothing is said of them.
    shown, kept = as_stored(plan, AsMade(store), trials), AsMade(store)
    report = judge(shown, kept, command=command, wall_s=wall_s)
    return replace(report, edited=tuple(sorted(kept.edited)))
