"""From an experiment to the frozen config of its run.

A config holds the options of what the run itself uses, defaults included, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...methods import registry
from ..config import FULL_PRECISION, RunConfig
from ..errors import SpecError
from ..spec import names, settings
from ..spec.model import Experiment
from ..spec.names import NO_PART, NO_PRETRAINING, NO_PROTOCOL
from ..spec.settings import PRECISION, get

_NONE: Mapping[str, Any] = {}


class UnresolvedError(SpecError):
    """Everything for which an experiment has no config.

    refused: options that a class refuses. missing: settings that are not given.
    """

    def __init__(self, refused: Sequence[str], missing: Sequence[str]) -> None:
        self.refused, self.missing = tuple(refused), tuple(missing)
        super().__init__("; ".join((*refused, *missing)))


class NothingToMeasureError(Exception):
    """A measurement of an encoder where none is pre-trained."""


class Configs:
    """Makes the configs of an experiment, and notes all that is wrong with it on the way.

    used: the paths that the configs made so far depend on.
    refused, missing: as of `UnresolvedError`; where there is any, the configs are of no use.

    Every method raises `UnknownNameError` for a name that nothing implements.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self.used: set[str] = set()
        self.refused: list[str] = []
        self.missing: list[str] = []

    def unresolved(self) -> UnresolvedError:
        return UnresolvedError(self.refused, self.missing)

    def evaluated(self) -> RunConfig:
        """The run of the method, or of the protocol that evaluates what the method trained."""
        start = self._start()
        is_shared = start is not None and start.stage == "pretraining" and self._is_shared()
        trained = self._clients_run(self._name("method"), start, 0 if is_shared else None)
        name = self._get("evaluation.protocol", NO_PROTOCOL)
        return trained if name == NO_PROTOCOL else self._evaluation(name, trained)

    def measurement(self, metric: str) -> RunConfig:
        """The measurement of the pre-trained encoder on the clients' data set.

        Raises `NothingToMeasureError` where no encoder is pre-trained centrally.
        """
        start = self._start()
        if start is None or start.stage != "pretraining":
            raise NothingToMeasureError(f"no pre-trained encoder whose {metric} could be measured")
        return RunConfig(
            stage="measurement",
            method=metric,
            options=self._options("protocol", metric, "evaluation"),
            data={**self._client_data(), "test_part": None},
            encoder=start.encoder,
            start=start,
            start_trial=0 if self._is_shared() else None,
            precision=self._precision(),
        )

    def _evaluation(self, name: str, trained: RunConfig) -> RunConfig:
        """What the protocol `name` measures of a trained run."""
        protocol = registry.find("protocol", name)
        made = self._registered("protocol", name, self._given(protocol, "evaluation"))
        given = trained.data
        part = self._get("evaluation.test_part", given["test_part"]) if protocol.tests else None
        data = {
            "name": self._get("evaluation.data", given["name"]),
            "part": self._get("evaluation.part", given["part"]),
            "test_part": part,
            "images": given["images"],
            **self._sizes(),
        }
        return RunConfig(
            stage="measurement",
            method=name,
            options=registry.options_of(made),
            data=data,
            encoder=trained.encoder,
            clients=trained.clients if protocol.federated else None,
            augmentation=self._section("augmentation") if made.draws_views else None,
            start=trained,
            precision=trained.precision,
        )

    def _start(self) -> RunConfig | None:
        """The run that pre-trains the encoder, if one does."""
        name = self._get("pretraining.method", NO_PRETRAINING)
        if name == NO_PRETRAINING:
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
            options={
                **self._options("objective", name, "pretraining"),
                **self._section("pretraining"),
            },
            data={
                "name": self._name("pretraining.data"),
                "part": self._get("pretraining.part", "train"),
                "test_part": None,
                "images": self._get("pretraining.images", None),
                **self._sizes(),
            },
            encoder=self._encoder(),
            augmentation=self._section("augmentation"),
            precision=self._precision(),
        )

    def _clients_run(
        self,
        method: str,
        start: RunConfig | None,
        trial: int | None,
        own: Mapping[str, Any] = _NONE,
    ) -> RunConfig:
        """The run of a federated method; `own` options come before those of `training`."""
        if not method:
            raise self.unresolved()
        partition = self._name("clients.partition")
        given = self._given(registry.find("federated", method), "training")
        made = self._registered("federated", method, {**given, **own})
        objective = made.objective_name()
        return RunConfig(
            stage="federated",
            method=method,
            options=registry.options_of(made),
            data=self._client_data(learns_from_parts=objective is not None),
            encoder=self._encoder(method, made.encoder_options()),
            clients={
                "partition": partition,
                **self._options("partition", partition, "clients"),
            },
            head={"widths": list(self._get("head.widths", ()))},
            objective=(
                None
                if objective is None
                else {"name": objective, **self._options("objective", objective, "training")}
            ),
            augmentation=self._section("augmentation") if made.draws_views else None,
            start=start,
            start_trial=trial,
            precision=self._precision(),
        )

    def _client_data(self, learns_from_parts: bool = False) -> dict[str, Any]:
        """learns_from_parts: whether clients may learn from a part without labels."""
        data = {
            "name": self._name("clients.data"),
            "part": self._get("clients.part", "train"),
            "test_part": self._get("clients.test_part", "test"),
            "images": self._get("clients.images", None),
            **self._sizes(),
        }
        part = self._get("clients.unlabeled_part", NO_PART) if learns_from_parts else NO_PART
        return data if part == NO_PART else {**data, "unlabeled_part": str(part)}

    def _sizes(self) -> dict[str, int]:
        return {name: self._size(f"clients.{name}") for name in ("image_size", "channels")}

    def _section(self, name: str) -> dict[str, Any]:
        """All options of a section that no registered name stands for."""
        cls = settings.section_classes()[name]
        return registry.options_of(self._made(cls, self._given(cls, name), name))

    def _encoder(self, method: str = "", decided: Mapping[str, Any] = _NONE) -> dict[str, Any]:
        """The encoder with the options that `method` has decided."""
        name = self._name("encoder.name")
        if not name:
            return {}
        cls = registry.find("encoder", name)
        lacking = sorted(decided.keys() - settings.fields_of(cls).keys())
        if lacking:
            self.refused.append(
                f"method '{method}' sets {', '.join(lacking)} of its encoder, which '{name}' lacks"
            )
        made = self._registered("encoder", name, {**self._given(cls, "encoder"), **decided})
        return {"name": name, **registry.options_of(made)}

    def _precision(self) -> str:
        return str(self._get(PRECISION, FULL_PRECISION))

    def _is_shared(self) -> bool:
        return bool(self._get("pretraining.shared", True))

    def _get(self, path: str, default: Any) -> Any:
        self.used.add(path)
        value = get(self._experiment, path)
        if value is None:
            return default
        if said := settings.misfit(value, settings.FIXED[path]):
            self.refused.append(f"{path} {said}")
            return default
        return value

    def _name(self, path: str) -> str:
        value = self._get(path, None)
        if value is None:
            self.missing.append(f"{path} is not given")
        return value or ""

    def _size(self, path: str) -> int:
        value = self._get(path, None)
        if value is None or value < 1:
            self.missing.append(f"{path} must be given, at least 1")
        return value or 0

    def _options(self, kind: str, name: str, section: str) -> dict[str, Any]:
        """All options of a registered class: the section's, else defaults."""
        if not name:
            return {}
        given = self._given(registry.find(kind, name), section)
        return registry.options_of(self._registered(kind, name, given))

    def _registered(self, kind: str, name: str, given: Mapping[str, Any]) -> Any:
        return self._made(registry.find(kind, name), given, f"{kind} '{name}'")

    def _made(self, cls: type, given: Mapping[str, Any], where: str) -> Any:
        """The class with options, with its defaults where it refuses them."""
        try:
            return settings.made(cls, given, where)
        except SpecError as error:
            self.refused.append(str(error))
            try:
                return cls()
            except (TypeError, ValueError):  # it has no defaults
                raise self.unresolved() from error

    def _given(self, cls: type, section: str) -> dict[str, Any]:
        """What a section gives of the options of a class."""
        own = settings.fields_of(cls)
        self.used |= {f"{section}.{name}" for name in own}
        values = self._experiment.get(section) or {}
        return {name: value for name, value in values.items() if name in own}
