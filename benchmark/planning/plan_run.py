"""From a cell's experiment to the frozen config of the run that it reads.

A config holds the options of what the run itself uses, defaults included, and nothing else: cells
that differ only in options of other methods, or in the round that they read, share a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.builder import Builder, NothingToMeasureError, Pieces
from fedrepro.benchmark.planning.overrides import Overrides, shown
from fedrepro.benchmark.results import Departure
from fedrepro.benchmark.spec.model import Cell, DrawnRun, Experiment, Override, Profile, Read
from fedrepro.benchmark.spec.names import known
from fedrepro.benchmark.spec.shared import Shared
from fedrepro.methods.registry import UnknownNameError

MEASUREMENTS = ("relevance",)
"""Metrics of an encoder that no client trains: protocols that measure the start of a run."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A run and how it is read, or the reason why there is none.

    departures: what the profile, `--on` and `--set` changed of what this very run depends on.
    """

    config: RunConfig | None
    reason: str | None
    read: Read
    departures: tuple[Departure, ...] = ()


def resolve(
    experiment: Experiment,
    read: Read,
    metric: str | None,
    overrides: Sequence[Override],
    where: str,
) -> Resolved:
    """The run behind an experiment after `overrides`; `where` names the cell in messages.

    Raises `SpecError` if a setting is missing or has the wrong type.
    """
    try:
        return _resolve(experiment, read, metric, Overrides(overrides), {})
    except SpecError as error:
        raise SpecError(f"{where}: {error}") from error


def _resolve(
    experiment: Experiment,
    read: Read,
    metric: str | None,
    overrides: Overrides,
    pieces: Pieces,
) -> Resolved:
    if metric not in known("metric"):
        return Resolved(None, f"metric '{metric}' is not implemented", read)
    try:
        changed = overrides.apply(experiment, read)
        builder = Builder.of(changed.experiment, pieces)
        config = builder.measurement(str(metric)) if metric in MEASUREMENTS else builder.evaluated()
    except UnknownNameError as error:
        what = "method" if error.kind == "federated" else error.kind
        return Resolved(None, f"{what} '{error.name}' is not implemented", read)
    except NothingToMeasureError as error:
        return Resolved(None, str(error), read)
    if unread := changed.unread:
        paths = ", ".join(f"'{path}'" for path in unread)
        return Resolved(None, f"setting {paths} is not implemented", read)
    departures = [
        change.departure
        for change in changed.changes
        if change.path in builder.used or (change.path == "at" and config.stage == "federated")
    ]
    if config.stage == "measurement":
        return Resolved(config, None, Read("final"), tuple(departures))
    last, at = config.options.get("rounds"), changed.read
    if last is not None and last < 1:
        raise SpecError(f"training.rounds is {last}, so nothing would be measured")
    if last is not None and isinstance(at.at, int) and at.at > last:
        departures.append(Departure("at", shown(at.at), shown(last), "the run ends there"))
        at = Read(last)
    return Resolved(config, None, at, tuple(departures))


@dataclass(frozen=True)
class Resolver:
    """Resolves the cells of one plan; what several of them share is worked out once.

    profile, on, sets: as in `all_overrides`. Experiments and overrides are known by identity, and
    held for that (`benchmark.spec.shared`).
    """

    profile: Profile
    on: str | None
    sets: Mapping[str, Any]
    _known: dict[tuple[object, ...], tuple[Experiment, Resolved]] = field(default_factory=dict)
    _overrides: dict[int, tuple[object, Overrides]] = field(default_factory=dict)
    _pieces: Pieces = field(default_factory=dict)
    _shared: Shared = field(default_factory=Shared)

    def resolve(self, bound: Cell | DrawnRun, metric: str | None) -> Resolved:
        """The run behind a cell or a drawn run, and how it is read.

        Raises `SpecError` if a setting is missing or has the wrong type.
        """
        # Every other metric is one more number of the same run.
        apart = None if metric in known("metric") and metric not in MEASUREMENTS else metric
        local = bound.overrides.get(self.profile.name, ())
        key = (id(bound.experiment), id(local), bound.read.at, apart)
        if key not in self._known:
            self._known[key] = bound.experiment, self._resolved(bound, metric, local)
        return self._known[key][1]

    def _resolved(
        self, bound: Cell | DrawnRun, metric: str | None, local: Sequence[Override]
    ) -> Resolved:
        reason = self.profile.omitted(bound.experiment)
        if reason is not None:
            return Resolved(None, reason, bound.read)
        if id(local) not in self._overrides:
            every = all_overrides(self.profile, bound.overrides, self.on, self.sets)
            self._overrides[id(local)] = local, Overrides(every, self._shared)
        _, overrides = self._overrides[id(local)]
        return _resolve(bound.experiment, bound.read, metric, overrides, self._pieces)


def all_overrides(
    profile: Profile,
    local: Mapping[str, Sequence[Override]],
    on: str | None,
    sets: Mapping[str, Any],
) -> tuple[Override, ...]:
    """What changes a cell's experiment, in order: profile, the cell's own, `--on`, `--set`."""
    return (
        *profile.overrides,
        *local.get(profile.name, ()),
        *(profile.on[on] if on is not None else ()),
        *(Override(path, value, "set on the command line") for path, value in sets.items()),
    )
