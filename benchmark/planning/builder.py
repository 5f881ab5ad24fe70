"""Frozen configs from experiments: each part is made once of the sections that it depends on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec import settings as experiments
from fedrepro.benchmark.spec.model import Experiment
from fedrepro.benchmark.spec.names import NO_PART, NO_PRETRAINING, NO_PROTOCOL
from fedrepro.methods import registry

Value = TypeVar("Value")

_TRAINED = ("method", "clients", "encoder", "head", "pretraining", "training", "augmentation")
"""The sections that a run of clients may depend on, its start included."""
_EVALUATED = (*_TRAINED, "evaluation")


class NothingToMeasureError(Exception):
    """A measurement of an encoder where none is pre-trained."""


@dataclass(frozen=True)
class _Piece:
    """What was made of some sections.

    of: the sections, held because they are known by identity. used: the paths that it depends on.
    """

    of: Experiment
    value: Any
    used: frozenset[str]


Pieces = dict[tuple[object, ...], _Piece]
"""What has been made of sections, for all experiments that share them."""


class Builder:
    """Makes the configs of an experiment, or a part of them from some of its sections.

    sections: by name, None for those that the experiment lacks; any other that is asked for is a
    `KeyError`. used: the paths that the configs depend on, as far as they have been made.
    """

    def __init__(self, sections: Mapping[str, Any], pieces: Pieces) -> None:
        self._sections, self._pieces = sections, pieces
        self.used: set[str] = set()

    @classmethod
    def of(cls, experiment: Experiment, pieces: Pieces) -> Builder:
        """For a whole experiment."""
        return cls({**dict.fromkeys(_EVALUATED), **experiment}, pieces)

    def evaluated(self) -> RunConfig:
        """The run of the experiment's method, or of the protocol that evaluates what it trained.

        Raises `SpecError` for a setting that is missing or of the wrong type, and
        `UnknownNameError` for a name that nothing implements; so do the others.
        """
        return self._once(Builder._evaluated, _EVALUATED)

    def measurement(self, metric: str) -> RunConfig:
        """The measurement of the experiment's encoder on the clients' data set.

        Raises `NothingToMeasureError` where no encoder is pre-trained centrally.
        """
        start = self._start()
        if start is None or start.stage != "pretraining":
            raise NothingToMeasureError(f"no pre-trained encoder whose {metric} could be measured")
        return RunConfig(
            stage="measurement",
            method=metric,
            options=self._protocol(metric),
            data={**self._client_data(False), "test_part": None},
            encoder=start.encoder,
            start=start,
            start_trial=0 if self._is_shared() else None,
        )

    def _once(self, make: Callable[..., Value], sections: tuple[str, ...], *given: Any) -> Value:
        """What `make` gives for these sections alone, made once; nobody may change it.

        given: further arguments, by which it is remembered too.
        """
        key = (make, sections, *[id(self._sections[name]) for name in sections], *given)
        piece = self._pieces.get(key)
        if piece is None:
            of = {name: self._sections[name] for name in sections}
            builder = Builder(of, self._pieces)
            piece = _Piece(of, make(builder, *given), frozenset(builder.used))
            self._pieces[key] = piece
        self.used |= piece.used
        made: Value = piece.value
        return made

    # -- runs ------------------------------------------------------------------------------------

    def _evaluated(self) -> RunConfig:
        trained = self._once(Builder._trained, _TRAINED)
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
            options=self._protocol(name),
            data=data,
            encoder=trained.encoder,
            clients=trained.clients if protocol.federated else None,
            augmentation=self._augmentation() if protocol.draws_views else None,
            start=trained,
        )

    def _trained(self) -> RunConfig:
        start = self._start()
        shared = start is not None and start.stage == "pretraining" and self._is_shared()
        return self._clients_run(self._name("method"), start, 0 if shared else None)

    def _start(self) -> RunConfig | None:
        name = self._get("pretraining.method", NO_PRETRAINING)
        if name == NO_PRETRAINING:
            return None
        if name in _federated():
            return self._clients_run(name, None, None, is_start=True)
        sections = ("pretraining", "encoder", "augmentation")
        return self._once(Builder._central, sections, name, *self._sizes().items())

    def _central(self, method: str, *sizes: tuple[str, int]) -> RunConfig:
        return RunConfig(
            stage="pretraining",
            method=method,
            options={
                **self._options("objective", method, "pretraining"),
                **self._options_of_section("pretraining"),
            },
            data={
                "name": self._name("pretraining.data"),
                "part": self._get("pretraining.part", "train"),
                "test_part": None,
                "images": self._get("pretraining.images", None),
                **dict(sizes),
            },
            encoder=self._encoder(),
            augmentation=self._augmentation(),
        )

    def _clients_run(
        self, method: str, start: RunConfig | None, trial: int | None, *, is_start: bool = False
    ) -> RunConfig:
        partition = self._name("clients.partition")
        read = ("training", "pretraining") if is_start else ("training",)
        options, made = self._once(Builder._method, read, method, is_start)
        objective = made.objective_name()
        return RunConfig(
            stage="federated",
            method=method,
            options=options,
            data=self._client_data(bool(objective)),
            encoder=self._encoder(method, *made.encoder_options().items()),
            clients=self._once(Builder._dealt, ("clients",), partition),
            head=self._once(Builder._head, ("head",)),
            objective=(
                None
                if objective is None
                else self._once(Builder._objective, ("training",), objective)
            ),
            augmentation=self._augmentation() if made.draws_views else None,
            start=start,
            start_trial=trial,
        )

    # -- parts of runs ---------------------------------------------------------------------------

    def _method(self, name: str, is_start: bool) -> tuple[dict[str, Any], Any]:
        """All options of a federated method, and the method that has them."""
        given = self._given(experiments.found("federated", name), "training")
        own = self._own_options(name) if is_start else {}
        built = _built("federated", name, {**given, **own})
        return built.options, built.made

    def _own_options(self, method: str) -> Mapping[str, Any]:
        """Options that `pretraining` gives to the federated method that trains the encoder.

        A key that central pre-training has too (`batch_size`, ...) is meant for that alone.
        """
        given = self._given(experiments.found("federated", method), "pretraining")
        central = _field_names(experiments.section_classes()["pretraining"])
        return {name: value for name, value in given.items() if name not in central}

    def _client_data(self, with_unlabeled: bool) -> dict[str, Any]:
        """The clients' data; with the part that they learn from without labels, if one is named."""
        return self._once(Builder._data, ("clients",), with_unlabeled)

    def _data(self, with_unlabeled: bool) -> dict[str, Any]:
        data = {
            "name": self._name("clients.data"),
            "part": self._get("clients.part", "train"),
            "test_part": self._get("clients.test_part", "test"),
            "images": self._get("clients.images", None),
            **self._sizes(),
        }
        part = self._get("clients.unlabeled_part", NO_PART) if with_unlabeled else NO_PART
        return data if part == NO_PART else {**data, "unlabeled_part": part}

    def _sizes(self) -> dict[str, int]:
        return self._once(Builder._image_sizes, ("clients",))

    def _image_sizes(self) -> dict[str, int]:
        paths = ("clients.image_size", "clients.channels")
        return {path.partition(".")[2]: self._whole_number(path) for path in paths}

    def _dealt(self, partition: str) -> dict[str, Any]:
        return {"partition": partition, **self._options("partition", partition, "clients")}

    def _head(self) -> dict[str, Any]:
        return {"widths": list(self._get("head.widths", ()))}

    def _objective(self, name: str) -> dict[str, Any]:
        return {"name": name, **self._options("objective", name, "training")}

    def _protocol(self, name: str) -> dict[str, Any]:
        return self._once(Builder._options, ("evaluation",), "protocol", name, "evaluation")

    def _augmentation(self) -> dict[str, Any]:
        return self._once(Builder._options_of_section, ("augmentation",), "augmentation")

    def _encoder(self, method: str = "", *decided: tuple[str, Any]) -> dict[str, Any]:
        """The encoder with the options that `method` has decided."""
        return self._once(Builder._built_encoder, ("encoder",), method, *decided)

    def _built_encoder(self, method: str, *decided: tuple[str, Any]) -> dict[str, Any]:
        name = self._name("encoder.name")
        lacking = sorted(set(dict(decided)) - _field_names(experiments.found("encoder", name)))
        if lacking:
            raise SpecError(
                f"method '{method}' sets {', '.join(lacking)} of its encoder, which '{name}' lacks"
            )
        given = self._given(experiments.found("encoder", name), "encoder")
        return {"name": name, **_built("encoder", name, {**given, **dict(decided)}).options}

    # -- settings --------------------------------------------------------------------------------

    def _is_shared(self) -> bool:
        return bool(self._get("pretraining.shared", True))

    def _get(self, path: str, default: Any) -> Any:
        self.used.add(path)
        section, _, key = path.partition(".")
        value = self._sections[section]
        if key:
            value = value.get(key) if isinstance(value, dict) else None
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

    def _options(self, kind: str, name: str, section: str) -> dict[str, Any]:
        """All options of a registered class: the section's, else defaults."""
        given = self._given(experiments.found(kind, name), section)
        return _built(kind, name, given).options

    def _options_of_section(self, section: str) -> dict[str, Any]:
        """All options of the one class whose fields are the section's keys."""
        cls = experiments.section_classes()[section]
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
        values = self._sections[section] or {}
        return {name: value for name, value in values.items() if name in own}


@cache
def _federated() -> frozenset[str]:
    return frozenset(registry.names("federated"))


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
