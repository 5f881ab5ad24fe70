"""Finds methods, objectives, encoders, partitions and protocols by name; there is no list to keep.

The registered name of a contribution is the name of its module, with hyphens for underscores:
`find("partition", "class-groups")` imports `methods.partitions.class_groups` and returns the one
class in it that derives from the kind's base class. Adding a contribution is adding a file.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

_BASES = {
    "federated": ("methods.federated", "methods.federated.base", "FederatedMethod"),
    "objective": ("methods.objectives", "methods.objectives.base", "Objective"),
    "encoder": ("methods.encoders", "methods.encoders.base", "Encoder"),
    "partition": ("methods.partitions", "methods.partitions.base", "Partition"),
    "protocol": ("methods.protocols", "methods.protocols.base", "Protocol"),
}


class UnknownNameError(LookupError):
    """A name that no module implements; carries the nearest names that exist."""

    def __init__(self, kind: str, name: str, known: Sequence[str] | None = None) -> None:
        self.kind, self.name = kind, name
        known = names(kind) if known is None else known
        self.suggestions = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f"; did you mean '{self.suggestions[0]}'?" if self.suggestions else ""
        super().__init__(f"{kind} '{name}' is not implemented{hint} (known: {', '.join(known)})")


def names_in(package: str) -> list[str]:
    """The registered names of the modules in a dotted `package`, sorted."""
    folders = tuple(importlib.import_module(package).__path__)
    # A file that comes or goes changes its folder's time; plans ask thousands of times.
    return list(_names_in(folders, tuple(Path(folder).stat().st_mtime_ns for folder in folders)))


@lru_cache(maxsize=64)
def _names_in(folders: tuple[str, ...], changed: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(
        sorted(
            module.name.replace("_", "-")
            for module in pkgutil.iter_modules(folders)
            if module.name != "base" and not module.name.startswith("_")
        )
    )


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
    if name not in names(kind):
        raise UnknownNameError(kind, name)
    return f"{_BASES[kind][0]}.{name.replace('-', '_')}"


def base(kind: str) -> Any:
    """The class from which every contribution of a kind derives."""
    return getattr(importlib.import_module(_BASES[kind][1]), _BASES[kind][2])


def find(kind: str, name: str) -> Any:
    """The class registered as `name`.

    Raises `UnknownNameError` if no module has that name.
    """
    return class_in(module_of(kind, name), base(kind))
