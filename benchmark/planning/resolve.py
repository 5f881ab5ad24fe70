"""From a cell to the run that it reads: profile and `--set` over its experiment, then the config.

Cells that differ only in options of other methods, or in the round that they read, share a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...methods.registry import UnknownNameError
from ..config import FULL_PRECISION, RunConfig
from ..errors import SpecError
from ..results import Departure
from ..spec import names, settings
from ..spec.layers import AT, Layered, SettingsLayer, layered
from ..spec.model import Cell, DrawnRun, Experiment, Origin, Override, Profile, Readout
from ..spec.settings import PRECISION, get, leaves
from .configs import Configs, NothingToMeasureError

MEASUREMENTS = ("relevance",)
"""Metrics of an encoder that no client trains: protocols that measure the start of a run."""

COUNTED = ("communication-bits", "client-flops", "client-memory")
"""Formulas whose costs are also counted from rounds that a method makes
(`methods.costs.counting`)."""

ENDS = "the run ends there"
"""Why another round is read than the cell asks for."""


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


class Resolver:
    """Resolves the cells of one plan; equal experiments are resolved once.

    on: a data set of the profile's `on`.
    sets: what `--set` changes, by path.
    effective: positions of the profile's overrides that changed something in a cell so far.
    """

    def __init__(
        self, profile: Profile, on: str | None = None, sets: Mapping[str, Any] | None = None
    ) -> None:
        self._profile, self._on = profile, on
        self._sets: list[SettingsLayer] = [
            (Origin("set", why), Override(path, why, value))
            for why in ("set on the command line",)
            for path, value in (sets or {}).items()
        ]
        self._known: dict[tuple[Any, ...], Resolved] = {}
        self.effective: set[int] = set()

    def overrides(self, bound: Cell | DrawnRun) -> tuple[Override, ...]:
        """What the profile sets out to change of a cell, in order."""
        return self._profile.overrides_for(bound, self._on)

    def resolve(self, bound: Cell | DrawnRun, metric: str | None) -> Resolved:
        """The run behind a cell or a drawn run, and how it is read.

        Raises `UnresolvedError`, a `SpecError`, if settings are missing or refused.
        """
        reason = self._profile.omitted(bound.experiment)
        if reason is not None:
            return Resolved(None, reason, bound.read)
        # Every other metric is one more number of the same run.
        is_own = metric not in names.known("metric") or metric in MEASUREMENTS
        overrides = self.overrides(bound)
        key = settings.key_of(bound.experiment), bound.read.at, is_own and metric, repr(overrides)
        if key not in self._known:
            layers = [*((Origin("profile", one.why), one) for one in overrides), *self._sets]
            below = Layered({**bound.experiment, AT: bound.read.at}, {})
            changed = layered(layers, below)
            self.effective |= changed.effective
            found = _resolved(changed, below.settings, metric)
            if found.config is not None and self._profile.series:
                found = replace(found, config=found.config.in_series(self._profile.series))
            self._known[key] = found
        return self._known[key]


def _resolved(changed: Layered, before: Experiment, metric: str | None) -> Resolved:
    """The run behind an experiment, `at` included, after and before what profile and `--set` do.

    Raises `UnresolvedError`, a `SpecError`, if settings are missing or refused.
    """
    experiment = {name: value for name, value in changed.settings.items() if name != AT}
    read = Readout(changed.settings[AT])
    if metric not in names.known("metric"):
        return Resolved(None, f"metric '{metric}' is not implemented", read)
    configs = Configs(experiment)
    try:
        config = configs.measurement(str(metric)) if metric in MEASUREMENTS else configs.evaluated()
    except UnknownNameError as error:
        what = "method" if error.kind == "federated" else error.kind
        return Resolved(None, f"{what} '{error.name}' is not implemented", read)
    except NothingToMeasureError as error:
        return Resolved(None, str(error), read)
    if configs.refused or configs.missing:
        raise configs.unresolved()
    if unread := _unread(experiment):
        paths = ", ".join(f"'{path}'" for path in unread)
        return Resolved(None, f"setting {paths} is not implemented", read)
    departures = []
    for path, origin in changed.origin.items():
        if path in configs.used or (path == AT and config.stage == "federated"):
            old, new = get(before, path), get(changed.settings, path)
            # What a paper does not state is a reading, told as one (`judging.other_readings`).
            if old != new and (path != PRECISION or old is not None):
                departures.append(Departure(path, shown(old), shown(new), origin.text))
    if config.stage == "measurement":
        return Resolved(config, None, Readout("final"), tuple(departures))
    last = config.options.get("rounds")
    if last is not None and last < 1:
        raise SpecError(f"training.rounds is {last}, so nothing would be measured")
    if last is not None and isinstance(read.at, int) and read.at > last:
        departures.append(Departure(AT, shown(read.at), shown(last), ENDS))
        read = Readout(last)
    return Resolved(config, None, read, tuple(departures))


def _unread(experiment: Experiment) -> list[str]:
    """Paths of settings that no option has; a run would silently ignore them."""
    own = {path for _, what, name in names.used(experiment) for path in names.options(what, name)}
    paths = (path for path, _ in leaves(experiment))
    return [path for path in paths if not settings.is_known(path) and path not in own]


def shown(value: Any) -> str:
    """A setting as departures show it."""
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(shown, value))}]"
    return str(value)


def counting_run(cell: Cell, published: Resolver) -> RunConfig | None:
    """The run that counts the costs of an analytic cell; None for cells that are not counted.

    published: of no override, since costs are counted at the paper's own setting in every profile.

    Raises `SpecError` if a setting is missing or has the wrong type.
    """
    images = get(cell.experiment, "costs.images")
    is_counted = cell.kind == "analytic" and cell.skip is None and cell.formula in COUNTED
    if not is_counted or not isinstance(images, int):
        return None
    rest = {name: value for name, value in cell.experiment.items() if name != "costs"}
    found = published.resolve(replace(cell, experiment=rest, overrides={}), "accuracy").config
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
