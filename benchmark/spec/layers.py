"""Layers of settings merged into one experiment, which notes from which layer each setting is.

From below: the method's authors, paper, table, column, row, interpretations, profile and `--set`.
"""

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

from ..errors import SpecError
from .model import Experiment, Origin, Override
from .settings import get, leaves, merge, nested

AT = "at"  # the path that stands for the round that is read

SettingsLayer = tuple[Origin, Experiment | Override]


class Layered(NamedTuple):
    """An experiment and the layer that gave it each setting.

    `origin`: by dotted path, in the order of the layers. `effective`: the positions of the layers
    that changed something."""

    settings: Experiment
    origin: Mapping[str, Origin]
    effective: frozenset[int] = frozenset()


NOTHING = Layered({}, {})


def layered(layers: Iterable[SettingsLayer], below: Layered = NOTHING) -> Layered:
    """Layers over those `below`; a later one wins, setting by setting. An override that leaves a
    value as it is, or whose path the experiment lacks (unless it gives a `value`), changes nothing.
    Raises `SpecError` if a value that is to be divided is not a whole number or a list of them."""
    settings, origin, effective = below.settings, dict(below.origin), set[int]()
    for i, (where, layer) in enumerate(layers):
        changes = _changes(layer, settings) if isinstance(layer, Override) else layer
        if changes:
            effective.add(i)
            settings = merge(settings, changes)
        for path, _ in leaves(changes):
            origin.pop(path, None)
            origin[path] = where
    return Layered(settings, origin, frozenset(effective))


def _changes(override: Override, below: Experiment) -> Experiment:
    old, where = get(below, override.path), override.where
    applies = where is None or str(get(below, where[0])) in where[1:]
    new = _overridden(old, override) if applies else old
    return {} if new == old else nested(override.path, new)


def _overridden(old: Any, override: Override) -> Any:
    if override.divide is not None:
        if old is None or (override.path == AT and isinstance(old, str)):
            return old
        return _divided(old, override.divide, override.path)
    if override.replace is not None:
        return override.replace.get(str(old), old)
    return override.value


def _divided(value: Any, by: float, path: str) -> Any:
    if isinstance(value, (list, tuple)):
        return [_divided(item, by, path) for item in value]
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(f"{path}: only whole numbers can be divided, not {value!r}")
    quotient = (Decimal(value) / Decimal(str(by))).quantize(Decimal(1), rounding=ROUND_HALF_UP)
    return max(1, int(quotient)) if value else 0
