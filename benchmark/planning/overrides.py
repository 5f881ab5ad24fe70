"""Overrides at work: what profiles change of experiments, and which changes that makes.

Cells share most of their sections (`benchmark.spec.shared`), and an override changes one section.
So each section is changed once, and those that come out equal are one object again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from operator import itemgetter
from typing import Any

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.results import Departure
from fedrepro.benchmark.spec.model import Experiment, Override, Read
from fedrepro.benchmark.spec.settings import copied, get, known_keys, leaves, put
from fedrepro.benchmark.spec.shared import Shared

_AT = "at"
"""The path that stands for the round that is read."""
_ABSENT = object()


@dataclass(frozen=True)
class Change:
    """What an override did to one setting: its path, the value before and after, and why."""

    path: str
    old: Any
    new: Any
    why: str

    @cached_property
    def departure(self) -> Departure:
        """The change as reports say it."""
        return Departure(self.path, shown(self.old), shown(self.new), self.why)


@dataclass(frozen=True, slots=True)
class _Section:
    """A section after overrides; no value where there is no such section.

    given: before them; held, since it is known by identity. changes: each behind the position
    of the first override that had that effect. effective: positions of all that had one. unread:
    paths that no option has.
    """

    name: str
    given: Any
    value: Any
    changes: Sequence[tuple[int, Change]]
    effective: frozenset[int]
    unread: Sequence[str]


@dataclass(frozen=True, slots=True)
class Overridden:
    """An experiment after overrides, in shared sections that nobody may change."""

    experiment: dict[str, Any]
    read: Read
    _sections: Sequence[_Section]

    @property
    def changes(self) -> list[Change]:
        """What the overrides changed, in their order."""
        found = [change for section in self._sections for change in section.changes]
        return [change for _, change in sorted(found, key=itemgetter(0))]

    @property
    def effective(self) -> frozenset[int]:
        """The positions of overrides that changed something."""
        return frozenset().union(*(section.effective for section in self._sections))

    @property
    def unread(self) -> list[str]:
        """The paths of settings that nothing reads; a run would silently ignore them."""
        return [path for section in self._sections for path in section.unread]


class Overrides:
    """Overrides in order, to be made to many experiments.

    Several overrides of one path count as one change, with the reason of the last that had an
    effect; an override that leaves a value as it is, or whose path the experiment lacks (unless
    it gives a `value`), is no change. The path `at` stands for the round that is read.

    shared: where others, too, look for equal sections.
    """

    def __init__(self, overrides: Sequence[Override], shared: Shared | None = None) -> None:
        self._shared = Shared() if shared is None else shared
        self._of: dict[str, list[tuple[int, Override]]] = {}
        for i, override in enumerate(overrides):
            self._of.setdefault(override.path.partition(".")[0], []).append((i, override))
        self._of_read = self._of.pop(_AT, [])
        self._made: dict[tuple[str, int], _Section] = {}

    def apply(self, experiment: Experiment, read: Read) -> Overridden:
        """The experiment and the reading after the overrides, and what they changed.

        Raises `SpecError` if a value that is to be divided is not a whole number or a list of them.
        """
        sections = [self._section(name, value) for name, value in experiment.items()]
        sections += [self._section(name, _ABSENT) for name in self._of if name not in experiment]
        reading = self._section(_AT, read.at)
        return Overridden(
            {section.name: section.value for section in sections if section.value is not _ABSENT},
            Read(reading.value),
            [*sections, reading],
        )

    def _section(self, name: str, given: Any) -> _Section:
        key = (name, id(given))
        if key not in self._made:
            self._made[key] = self._changed(name, given)
        return self._made[key]

    def _changed(self, name: str, given: Any) -> _Section:
        overrides = self._of_read if name == _AT else self._of.get(name, ())
        before = {} if given is _ABSENT else {name: given}
        after = copied(before) if overrides else before
        effective = set[int]()
        reasons: dict[str, tuple[int, str]] = {}
        for i, override in overrides:
            old = get(after, override.path)
            new = _overridden(old, override)
            if new == old:
                continue
            put(after, override.path, new)
            effective.add(i)
            reasons[override.path] = (reasons.get(override.path, (i,))[0], override.why)
        changes = []
        for path, (first, why) in reasons.items():
            old, new = get(before, path), get(after, path)
            if old != new:
                changes.append((first, Change(path, old, new, why)))
        value = after.get(name, _ABSENT)
        value = self._shared.one(value) if overrides and value is not _ABSENT else value
        known = known_keys()
        unread = [path for path, _ in leaves(after) if path not in known and name != _AT]
        return _Section(name, given, value, changes, frozenset(effective), unread)


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
    quotient = Decimal(value) / Decimal(str(by))
    return max(1, int(quotient.quantize(Decimal(1), rounding=ROUND_HALF_UP)))
