"""From a cell to the run that it reads: profile and `--set` over its experiment, then the config.

A config holds the options of what the run itself uses, defaults included, and nothing else. So
cells that differ only in options of other methods, or in the round that they read, share a run.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ...methods import registry
from ...methods.registry import UnknownNameError
from ..config import FULL_PRECISION, RunConfig
from ..errors import SpecError
from ..results import Departure
from ..spec import names, settings
from ..spec.layers import AT, Layered, SettingsLayer, layered
from ..spec.model import AS_PUBLISHED, Cell, Experiment, Origin, Override, Profile
from ..spec.names import NONE
from ..spec.settings import PRECISION, get
from .cautions import cautions

MEASUREMENTS = {
    "relevance": "relevance",
    **dict.fromkeys(("headroom", "probe_pretrained", "probe_random", "probe_pixels"), "headroom"),
}
"""By metric of an encoder that no client trains, the protocol that measures the start of a run."""

COUNTED = ("communication-bits", "client-flops", "client-memory")
"""Formulas whose costs are also counted from a method's rounds (`methods.costs.counting`)."""

ENDS = "the run ends there"
"""Why another round is read than the cell asks for."""


class UnresolvedError(SpecError):
    """Everything for which an experiment has no config. `refused`: options that a class refuses.
    `missing`: settings that are not given."""

    def __init__(self, refused: Sequence[str], missing: Sequence[str]) -> None:
        self.refused = tuple(refused)
        super().__init__("; ".join((*refused, *missing)))


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell, the run that it reads and how, or the reason why there is none.

    `read`: after the profile's overrides (T = 25 may be read at round 5). `departures`: what
    profile, `--on` and `--set` changed of what this run depends on. `used`: the paths of the
    settings that the run takes. `cautions`: of `planning.cautions`."""

    config: RunConfig | None
    reason: str | None
    read: int | Literal["final", "best"]
    departures: tuple[Departure, ...] = ()
    cell: Cell = field(kw_only=True)
    used: frozenset[str] = frozenset()
    cautions: tuple[str, ...] = ()


class Resolver:
    """Resolves the cells of one plan; equal experiments are resolved once.

    `on`: a data set of the profile's `on`. `sets`: what `--set` changes, by path. `metrics`: of
    other packages, which every federated run measures. `pin`: the name of data of one's own with
    the checksum of their content. `effective`: positions of the profile's overrides that changed
    something in a cell so far. `known`: the first cell of each experiment."""

    def __init__(
        self,
        profile: Profile,
        on: str | None = None,
        sets: Mapping[str, Any] | None = None,
        metrics: Sequence[str] = (),
        pin: Callable[[str], str] | None = None,
    ) -> None:
        self.profile, self._on, self._metrics, self._pin = profile, on, metrics, pin
        why = "set on the command line"
        self._sets: list[SettingsLayer] = [
            (Origin("set", why), Override(path, why, value)) for path, value in (sets or {}).items()
        ]
        self.known: dict[tuple[Any, ...], PlannedCell] = {}
        self.effective: set[int] = set()

    def overrides(self, bound: Cell) -> tuple[Override, ...]:
        """All overrides of a cell in order: the paper's, the table's to the row's, those of `on`.
        Raises `KeyError` if the profile cannot be put on that data set."""
        profile, data = self.profile, self._on or self.profile.data
        own = bound.overrides.get(profile.source, ())
        return profile.overrides + own + (() if data is None else profile.on[data])

    def resolve(self, bound: Cell, metric: str | None) -> PlannedCell:
        """A cell's run, and how it is read; `UnresolvedError` for missing or refused settings."""
        left_out = () if self.profile.whole else self.profile.omit
        whys = (one.why for one in left_out if get(bound.experiment, one.path) == one.value)
        if why := next(whys, None) or self.profile.why_left_out(bound):
            return PlannedCell(None, why, bound.read, cell=bound)
        # Every other metric is one more number of the same run.
        is_own = not names.exists("metric", metric) or metric in MEASUREMENTS
        overrides = self.overrides(bound)
        key = settings.key_of(bound.experiment), bound.read, is_own and metric, repr(overrides)
        if key not in self.known:
            layers = [*((Origin("profile", one.why), one) for one in overrides), *self._sets]
            below = Layered({**bound.experiment, AT: bound.read}, {})
            changed = layered(layers, below)
            self.effective |= changed.effective
            if self._pin is not None:
                changed = layered(_pins(changed.settings, self._pin), changed)
            found = _resolved(bound, changed, below.settings, metric, self._metrics)
            if (run := found.config) is not None:
                told = tuple(cautions(bound, run, layers))
                run = run.in_seed_block(self.profile.series)
                found = replace(found, config=run, cautions=told)
            self.known[key] = found
        return replace(self.known[key], cell=bound)

    def counting_run(self, cell: Cell) -> RunConfig | None:
        """The run that counts the costs of an analytic cell; None for cells that are not counted.
        Costs are counted at the paper's own setting in every profile. Raises `SpecError` if a
        setting is missing or has the wrong type."""
        images = get(cell.experiment, "costs.images")
        is_counted = cell.kind == "analytic" and cell.skip is None and cell.formula in COUNTED
        if not is_counted or not isinstance(images, int):
            return None
        rest = {name: value for name, value in cell.experiment.items() if name != "costs"}
        as_published = replace(cell, experiment=rest, overrides={})
        found = Resolver(AS_PUBLISHED).resolve(as_published, "accuracy").config
        if found is None:
            return None
        trained = found.init_from or found
        assert trained.clients is not None
        clients = {
            "count": trained.clients["count"],
            "images": images,
            "code_rate": str(get(cell.experiment, "costs.code_rate")),
        }
        return replace(trained, stage="costs", clients=clients, precision=FULL_PRECISION)


