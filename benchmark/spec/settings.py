"""Experiments: nested mappings that say what a cell was measured on.

A path joins the keys of an experiment with dots (`clients.data`). Options of methods are read from
the fields of their registered classes, so this module names no method and no option of one.
"""

import dataclasses
import json
import marshal
import typing
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from ...methods import registry
from ..errors import SpecError
from . import limits
from .fields import plain
from .model import Experiment
from .problems import mistakes, nearest, suggestion

NAMED: Mapping[str, str] = {
    "method": "method",
    "clients.data": "data set",
    "clients.partition": "partition",
    "encoder.name": "encoder",
    "pretraining.method": "objective",
    "pretraining.data": "data set",
    "training.objective": "objective",
    "evaluation.protocol": "protocol",
    "evaluation.data": "data set",
}
"""Paths of an experiment that hold names, and what each of them names."""

_COUNTS = (
    "clients.image_size clients.channels clients.images pretraining.images"
    " costs.images costs.value_bits costs.value_bytes"
)
_WORDS = (
    "clients.part clients.test_part clients.unlabeled_part pretraining.part evaluation.part"
    " evaluation.test_part costs.code_rate"
)
FIXED: Mapping[str, Any] = {
    **dict.fromkeys((*NAMED.keys() - {"training.objective"}, *_WORDS.split()), str),
    **dict.fromkeys(_COUNTS.split(), int),
    "pretraining.shared": bool,
    "head.widths": tuple[int, ...],
    "training.precision": typing.Literal["float32", "bf16", "tf32"],
}
"""Paths that every paper may use, with their types; all others are options of some class. Those of
`costs` are of formulas alone (`benchmark.analytic`)."""

PRECISION = "training.precision"
"""The path of the precision in which networks multiply, of pre-training and evaluation as well."""

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "clients": ("partition",),
    "encoder": ("encoder",),
    "pretraining": ("objective", "federated"),
    "training": ("federated", "objective"),
    "evaluation": ("protocol",),
}
"""Sections of an experiment, and the kinds of registered classes whose options stand in them."""


def merge(*layers: Experiment) -> dict[str, Any]:
    """One experiment from several: later layers win, section by section. A section that one layer
    alone gives is that layer's own, so nobody may change it."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            below = merged.get(key)
            if isinstance(value, dict) and isinstance(below, dict):
                value = merge(below, value)
            merged[key] = value
    return merged


def get(experiment: Experiment, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    value: Any = experiment
    try:
        for key in path.split("."):
            value = value[key]
    except (KeyError, TypeError):
        return None
    return value


def nested(path: str, value: Any) -> dict[str, Any]:
    """An experiment that has one value, at a dotted path."""
    first, _, rest = path.partition(".")
    return {first: nested(rest, value) if rest else value}


def key_of(settings: Any) -> bytes:
    """What tells experiments, or sections of them, apart: values with their types, in order. Their
    text would do, but takes thrice the time, for the digits of floats."""
    return marshal.dumps(settings, 2)  # later formats also tell which values are one object


def leaves(experiment: Experiment, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every dotted path of an experiment with its value, in order."""
    for key, value in experiment.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def build(kind: str, name: str, mapping: Mapping[str, Any]) -> Any:
    """The registered class as `made`; `UnknownNameError` if nothing implements `name`."""
    return made(registry.find(kind, name), mapping, f"{kind} '{name}'")


def made(cls: type, mapping: Mapping[str, Any], where: str) -> Any:
    """A dataclass made with its own options in `mapping`, once for equal ones. Other keys are left
    out: they belong to other methods. Raises `SpecError` that begins with `where` for options of
    the wrong type and those that the class refuses."""
    own = {name: mapping[name] for name in fields_of(cls) if name in mapping}
    try:
        return _made(cls, key_of(own))
    except (TypeError, ValueError) as error:
        said = mistakes(error) if isinstance(error, ValidationError) else error
        raise SpecError(f"{where}: {said}") from error
    except Exception as error:  # a mistake in a class of one's own
        raise SpecError(f"{where}: {registry.told(error, [cls.__module__])}") from error


@lru_cache(maxsize=4096)
def _made(cls: type, options: bytes) -> Any:
    return registry.with_options(cls, marshal.loads(options))


@cache
def fields_of(cls: type) -> Mapping[str, Any]:
    """The options of a dataclass: field names with their resolved types."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls) if field.init}


def known_paths() -> frozenset[str]:
    """Every dotted path that an experiment may hold."""
    sections = {*SECTIONS, *section_classes()}
    options = (f"{at}.{one}" for at in sections for cls in _classes(at) for one in fields_of(cls))
    return frozenset([*FIXED, *options])


@cache
def is_known(path: str) -> bool:
    """Whether an experiment may hold something at a dotted path; one in `known_paths`."""
    return any(True for _ in _hints(path))


def problem(path: str, value: Any, more: Mapping[str, str] = {}) -> str | None:
    """Why no experiment may hold `value` at `path`, or None: it must be of the type of an option of
    that name, within `spec.limits`. `more`: further paths, as `names.import_named` gives them."""
    if said := limits.setting_problem(value):
        return said
    if not is_known(path):
        known = known_paths().union(more)
        within = ", ".join(sorted(name for name in known if name.startswith(f"{path}."))[:8])
        group = f": '{path}' is a group of keys ({within}, ...)"
        said = f"unknown key{group if within else suggestion(path, known)}"
        if not within and (lost := more.get(path.partition(".")[0])):
            near = nearest(path, known, cutoff=0.85)
            said = f"{lost}; or did you mean '{near}'?" if near else lost
        return None if path in more else said
    hints = _hints(path)
    said = misfit(value, next(hints))
    return said if said and all(misfit(value, hint) for hint in hints) else None


def misfit(value: Any, hint: Any) -> str | None:
    """Why a value is none of the type `hint`, or None if it is one."""
    try:
        _reader(hint).validate_json(json.dumps(plain(value), default=str))
    except ValidationError as error:
        return mistakes(error)
    return None


_reader = cache(partial(TypeAdapter, config=ConfigDict(strict=True, allow_inf_nan=False)))


def _hints(path: str) -> Iterator[Any]:
    """The types that a path has somewhere."""
    section, _, option = path.partition(".")
    if path in FIXED:
        yield FIXED[path]
    else:
        yield from (own[option] for own in map(fields_of, _classes(section)) if option in own)


def _classes(section: str) -> Iterator[type]:
    """The classes with options in a section; registered ones that a spec has named come first."""
    if section in section_classes():
        yield section_classes()[section]
    kinds = SECTIONS.get(section, ())
    yield from map(registry.base, kinds)
    named = [(kind, name) for kind in kinds for name in registered(kind)]
    for kind, name in sorted(named, key=lambda one: not registry.is_imported(*one)):
        yield registry.find(kind, name)


@cache
def registered(kind: str) -> tuple[str, ...]:
    """The registered names of a kind, as the folders were when first asked."""
    return tuple(registry.names(kind))


@cache
def section_classes() -> Mapping[str, type]:
    """Sections whose options are the fields of one class, with that class."""
    # What computes is imported when a setting is first looked at: `fedrepro list` looks at none.
    from ...methods.data.views.augment import Augmentation
    from ...methods.training.pretraining import PretrainingOptions

    return {"augmentation": Augmentation, "pretraining": PretrainingOptions}
