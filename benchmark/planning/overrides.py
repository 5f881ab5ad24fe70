"""Overrides at work: what profiles change of experiments, and which changes that makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import Any

from ..errors import SpecError
from ..results import Departure
from ..spec import names
from ..spec.model import Experiment, Override, Readout
from ..spec.settings import copied, get, is_known, leaves, put

_AT = "at"
"""The path that stands for the round that is read."""


@dataclass(frozen=True, slots=True)
class Overridden:
    """An experiment after overrides.

    effective: positions of the overrides that changed something.
    before: the experiment, `at` included, before them.
    reasons: by path, why the last override that changed it did.
    """

    experiment: dict[str, Any]
    read: Readout
    effective: frozenset[int]
    before: Experiment
    reasons: Mapping[str, str]

    @property
    def departures(self) -> list[Departure]:
        """What is another value than before, in the order of the overrides."""
        after = {**self.experiment, _AT: self.read.at}
        values = ((path, get(self.before, path), get(after, path)) for path in self.reasons)
        return [
            Departure(path, shown(old), shown(new), self.reasons[path])
            for path, old, new in values
            if old != new
        ]

    @property
    def unread(self) -> list[str]:
        """Paths of settings that no option has; a run would silently ignore them."""
        used = names.used(self.experiment)
        own = {path for _, what, name in used for path in names.options(what, name)}
        paths = (path for path, _ in leaves(self.experiment))
        return [path for path in paths if not is_known(path) and path not in own]


def override(experiment: Experiment, read: Readout, overrides: Sequence[Override]) -> Overridden:
    """The experiment and the reading after overrides in order, and what these changed.

    Several overrides of one path count as one change, with the reason of the last that had an
    effect. An override that leaves a value as it is, or whose path the experiment lacks (unless it
    gives a `value`), is no change. The path `at` stands for the round that is read.

    Raises `SpecError` if a value that is to be divided is not a whole number or a list of them.
    """
    before = {**experiment, _AT: read.at}
    after = copied(before)
    effective: set[int] = set()
    reasons: dict[str, str] = {}
    for i, one in enumerate(overrides):
        old = get(after, one.path)
        new = _overridden(old, one)
        if new != old:
            put(after, one.path, new)
            effective.add(i)
            reasons[one.path] = one.why
    at = after.pop(_AT)
    return Overridden(after, Readout(at), frozenset(effective), before, reasons)


def shown(value: Any) -> str:
    """A setting as departures show it."""
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(shown, value))}]"
    return str(value)


def _overridden(old: Any, override: Override) -> Any:
    if override.divide is not None:
        if old is None or (override.path == _AT and isinstance(old, str)):
            return old
        return _divided(old, override.divide, override.path)
    if override.replace is not None:
        return old if isinstance(old, (list, tuple)) else override.replace.get(str(old), old)
    return override.value


def _divided(value: Any, by: float, path: str) -> Any:
    if isinstance(value, (list, tuple)):
        return [_divided(item, by, path) for item in value]
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(f"{path}: only whole numbers can be divided, not {value!r}")
    return _quotient(value, by)


@cache
def _quotient(value: int, by: float) -> int:
    """Rounded, at least 1."""
    quotient = Decimal(value) / Decimal(str(by))
    return max(1, int(quotient.quantize(Decimal(1), rounding=ROUND_HALF_UP)))
