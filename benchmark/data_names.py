"""The names of data sets, and the module behind each; none is imported, which would take seconds.

A set is called as its module. A family of sets shares a module, with whose name theirs begin.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..methods.registry import UnknownNameError, modules_in

_SETS = "fedrepro.benchmark.data.sets"
_LOOKS = ("grey", "grey-patches", "grey-moved", "colour", "colour-patches", "colour-hard")
_FAMILIES: Mapping[str, tuple[str, ...]] = {
    "glyphs": (
        *(f"{look}-{classes}" for look in _LOOKS for classes in ("a", "b", "100", "200")),
        "digits",
        "letters",
    )
}
"""By the name of its module, what the names of a family's sets end with."""


def modules() -> dict[str, str]:
    """The dotted modules of the registered data sets by name, sorted."""
    found = {
        f"{name}-{end}" if end else name: module
        for name, module in modules_in(_SETS).items()
        for end in _FAMILIES.get(name, ("",))
    }
    return dict(sorted(found.items()))


def names() -> list[str]:
    """The registered data sets, sorted."""
    return list(modules())


def module_of(name: str) -> str:
    """The dotted module of a data set; `UnknownNameError` if there is none."""
    known = modules()
    if name not in known:
        raise UnknownNameError("data set", name, list(known))
    return known[name]
