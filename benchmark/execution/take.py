"""Takes finished trials of an ordinary store among those that are committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..config import RunConfig
from ..planning.looks_reached import with_starts
from ..planning.plan import Plan
from ..planning.summary import Trial
from ..store.published import Name, PublishedTrials
from ..store.record import TrialRecord
from ..store.store import Store


@dataclass
class Taken:
    """What taking came to. new, known: trials; left: why others were not taken, how many each."""

    new: int = 0
    known: int = 0
    left: Counter[str] = field(default_factory=Counter)

    def line(self, root: object) -> str:
        words = [f"{self.new} trials taken from {root}", f"{self.known} published already"]
        words += [f"{n} left: {reason}" for reason, n in self.left.items()]
        return "; ".join(words)


def take(plans: Iterable[Plan], store: Store, published: PublishedTrials) -> Taken:
    """Publishes the finished trials of the cells that these plans can judge, and their starts.

    Trials of code that has been edited since are taken too: they say which commit made them. Of one
    trial made by several versions that which was begun last counts. Trials of other data than the
    release are left, as nothing could be judged by them.

    Raises `StoreError` if a store cannot be read or written.
    """
    stored = _stored(store)
    taken = Taken()
    for run, seed in dict.fromkeys(_wanted(plans)):
        record = stored.get((run.key, seed))
        if record is None:
            continue
        problem = _problem(run, seed, stored)
        if problem is not None:
            taken.left[problem] += 1
        elif published.add(record, {}):
            taken.new += 1
        else:
            taken.known += 1
    return taken


def _stored(store: Store) -> Mapping[Name, TrialRecord]:
    """Every sound trial, the last begun of those that several versions of the code made."""
    found: dict[Name, TrialRecord] = {}
    for record in store.records():
        name = record.run, record.seed
        if name not in found or _started(found[name]) < _started(record):
            found[name] = record
    return found


def _started(record: TrialRecord) -> str:
    return str(record.provenance.get("started", ""))


def _wanted(plans: Iterable[Plan]) -> Iterator[Trial]:
    for plan in plans:
        for one in plan.cells:
            judged = one.cell.kind == "empirical" and one.cell.printed.value is not None
            if one.config is None or one.departures or not judged:
                continue
            for seed in plan.seeds(one.config):
                yield from with_starts(one.config, seed)


def _problem(run: RunConfig, seed: int, stored: Mapping[Name, TrialRecord]) -> str | None:
    """Why nothing could be judged by a trial: it, or what it starts from, read other files."""
    for before, own in with_starts(run, seed):
        record = stored.get((before.key, own))
        if record is None:
            return "the trial that it starts from is not stored"
        for part, used in record.provenance.get("data", {}).items():
            if not used.get("is_release", False):
                return f"{part} is not the released files"
    return None
