"""Finds methods, objectives, encoders and partitions by name; there is no list to keep.

The registered name of a contribution is the name of its module: `find("federated", "fedavg")`
imports `methods.federated.fedavg` and returns the one class in it that derives from the
kind's base class. Adding a contribution is adding a file.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from typing import Any

_BASES = {
    "federated": ("methods.federated", "methods.federated.base", "FederatedMethod"),
    "objective": ("methods.objectives", "methods.objectives.base", "Objective"),
    "encoder": ("methods.encoders", "methods.encoders.base", "Encoder"),
    "partition": ("methods.partitions", "methods.partitions.base", "Partition"),
}


class UnknownNameError(LookupError):
    """A name that no module implements; carries the nearest names that exist."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        self.suggestions = difflib.get_close_matches(name, names(kind), n=1, cutoff=0.6)
        hint = f"; did you mean '{self.suggestions[0]}'?" if self.suggestions else ""
        super().__init__(
            f"{kind} '{name}' is not implemented{hint} (known: {', '.join(names(kind))})"
        )


def names(kind: str) -> list[str]:
    """The registered names of a kind, sorted."""
    package = importlib.import_module(_BASES[kind][0])
    return sorted(
        module.name
        for module in pkgutil.iter_modules(package.__path__)
        if module.name != "base" and not module.name.startswith("_")
    )


def module_of(kind: str, name: str) -> str:
    """The dotted module that implements `name`, without importing it.

    Raises `UnknownNameError` if there is none.
    """
    if name not in names(kind):
        raise UnknownNameError(kind, name)
    return f"{_BASES[kind][0]}.{name}"


def find(kind: str, name: str) -> Any:
    """The class registered as `name`.

    Raises `UnknownNameError` if no module has that name.
    """
    module = importlib.import_module(module_of(kind, name))
    base = getattr(importlib.import_module(_BASES[kind][1]), _BASES[kind][2])
    found = [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, base)
        and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise TypeError(
            f"{module.__name__} must define exactly one {base.__name__}, has {len(found)}"
        )
    return found[0]
