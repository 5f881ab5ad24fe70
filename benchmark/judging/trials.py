"""What judging reads: by run and seed, a finished trial or the reason why there is none."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ...methods.outcome import Arrays
from ..config import RunConfig, chain
from ..planning.plan import Plan
from ..store.record import TrialRecord
from ..store.store import Store

NOT_STORED = "no finished trial is stored"


@dataclass(frozen=True)
class Finished:
    """A trial that is there.

    arrays: reads its arrays by name; raises `StoreError` if they are missing or damaged.
    edited: files that were edited since it was made; none of the present code.
    """

    record: TrialRecord
    arrays: Callable[[], Arrays] = dict
    edited: tuple[str, ...] = ()


@dataclass(frozen=True)
class Missing:
    """A trial that is not there, why, and whether it was tried and failed."""

    why: str = NOT_STORED
    failed: bool = False


Trials = Mapping[tuple[str, int], Finished | Missing]
"""By run key and seed."""


def load_trials(
    plan: Plan,
    store: Store,
    not_run: Mapping[str, str] | None = None,
    *,
    include_stale: bool = False,
) -> Trials:
    """The trials that a plan may show, up to its last look.

    not_run: by run key, why the executor did not try a run (data that are missing). include_stale:
    whether trials of earlier code count where the present one has made none.

    Raises `StoreError` for a record that cannot be read.
    """
    names = dict.fromkeys((*plan.up_to_last_look().trials_to_run(), *_drawn(plan)))
    return {
        (run.key, seed): find_trial(store, run, seed, not_run, include_stale=include_stale)
        for run, seed in names
    }


def find_trial(
    store: Store,
    run: RunConfig,
    seed: int,
    not_run: Mapping[str, str] | None = None,
    *,
    include_stale: bool = False,
) -> Finished | Missing:
    """One trial; takes and raises what `load_trials` does.

    A trial that failed when it was last tried is missing, whatever earlier code has made.
    """
    record, edited = store.find(run, seed), list[str]()
    if record is None and (error := store.error(run, seed)) is not None:
        return Missing(error, failed=True)
    if record is None and include_stale:
        earlier = store.earlier(run, seed)
        if earlier:
            record, edited = max(earlier, key=lambda one: str(one[0].provenance.get("started", "")))
    if record is not None:
        found = record
        return Finished(found, lambda: store.load_arrays(found), tuple(edited))
    for one in chain(run):
        if not_run and one.key in not_run:
            return Missing(not_run[one.key])
    if stale := store.stale(run, seed):
        return Missing(f"stored trials are stale, edited since: {', '.join(stale)}")
    return Missing()


def _drawn(plan: Plan) -> Iterator[tuple[RunConfig, int]]:
    """The single trials that figures draw."""
    for one in plan.drawings:
        figure = plan.paper.table(one.cell.table).figure
        if one.config is not None and figure is not None:
            yield one.config, figure.trial