def _pins(experiment: Experiment, pin: Callable[[str], str]) -> Iterator[SettingsLayer]:
    """Names of data of one's own with their checksums, where they have none."""
    for path, what, name in names.used(experiment):
        if what == "data set" and "#" not in name and names.is_own_data(name):
            why = "the spec names no checksum of these data"
            yield Origin("profile", why), Override(path, why, pin(name))


def _resolved(
    cell: Cell, changed: Layered, before: Experiment, metric: str | None, metrics: Sequence[str]
) -> PlannedCell:
    """The run behind an experiment, `at` included, after and before what profile and `--set` do.
    Raises `UnresolvedError`, a `SpecError`, if settings are missing or refused."""
    experiment = {name: value for name, value in changed.settings.items() if name != AT}
    read = changed.settings[AT]
    if not names.exists("metric", metric):
        return PlannedCell(None, f"metric '{metric}' is not implemented", read, cell=cell)
    making = _Making(experiment, metrics)
    try:
        config = making.measurement(str(metric)) if metric in MEASUREMENTS else making.evaluated()
    except UnknownNameError as error:
        what = "method" if error.kind == "federated" else error.kind
        return PlannedCell(None, f"{what} '{error.name}' is not implemented", read, cell=cell)
    if config is None:
        why = f"no pre-trained encoder whose {metric} could be measured"
        return PlannedCell(None, why, read, cell=cell)
    if making.refused or making.missing:
        raise UnresolvedError(making.refused, making.missing)
    departures = []
    for path, origin in changed.origin.items():
        if path in making.used or (path == AT and config.stage == "federated"):
            old, new = get(before, path), get(changed.settings, path)
            # What a paper does not state is a reading, told as one (`judging.other_readings`).
            if old != new and (path != PRECISION or old is not None):
                departures.append(Departure(path, shown(old), shown(new), origin.text))
    used, last = frozenset(making.used), config.options.get("rounds")
    if config.stage == "measurement":
        read, last = "final", None
    if last is not None and last < 1:
        raise SpecError(f"training.rounds is {last}, so nothing would be measured; give at least 1")
    if last is not None and isinstance(read, int) and read > last:
        departures.append(Departure(AT, shown(read), shown(last), ENDS))
        read = last
    return PlannedCell(config, None, read, tuple(departures), cell=cell, used=used)


