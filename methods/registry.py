"""Finds methods, objectives, encoders, partitions and protocols by name; there is no list to keep.

The registered name of a contribution is the name of its module, with hyphens for underscores:
`find("partition", "class-groups")` imports `methods.data.partitions.class_groups` and returns the
one class in it that derives from the kind's base class. Adding a contribution is adding a file.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

_BASES = {
    "federated": (
        "fedrepro.methods.federated",
        "fedrepro.methods.federated.base",
        "FederatedMethod",
    ),
    "objective": ("fedrepro.methods.objectives", "fedrepro.methods.objectives.base", "Objective"),
    "encoder": ("fedrepro.methods.encoders", "fedrepro.methods.encoders.base", "Encoder"),
    "partition": (
        "fedrepro.methods.data.partitions",
        "fedrepro.methods.data.partitions.base",
        "Partition",
    ),
    "protocol": ("fedrepro.methods.protocols", "fedrepro.methods.protocols.base", "Protocol"),
}


class UnknownNameError(LookupError):
    """A name that no module implements; carries the nearest names that exist."""

    def __init__(self, kind: str, name: str, known: Sequence[str] | None = None) -> None:
        self.kind, self.name = kind, name
        known = names(kind) if known is None else known
        self.suggestions = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f"; did you mean '{self.suggestions[0]}'?" if self.suggestions else ""
        super().__init__(f"{kind} '{name}' is not implemented{hint} (known: {', '.join(known)})")


def modules_in(package: str) -> dict[str, str]:
    """The dotted modules below `package` by registered name, sorted.

    A package with families (packages of its own) registers what lies in these, and nothing beside
    them. `base` and names with an underscore in front are never registered.
    """
    folders = tuple(importlib.import_module(package).__path__)
    inner = [found.name for found in pkgutil.iter_modules(folders) if found.ispkg]
    places = {f"{package}.{name}": _below(folders, name) for name in inner} or {package: folders}
    # A file that comes or goes changes its folder's time; plans ask thousands of times.
    times = tuple(Path(folder).stat().st_mtime_ns for each in places.values() for folder in each)
    return dict(_modules_in(tuple(places.items()), times))


def names_in(package: str) -> list[str]:
    """The registered names of the modules below `package`, sorted."""
    return list(modules_in(package))


def _below(folders: Iterable[str], name: str) -> tuple[str, ...]:
    return tuple(str(place) for folder in folders if (place := Path(folder) / name).is_dir())


@lru_cache(maxsize=64)
def _modules_in(
    places: tuple[tuple[str, tuple[str, ...]], ...], changed: tuple[int, ...]
) -> tuple[tuple[str, str], ...]:
    found = {
        module.name.replace("_", "-"): f"{package}.{module.name}"
        for package, folders in places
        for module in pkgutil.iter_modules(folders)
        if module.name != "base" and not module.name.startswith("_")
    }
    return tuple(sorted(found.items()))


def class_in(module: str, base: type) -> Any:
    """The one class that a dotted `module` defines and that derives from `base`.

    Raises `TypeError` if the module defines none or several.
    """
    found = [
        value
        for value in vars(importlib.import_module(module)).values()
        if inspect.isclass(value) and issubclass(value, base) and value.__module__ == module
    ]
    if len(found) != 1:
        raise TypeError(f"{module} must define exactly one {base.__name__}, has {len(found)}")
    return found[0]


def kinds() -> list[str]:
    """The kinds of contributions that are found by name."""
    return list(_BASES)


def names(kind: str) -> list[str]:
    """The registered names of a kind, sorted."""
    return names_in(_BASES[kind][0])


def module_of(kind: str, name: str) -> str:
    """The dotted module that implements `name`, without importing it.

    Raises `UnknownNameError` if there is none.
    """
    known = modules_in(_BASES[kind][0])
    if name not in known:
        raise UnknownNameError(kind, name)
    return known[name]


def base(kind: str) -> Any:
    """The class from which every contribution of a kind derives."""
    return getattr(importlib.import_module(_BASES[kind][1]), _BASES[kind][2])


def find(kind: str, name: str) -> Any:
    """The class registered as `name`.

    Raises `UnknownNameError` if no module has that name.
    """
    return class_in(module_of(kind, name), base(kind))
