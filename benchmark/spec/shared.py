"""The settings of a paper's cells, equal ones as one object.

Thousands of cells differ in a few settings, so a paper has only dozens of sections.
Whoever works something out of one can then remember it by the object itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from fedrepro.benchmark.spec.model import Experiment
from fedrepro.benchmark.spec.settings import merge

Value = TypeVar("Value")


class Shared:
    """What has been read of one paper. Nobody may change what is shared."""

    def __init__(self) -> None:
        self._objects: dict[str, Any] = {}
        self._merged: dict[tuple[object, ...], Any] = {}

    def one(self, value: Value) -> Value:
        """The value equal to this one that was given first; types and the order of keys count."""
        made: Value = self._objects.setdefault(repr(value), value)
        return made

    def layer(self, settings: Mapping[str, Any]) -> Experiment:
        """Settings as `merged` takes them: shared, and each section of them too."""
        return self._whole({name: self.one(value) for name, value in settings.items()})

    def merged(self, *layers: Experiment) -> Experiment:
        """`benchmark.spec.settings.merge` of layers; each combination, and each of sections,
        once.
        """
        key = tuple(map(id, layers))
        if key not in self._merged:
            lowest, *above = layers
            sections = dict(lowest)
            for layer in above:
                for name, value in layer.items():
                    sections[name] = (
                        self._over(sections[name], value) if name in sections else value
                    )
            self._merged[key] = self._whole(sections)
        made: Experiment = self._merged[key]
        return made

    def _over(self, below: Any, value: Any) -> Any:
        """A section of a layer over one of a layer below it."""
        key = (id(below), id(value))
        if key not in self._merged:
            merged = merge({"section": below}, {"section": value})
            self._merged[key] = self.one(merged["section"])
        return self._merged[key]

    def _whole(self, sections: dict[str, Any]) -> Experiment:
        key = (*sections, *map(id, sections.values()))
        made: Experiment = self._merged.setdefault(key, sections)
        return made