class _Making:
    """Makes the config of an experiment, and notes all that is wrong with it on the way. `used`:
    the paths that the config depends on. `refused`, `missing`: as of `UnresolvedError`; where there
    is any, the config is of no use. Methods raise `UnknownNameError` for unknown names."""

    def __init__(self, experiment: Experiment, metrics: Sequence[str]) -> None:
        self._experiment, self._metrics = experiment, tuple(metrics)
        self.used: set[str] = set()
        self.refused: list[str] = []
        self.missing: list[str] = []

    def evaluated(self) -> RunConfig:
        """The run of the method, or of the protocol that evaluates what the method trained."""
        start = self._start()
        is_shared = start is not None and start.stage == "pretraining" and self._is_shared()
        trained = self._clients_run(self._name("method"), start, 0 if is_shared else None)
        if (name := self._get("evaluation.protocol", NONE)) == NONE:
            return trained
        given = trained.data
        data = self._data(
            self._get("evaluation.data", given["name"]),
            self._get("evaluation.part", given["part"]),
            self._get("evaluation.test_part", given["test_part"]),
            given["images"],
        )
        return self._measured(name, trained, data)

    def measurement(self, metric: str) -> RunConfig | None:
        """The measurement of the encoder that is pre-trained centrally, None where none is."""
        start = self._start()
        if start is None or start.stage != "pretraining":
            return None
        trial = 0 if self._is_shared() else None
        return self._measured(MEASUREMENTS[metric], start, self._client_data(), trial)

    def _measured(
        self, name: str, start: RunConfig, data: dict[str, Any], trial: int | None = None
    ) -> RunConfig:
        """The run of a protocol on what another run trained."""
        protocol = registry.find("protocol", name)
        made = self._made(protocol, "evaluation", f"protocol '{name}'")
        return RunConfig(
            stage="measurement",
            method=name,
            options=registry.options_of(made),
            data=data if protocol.tests else {**data, "test_part": None},
            encoder=start.encoder,
            clients=start.clients if protocol.federated else None,
            augmentation=self._section("augmentation") if made.draws_views else None,
            init_from=start,
            init_trial=trial,
            precision=start.precision,
        )

    def _start(self) -> RunConfig | None:
        if (name := self._get("pretraining.method", NONE)) == NONE:
            return None
        if names.exists("method", name):
            given = self._given(registry.find("federated", name), "pretraining")
            # A key that central pre-training has too (`batch_size`, ...) is meant for that alone.
            central = settings.fields_of(settings.section_classes()["pretraining"])
            own = {key: value for key, value in given.items() if key not in central}
            return self._clients_run(name, None, None, own)
        return RunConfig(
            stage="pretraining",
            method=name,
            options=self._options("objective", name, "pretraining") | self._section("pretraining"),
            data=self._data(
                self._name("pretraining.data"),
                self._get("pretraining.part", "train"),
                None,
                self._get("pretraining.images", None),
            ),
            encoder=self._encoder(),
            augmentation=self._section("augmentation"),
            precision=self._get(PRECISION, FULL_PRECISION),
        )

    def _clients_run(
        self,
        method: str,
        start: RunConfig | None,
        trial: int | None,
        own: Mapping[str, Any] | None = None,
    ) -> RunConfig:
        """The run of a federated method; `own` options come before those of `training`."""
        if not method:
            raise UnresolvedError(self.refused, self.missing)
        partition = self._name("clients.partition")
        cls = registry.find("federated", method)
        made = self._made(cls, "training", f"federated '{method}'", own)
        objective = made.objective_name()
        clients = {"partition": partition, **self._options("partition", partition, "clients")}
        return RunConfig(
            stage="federated",
            method=method,
            options=registry.options_of(made),
            data=self._client_data(learns_from_parts=objective is not None),
            encoder=self._encoder(method, made.encoder_options()),
            clients=clients,
            head={"widths": list(self._get("head.widths", ()))},
            objective=objective
            and {"name": objective, **self._options("objective", objective, "training")},
            augmentation=self._section("augmentation") if made.draws_views else None,
            init_from=start,
            init_trial=trial,
            precision=self._get(PRECISION, FULL_PRECISION),
            metrics=self._metrics,
        )

    def _client_data(self, learns_from_parts: bool = False) -> dict[str, Any]:
        """`learns_from_parts`: whether clients may learn from a part without labels."""
        data = self._data(
            self._name("clients.data"),
            self._get("clients.part", "train"),
            self._get("clients.test_part", "test"),
            self._get("clients.images", None),
        )
        part = self._get("clients.unlabeled_part", NONE) if learns_from_parts else NONE
        return data if part == NONE else {**data, "unlabeled_part": part}

    def _data(
        self, name: str, part: str, test_part: str | None, images: int | None
    ) -> dict[str, Any]:
        sizes = {name: self._get(f"clients.{name}", 0) for name in ("image_size", "channels")}
        self.missing += [
            f"clients.{name} must be given, at least 1" for name, n in sizes.items() if n < 1
        ]
        return {"name": name, "part": part, "test_part": test_part, "images": images, **sizes}

    def _encoder(
        self, method: str = "", decided: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        name = self._name("encoder.name")
        if not name:
            return {}
        cls = registry.find("encoder", name)
        if lacking := sorted((decided or {}).keys() - settings.fields_of(cls).keys()):
            said = f"method '{method}' sets {', '.join(lacking)} of its encoder"
            self.refused.append(f"{said}, which '{name}' lacks")
        made = self._made(cls, "encoder", f"encoder '{name}'", decided)
        return {"name": name, **registry.options_of(made)}

    def _is_shared(self) -> bool:
        return bool(self._get("pretraining.shared", True))

    def _get(self, path: str, default: Any) -> Any:
        self.used.add(path)
        value = get(self._experiment, path)
        return default if value is None else value

    def _name(self, path: str) -> str:
        name: str = self._get(path, "")
        if not name:
            self.missing.append(f"{path} is not given")
        return name

    def _section(self, name: str) -> dict[str, Any]:
        return registry.options_of(self._made(settings.section_classes()[name], name, name))

    def _options(self, kind: str, name: str, section: str) -> dict[str, Any]:
        """All options of a registered class: the section's, else defaults."""
        if not name:
            return {}
        made = self._made(registry.find(kind, name), section, f"{kind} '{name}'")
        return registry.options_of(made)

    def _made(
        self, cls: type, section: str, where: str, own: Mapping[str, Any] | None = None
    ) -> Any:
        """The class with the options of a section and its `own`; with defaults if refused."""
        try:
            return settings.made(cls, {**self._given(cls, section), **(own or {})}, where)
        except SpecError as error:
            self.refused.append(str(error))
            try:
                return cls()
            except Exception:  # it has no defaults, or a mistake of its own
                raise UnresolvedError(self.refused, self.missing) from error

    def _given(self, cls: type, section: str) -> dict[str, Any]:
        own = settings.fields_of(cls)
        self.used |= {f"{section}.{name}" for name in own}
        values = self._experiment.get(section) or {}
        return {name: value for name, value in values.items() if name in own}


def metric_of(bound: Cell) -> str:
    """A metric that the cell's run measures; all metrics of a training have the same run."""
    return str(bound.metric) if bound.metric in MEASUREMENTS else "accuracy"


def shown(value: Any) -> str:
    """A setting as deviations show it."""
    if value is None:
        return "not given"
    return value if isinstance(value, str) else json.dumps(value)
