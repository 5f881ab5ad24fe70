"""Trains to each declared interim analysis in turn, and only what open claims need.

Before each step but the first the claims are judged, and those that are decided ask for no more.
The runs of an open claim are trained seed by seed, so that their trials are paired wherever
training ends. What was trained is in the store, so that the next call goes on from there.
"""

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from ..claims.nodes import is_trained
from ..config import RunConfig, Trial, with_starts
from ..judging.evidence import load_trials
from ..judging.judge import judge
from ..planning.estimate import duration
from ..planning.headroom import METRIC
from ..planning.plan import Plan
from ..store.store import Store
from .jobs import Execution

ClaimName = tuple[str, str]  # table and id


def train_until_decided(
    plan: Plan,
    store: Store,
    train: Callable[[Sequence[Trial], float], Execution],
    budget: float = math.inf,
    say: Callable[[str], None] = lambda line: None,
    clock: Callable[[], float] = time.monotonic,
) -> Execution:
    """Trains until no claim is open, the last interim analysis is reached or the budget is spent.
    `train`: trains trials in order, but for those that are stored, for at most so many seconds."""
    runs, ends = runs_of_claims(plan), clock() + budget
    done, open_ones, asked = Execution(), list(runs), set[Trial]()
    for look in plan.looks or (None,):
        if asked:
            if clock() >= ends:
                break
            report = judge(plan, load_trials(plan, store, done.not_run), command="", audit=False)
            tables = (*report.tables, *report.controls)
            # What was not tested has no trials to come.
            words = {(one.id, claim.id): claim.word for one in tables for claim in one.claims}
            open_ones = [one for one in runs if words.get(one) in ("OPEN", "NOT SEEN")]
        if not open_ones:
            break
        left_s = max(0.0, ends - clock())
        wanted = dict.fromkeys(run for name in open_ones for run in runs[name])
        shown = plan if look is None else replace(plan, trials=look, asked={})
        trials = [one for one in _by_seed(shown, wanted) if one not in asked]
        asked.update(trials)
        to = "" if look is None else f" for the interim analysis with {look}"
        left = "" if math.isinf(left_s) else f", {duration(left_s)} are left"
        said = f"{len(open_ones)} of {len(runs)} claims are open; next{to}: {len(trials)} trials"
        say(said + left)
        done.add(train(trials, left_s))
    return done


def runs_of_claims(plan: Plan) -> Mapping[ClaimName, tuple[RunConfig, ...]]:
    """By claim the runs that its cells read, of all claims that this plan can decide. A stated size
    of a scaled run is not judged, so nothing is trained for it."""
    rooms = [one for one in plan.controls if one.cell.metric == METRIC]
    planned = {one.cell.key: one for one in plan.cells}
    scaled = {key for key, one in planned.items() if one.departures}
    found = {}
    for table, claims in plan.bound.items():
        for claim, bound in claims:
            cells = [planned.get(leaf.key) for one in bound for leaf in one.leaves]
            read = [*cells, *(rooms if claim.control is not None else ())]
            runs = dict.fromkeys(one.config for one in read if one is not None and one.config)
            able = all(one and (one.config or one.cell.kind == "analytic") for one in cells)
            sizes = (leaf for one in bound if one.relation == "=" for leaf in one.leaves)
            is_scaled = any(leaf.key in scaled and is_trained(leaf) for leaf in sizes)
            if runs and able and not is_scaled:
                found[table, claim.id] = tuple(runs)
    return found


def _by_seed(plan: Plan, runs: Collection[RunConfig]) -> Iterator[Trial]:
    """The trials of some runs seed by seed, each once and after those that it starts from."""
    seeds = {run: frozenset(plan.seeds(run)) for run in runs}
    own = ((run, seed) for seed in sorted(set().union(*seeds.values())) for run in runs)
    asked = (one for run, seed in own if seed in seeds[run] for one in with_starts(run, seed))
    yield from dict.fromkeys(asked)
