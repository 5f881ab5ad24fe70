"""From a cell's experiment to the frozen config of the run that it reads.

A config holds the options of what the run itself uses, defaults included, and nothing else: cells
that differ only in options of other methods, or in the round that they read, share a run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

from benchmark import experiment as experiments
from benchmark.config import RunConfig
from benchmark.errors import SpecError
from benchmark.results import Departure
from benchmark.spec.names import NO_PART, NO_PRETRAINING, NO_PROTOCOL, known
from benchmark.spec.types import Cell, DrawnRun, Experiment, Override, Profile, Read
from methods import registry
from methods.registry import UnknownNameError

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
    if metric not in known("metric"):
        return Resolved(None, f"metric '{metric}' is not implemented", read)
    try:
        changed, at, changes = experiments.apply(experiment, read, overrides)
        unknown = _unimplemented(changed)
        builder = _Builder(changed)
        config = builder.measurement(metric) if metric in MEASUREMENTS else builder.evaluated()
    except UnknownNameError as error:
        what = "method" if error.kind == "federated" else error.kind
        return Resolved(None, f"{what} '{error.name}' is not implemented", read)
    except _NothingToMeasureError as error:
        return Resolved(None, str(error), read)
    except SpecError as error:
        raise SpecError(f"{where}: {error}") from error
    if unknown:
        return Resolved(None, f"setting {', '.join(unknown)} is not implemented", read)
    departures = [
        Departure(change.path, _shown(change.old), _shown(change.new), change.why)
        for change in changes
        if change.path in builder.used or (change.path == "at" and config.stage == "federated")
    ]
    if config.stage == "measurement":
        return Resolved(config, None, Read("final"), tuple(departures))
    last = config.options.get("rounds")
    if last is not None and last < 1:
        raise SpecError(f"{where}: training.rounds is {last}, so nothing would be measured")
    if last is not None and isinstance(at.at, int) and at.at > last:
        departures.append(Departure("at", _shown(at.at), _shown(last), "the run ends there"))
        at = Read(last)
    return Resolved(config, None, at, tuple(departures))


@dataclass(frozen=True)
class Resolver:
    """Resolves the cells of one plan; what several of them share is resolved once.

    profile, on, sets: as in `all_overrides`.
    """

    profile: Profile
    on: str | None
    sets: Mapping[str, Any]
    _known: dict[tuple[object, ...], Resolved] = field(default_factory=dict)
    _departures: dict[Departure, Departure] = field(default_factory=dict)

    def resolve(self, bound: Cell | DrawnRun, metric: str | None, where: str) -> Resolved:
        """The run behind a cell or a drawn run, and how it is read; raises as `resolve` does."""
        reason = self.profile.omitted(bound.experiment)
        if reason is not None:
            return Resolved(None, reason, bound.read)
        # Every other metric is one more number of the same run.
        apart = None if metric in known("metric") and metric not in MEASUREMENTS else metric
        local = bound.overrides.get(self.profile.name, ())
        key = (repr(bound.experiment), repr(local), bound.read, apart)
        if key not in self._known:
            overrides = all_overrides(self.profile, bound.overrides, self.on, self.sets)
            found = resolve(bound.experiment, bound.read, metric, overrides, where)
            # A departure that a thousand cells share is held once.
            shared = tuple(self._departures.setdefault(one, one) for one in found.departures)
            self._known[key] = dataclasses.replace(found, departures=shared)
        return self._known[key]


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


@cache
def _federated() -> frozenset[str]:
    return frozenset(registry.names("federated"))


def _unimplemented(experiment: Experiment) -> list[str]:
    """Settings of the experiment that nothing reads, quoted; a run would silently ignore them."""
    known = experiments.known_keys()
    return [f"'{path}'" for path, _ in experiments.leaves(experiment) if path not in known]


class _NothingToMeasureError(Exception):
    """A measurement of an encoder where none is pre-trained."""


@dataclass
class _Builder:
    """Makes configs of one experiment and notes the paths that they depend on."""

    experiment: Experiment
    used: set[str] = field(default_factory=set)

    def federated(self) -> RunConfig:
        """The run of the experiment's own method."""
        start = self._start()
        shared = start is not None and start.stage == "pretraining" and self._is_shared()
        return self._clients_run(self._name("method"), start, 0 if shared else None)

    def measurement(self, metric: str | None) -> RunConfig:
        """The measurement of the experiment's encoder on the clients' data set."""
        start = self._start()
        if start is None or start.stage != "pretraining":
            raise _NothingToMeasureError(f"no pre-trained encoder whose {metric} could be measured")
        return RunConfig(
            stage="measurement",
            method=str(metric),
            options=self._options("protocol", str(metric), "evaluation"),
            data={**self._client_data(), "test_part": None},
            encoder=start.encoder,
            start=start,
            start_trial=0 if self._is_shared() else None,
        )

    def evaluated(self) -> RunConfig:
        """The run of the experiment's method, or of the protocol that evaluates what it trained."""
        trained = self.federated()
        name = self._get("evaluation.protocol", NO_PROTOCOL)
        if name == NO_PROTOCOL:
            return trained
        protocol = experiments.found("protocol", name)
        data = {
            "name": self._get("evaluation.data", trained.data["name"]),
            "part": self._get("evaluation.part", trained.data["part"]),
            "test_part": (
                self._get("evaluation.test_part", trained.data["test_part"])
                if protocol.tests
                else None
            ),
            "images": trained.data["images"],
            **self._sizes(),
        }
        return RunConfig(
            stage="measurement",
            method=name,
            options=self._options("protocol", name, "evaluation"),
            data=data,
            encoder=trained.encoder,
            clients=trained.clients if protocol.federated else None,
            augmentation=(
                self._options_of_section("augmentation") if protocol.draws_views else None
            ),
            start=trained,
        )

    def _clients_run(
        self,
        method: str,
        start: RunConfig | None,
        trial: int | None,
        own: Mapping[str, Any] = MappingProxyType({}),
    ) -> RunConfig:
        partition = self._name("clients.partition")
        options = self._options("federated", method, "training", own)
        made = _built("federated", method, options).made
        objective = made.objective_name()
        return RunConfig(
            stage="federated",
            method=method,
            options=options,
            data={**self._client_data(), **(self._unlabeled() if objective else {})},
            encoder=self._encoder(method, made.encoder_options()),
            clients={"partition": partition, **self._options("partition", partition, "clients")},
            head={"widths": list(self._get("head.widths", ()))},
            objective=(
                None
                if objective is None
                else {"name": objective, **self._options("objective", objective, "training")}
            ),
            augmentation=self._options_of_section("augmentation") if made.draws_views else None,
            start=start,
            start_trial=trial,
        )

    def _start(self) -> RunConfig | None:
        name = self._get("pretraining.method", NO_PRETRAINING)
        if name == NO_PRETRAINING:
            return None
        if name in _federated():
            return self._clients_run(name, None, None, self._own_options(name))
        return RunConfig(
            stage="pretraining",
            method=name,
            options={
                **self._options("objective", name, "pretraining"),
                **self._options_of_section("pretraining"),
            },
            data={
                "name": self._name("pretraining.data"),
                "part": self._get("pretraining.part", "train"),
                "test_part": None,
                "images": self._get("pretraining.images", None),
                **self._sizes(),
            },
            encoder=self._encoder(),
            augmentation=self._options_of_section("augmentation"),
        )

    def _own_options(self, method: str) -> Mapping[str, Any]:
        """Options that `pretraining` gives to the federated method that trains the encoder.

        A key that central pre-training has too (`batch_size`, ...) is meant for that alone.
        """
        given = self._given(experiments.found("federated", method), "pretraining")
        central = _field_names(_section_class("pretraining"))
        return {name: value for name, value in given.items() if name not in central}

    def _client_data(self) -> dict[str, Any]:
        return {
            "name": self._name("clients.data"),
            "part": self._get("clients.part", "train"),
            "test_part": self._get("clients.test_part", "test"),
            "images": self._get("clients.images", None),
            **self._sizes(),
        }

    def _unlabeled(self) -> dict[str, str]:
        """The part whose images clients learn from without labels; nothing where none is named."""
        part = self._get("clients.unlabeled_part", NO_PART)
        return {} if part == NO_PART else {"unlabeled_part": part}

    def _sizes(self) -> dict[str, Any]:
        paths = ("clients.image_size", "clients.channels")
        return {path.partition(".")[2]: self._whole_number(path) for path in paths}

    def _encoder(
        self, method: str = "", decided: Mapping[str, Any] = MappingProxyType({})
    ) -> dict[str, Any]:
        """The encoder with the options that `method` has decided."""
        name = self._name("encoder.name")
        lacking = sorted(set(decided) - _field_names(experiments.found("encoder", name)))
        if lacking:
            raise SpecError(
                f"method '{method}' sets {', '.join(lacking)} of its encoder, which '{name}' lacks"
            )
        return {"name": name, **self._options("encoder", name, "encoder", decided)}

    def _is_shared(self) -> bool:
        return bool(self._get("pretraining.shared", True))

    def _get(self, path: str, default: Any) -> Any:
        self.used.add(path)
        value = experiments.get(self.experiment, path)
        if value is None:
            return default
        return experiments.coerce(value, experiments.FIXED[path], path)

    def _name(self, path: str) -> str:
        value = self._get(path, None)
        if value is None:
            raise SpecError(f"{path} is not given")
        return str(value)

    def _whole_number(self, path: str) -> int:
        value = self._get(path, None)
        if value is None or value < 1:
            raise SpecError(f"{path} must be given, at least 1")
        return int(value)

    def _options(
        self, kind: str, name: str, section: str, own: Mapping[str, Any] = MappingProxyType({})
    ) -> dict[str, Any]:
        """All options of a registered class: `own`, else the section's, else defaults."""
        given = {**self._given(experiments.found(kind, name), section), **own}
        return _built(kind, name, given).options

    def _options_of_section(self, section: str) -> dict[str, Any]:
        """All options of the one class whose fields are the section's keys."""
        cls = _section_class(section)
        given = self._given(cls, section)
        key = ("section", section, repr(given))
        if key not in _known:
            try:
                made = cls(**experiments.options_of(cls, given, section))
            except ValueError as error:
                raise SpecError(f"{section}: {error}") from error
            _known[key] = _Built(made, _filled(made))
        return _known[key].options

    def _given(self, cls: type, section: str) -> Mapping[str, Any]:
        own = _field_names(cls)
        self.used |= _paths(cls, section)
        values = experiments.get(self.experiment, section, {})
        return {name: value for name, value in values.items() if name in own}


@cache
def _section_class(section: str) -> type:
    return dict(experiments.section_classes())[section]


@cache
def _field_names(cls: type) -> frozenset[str]:
    return frozenset(experiments.fields_of(cls))


@cache
def _paths(cls: type, section: str) -> frozenset[str]:
    return frozenset(f"{section}.{name}" for name in _field_names(cls))


@dataclass(frozen=True)
class _Built:
    """An instance of a registered class, and all of its options."""

    made: Any
    options: dict[str, Any]


_known: dict[tuple[str, str, str], _Built] = {}


def _built(kind: str, name: str, given: Mapping[str, Any]) -> _Built:
    """What `experiments.build` makes, once for equal options: most runs share most of theirs.

    Nobody may change it.
    """
    key = (kind, name, repr(given))
    if key not in _known:
        made = experiments.build(kind, name, given)
        _known[key] = _Built(made, _filled(made))
    return _known[key]


def _filled(options: Any) -> dict[str, Any]:
    """All fields of a dataclass as JSON would give them back."""
    return {name: _listed(value) for name, value in dataclasses.asdict(options).items()}


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, (list, tuple)) else value


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value)
