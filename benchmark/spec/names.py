"""Names that specs use (methods, objectives, data sets, metrics, ...), and which of them exist."""

import importlib
import itertools
import pkgutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...methods import registry
from .. import data_names
from . import limits
from .problems import nearest, suggestion
from .settings import NAMED, SECTIONS, fields_of, get, registered

NONE = "none"
"""No pre-training, no protocol, no part without labels."""
MISSPELT = 0.8
"""How much a name that nothing implements may resemble one that exists before it is an error."""
_SECTIONS = frozenset(path.partition(".")[0] for path in NAMED)
_KINDS = {"method": ("federated",), "objective": ("objective", "federated")}
"""Kinds of registered classes with names of that sort, where it is not the kind itself."""
OWN_DATA = (
    "a path ending in .npz, .csv or / (in the data folder, or where you stand), torchvision:NAME, "
    "or a module such as mypackage.my_data"
)


@cache
def known(what: str) -> frozenset[str]:
    """The names that some module implements. `what`: a value of `settings.NAMED`, or `metric`."""
    if what == "metric":
        return frozenset((*metrics(), *registry.installed("metric")))
    if what == "data set":
        return frozenset(data_names.names())
    named = (registry.names(kind) for kind in _KINDS.get(what, (what,)))
    none = (NONE,) if what in ("objective", "protocol") else ()
    return frozenset(itertools.chain(none, *named))


def left_out() -> Iterator[str]:
    """A sentence on each name that another package's entry points give in vain."""
    for kind in registry.GROUPS:
        told = dict(registry.left_out(kind))
        for name, module in registry.installed(kind).items():
            # Modules of fedrepro's own may have several such names each.
            is_metric = kind == "metric" and name in metrics()
            if is_metric or (kind == "data set" and data_names.module_of(name) != module):
                told[name] = f"{module}: the name is one of fedrepro's own"
        yield from (f"{kind} '{name}' is left out: {why}" for name, why in told.items())


def exists(what: str, name: Any) -> bool:
    """Whether a module implements `name`: one of ours, or one of another package by its path. Of
    data of one's own in files, whether they can be named so."""
    if not isinstance(name, str) or (what == "data set" and data_names.is_file(name)):
        return isinstance(name, str)
    plain = data_names.plain(name) if what == "data set" else name
    return name in known(what) or _own(what, plain)[0] is not None


def is_own_data(name: str) -> bool:
    """Whether data are in files of one's own, or made by a module of another package."""
    is_code = name in registry.installed("data set") or _own("data set", name)[0] is not None
    return data_names.is_file(name) or is_code


def problem(what: str, name: str) -> str | None:
    """Why no spec may use a name, or None: it may be a slip, or names an unusable module. Another
    name that nothing implements may belong to a method that is yet to be written."""
    if what == "data set" and data_names.is_file(name):
        return None
    name = data_names.plain(name) if what == "data set" else name
    said = limits.name_problem(name)
    if said is not None and what == "data set":
        return f"{said}; data of your own are {OWN_DATA}"
    if said is not None or name in known(what):
        return said
    kind, why = _own(what, name)
    for one in _KINDS.get(what, (what,)):
        why = why or registry.left_out(one).get(name)
    file = Path(*name.partition(":")[0].split(".")).with_suffix(".py")
    if kind is None and why is None and "." in name and file.is_file():
        other = getattr(find_spec(file.parts[0]), "origin", "a name of fedrepro's own")
        why = f"{file} is not found, since Python finds another '{file.parts[0]}' first ({other})"
    near = nearest(name, known(what), cutoff=MISSPELT)
    if kind is None and near is not None:
        return f"unknown {what} '{name}'; did you mean '{near}'?"
    return None if why is None else f"{what} '{name}' cannot be used: {why}"


@cache
def _own(what: str, name: str) -> tuple[str | None, str | None]:
    """The kind of the class in a module of another package, imported for that, or why it has none.
    Neither for a name of ours, and for one that is no module."""
    said = None
    for kind in _KINDS.get(what, (what,)) if registry.is_module(name) else ():
        try:
            registry.find(kind, name)
            return kind, None
        except Exception as error:  # whatever the code of a user raises when it is imported
            said = said or registry.told(error, [name])
    return None, said


def used_within(data: Mapping[str, Any] | list[Any]) -> Iterator[tuple[str, str]]:
    """Every name in the experiments of a file, wherever they stand, and what it names."""
    if isinstance(data, Mapping):
        yield from ((what, name) for _, what, name in used(data))
        data = list(data.values())
    for inner in data:
        if isinstance(inner, (dict, list)):
            yield from used_within(inner)


def import_named(data: list[Any]) -> dict[str, str]:
    """Imports the classes that files name, in whose options their settings are looked up first.
    Gives the paths at which those of other packages have options, and by section what is said of an
    unknown path in it where nothing implements a name."""
    own, named = dict[str, str](), [*dict.fromkeys(used_within(data))]
    there = {name for what, name in named if exists(what, name)}  # a method, or an objective
    for what, name in named:
        kinds = _KINDS.get(what, (what,))
        for kind in kinds:
            if kind in registry.kinds() and name in registered(kind):
                registry.find(kind, name)
        found, why = _own(what, name)
        if found in registry.kinds():
            of = fields_of(registry.find(found, name))
            own |= {f"{at}.{one}": "" for at in SECTIONS if found in SECTIONS[at] for one in of}
        elif name not in there:
            why = "cannot be used" if why else f"does not exist{beside(name)}"
            said, there = f"of {what} '{name}', which {why}", there | {name}  # once
            for at in (at for at in SECTIONS if not {*SECTIONS[at]}.isdisjoint(kinds)):
                own[at] = f"{own[at]}; or {said}" if at in own else f"may be an option {said}"
    return own


def beside(name: str) -> str:
    """What to say after the name of a module that does not exist: those of its package."""
    package = name.partition(":")[0].rpartition(".")[0]
    with suppress(AttributeError, ImportError, ValueError):  # where it is no package
        found = pkgutil.iter_modules(registry.folders_of(package))
        return suggestion(name, [f"{package}.{one.name}" for one in found])
    return ""


@cache
def metrics() -> Mapping[str, str]:
    """The dotted modules of fedrepro's own metrics by name. A module lists what it measures in
    `METRICS`; one without such a list measures what it is called."""
    modules = registry.modules_in("fedrepro.methods.metrics").items()
    lists = ((getattr(importlib.import_module(at), "METRICS", (name,)), at) for name, at in modules)
    return {name: at for listed, at in lists for name in listed}


def used(experiment: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Every name in an experiment: its path, what it names, and the name."""
    for path, what in () if _SECTIONS.isdisjoint(experiment) else NAMED.items():
        if isinstance(name := get(experiment, path), str):
            yield path, what, name
