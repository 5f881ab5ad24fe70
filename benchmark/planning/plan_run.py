"""From a cell to the run that it reads: profile, overrides, config, departures.

Cells that differ only in options of other methods, or in the round that they read, share a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...methods.registry import UnknownNameError
from ..config import FULL_PRECISION, RunConfig
from ..errors import SpecError
from ..results import Departure
from ..spec.model import Cell, DrawnRun, Experiment, Override, Profile, Readout
from ..spec.names import known
from ..spec.settings import PRECISION, get, key_of
from .builder import Builder, NothingToMeasureError
from .overrides import override, shown

MEASUREMENTS = ("relevance",)
"""Metrics of an encoder that no client trains: protocols that measure the start of a run."""

COUNTED = ("communication-bits", "client-flops", "client-memory")
"""Formulas whose costs are also counted from rounds that a method makes
(`methods.costs.counting`)."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A run and how it is read, or the reason why there is none.

    read: after the profile's overrides (T = 25 may be read at round 5).
    departures: what the profile, `--on` and `--set` changed of what this very run depends on; none
    says that it is not scaled.
    """

    config: RunConfig | None
    reason: str | None
    read: Readout
    departures: tuple[Departure, ...] = ()


def resolve(
    experiment: Experiment, read: Readout, metric: str | None, overrides: Sequence[Override]
) -> Resolved:
    """The run behind an experiment after `overrides`.

    Raises `SpecError` if a setting is missing or has the wrong type.
    """
    if metric not in known("metric"):
        return Resolved(None, f"metric '{metric}' is not implemented", read)
    try:
        changed = override(experiment, read, overrides)
        builder = Builder(changed.experiment)
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
        one
        for one in changed.departures
        if one.setting in builder.used or (one.setting == "at" and config.stage == "federated")
        # What a paper does not state is a reading, told as one (`judging.other_readings`).
        if one.setting != PRECISION or get(changed.before, PRECISION) is not None
    ]
    if config.stage == "measurement":
        return Resolved(config, None, Readout("final"), tuple(departures))
    last, at = config.options.get("rounds"), changed.read
    if last is not None and last < 1:
        raise SpecError(f"training.rounds is {last}, so nothing would be measured")
    if last is not None and isinstance(at.at, int) and at.at > last:
        departures.append(Departure("at", shown(at.at), shown(last), "the run ends there"))
        at = Readout(last)
    return Resolved(config, None, at, tuple(departures))


class Resolver:
    """Resolves the cells of one plan; equal experiments are resolved once.

    on: a data set of the profile's `on`.
    sets: what `--set` changes, by path.
    """

    def __init__(
        self, profile: Profile, on: str | None = None, sets: Mapping[str, Any] | None = None
    ) -> None:
        self._profile, self._on = profile, on
        self._sets = [
            Override(path, "set on the command line", value) for path, value in (sets or {}).items()
        ]
        self._known: dict[tuple[Any, ...], Resolved] = {}

    def resolve(self, bound: Cell | DrawnRun, metric: str | None) -> Resolved:
        """The run behind a cell or a drawn run, and how it is read.

        Raises `SpecError` if a setting is missing or has the wrong type.
        """
        reason = self._profile.omitted(bound.experiment)
        if reason is not None:
            return Resolved(None, reason, bound.read)
        # Every other metric is one more number of the same run.
        apart = None if metric in known("metric") and metric not in MEASUREMENTS else metric
        overrides = (*self._profile.overrides_for(bound, self._on), *self._sets)
        key = key_of(bound.experiment), bound.read.at, apart, repr(overrides)
        if key not in self._known:
            found = resolve(bound.experiment, bound.read, metric, overrides)
            if found.config is not None and self._profile.series:
                found = replace(found, config=found.config.in_series(self._profile.series))
            self._known[key] = found
        return self._known[key]


def counting_run(cell: Cell, published: Resolver) -> RunConfig | None:
    """The run that counts the costs of an analytic cell; None for cells that are not counted.

    published: of no override, since costs are counted at the paper's own setting in every profile.

    Raises `SpecError` if a setting is missing or has the wrong type.
    """
    images = get(cell.experiment, "costs.images")
    is_counted = cell.kind == "analytic" and cell.skip is None and cell.formula in COUNTED
    if not is_counted or not isinstance(images, int):
        return None
    settings = {name: value for name, value in cell.experiment.items() if name != "costs"}
    bound = replace(cell, experiment=settings, overrides={})
    found = published.resolve(bound, "accuracy").config
    if found is None:
        return None
    trained = found.start or found
    assert trained.clients is not None
    clients = {
        "count": trained.clients["count"],
        "images": images,
        "code_rate": str(get(cell.experiment, "costs.code_rate")),
    }
    return replace(trained, stage="costs", clients=clients, precision=FULL_PRECISION)
