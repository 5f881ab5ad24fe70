"""A finished trial as stored: one immutable JSON record, its arrays beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmark import sources
from methods.outcome import Curve

SCHEMA = 2
"""Of what is written; 1, which had no `sha256`, is still read."""


@dataclass(frozen=True)
class TrialRecord:
    """One trial of one run.

    source: SHA-256 by file of the code that the run depends on. provenance: device, versions,
    commit, start, wall seconds, threads, data checksums and whether each set is the release.
    arrays, encoder: file name and SHA-256 of the arrays beside the record, None where there are
    none.
    """

    run: str
    config: Mapping[str, Any]
    seed: int
    metrics: Mapping[str, Curve]
    counts: Mapping[str, float]
    source: Mapping[str, str]
    provenance: Mapping[str, Any]
    arrays: Mapping[str, str] | None = None
    encoder: Mapping[str, str] | None = None
    schema: int = field(default=SCHEMA)

    def as_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold; metrics become lists of rounds and values."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["metrics"] = {
            name: {"rounds": list(curve.rounds), "values": list(curve.values)}
            for name, curve in self.metrics.items()
        }
        return plain

    def sealed(self) -> dict[str, Any]:
        """`as_dict` with the SHA-256 of its content, which tells a changed number."""
        plain = self.as_dict()
        return {**plain, "sha256": _seal(plain)}

    @property
    def digest(self) -> str:
        """Of the code that made it, as in the record's name."""
        return sources.digest(self.source)

    @classmethod
    def unsealed(cls, plain: Mapping[str, Any]) -> TrialRecord:
        """The record that `sealed` made.

        Raises `ValueError`, `KeyError`, `TypeError` or `AttributeError` if a part is missing,
        unknown or changed, or if the config is not that of the run.
        """
        content = dict(plain)
        seal = content.pop("sha256", None)
        if seal != (None if content["schema"] == 1 else _seal(content)):
            raise ValueError("the content is not what was written")
        # Thousands of records share a few sources; kept once, they are no burden.
        source = content["source"]
        content["source"] = _sources.setdefault(sources.digest(source), source)
        record = cls.from_dict(content)
        # What is stored, not `RunConfig.key`: a config of an older version has fewer fields.
        if _seal(record.config)[:16] != record.run:
            raise ValueError("the config is another run's")
        return record

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> TrialRecord:
        """The record that `as_dict` wrote.

        Raises `KeyError` or `TypeError` if a part is missing or unknown.
        """
        metrics = {
            name: Curve(tuple(curve["rounds"]), tuple(curve["values"]))
            for name, curve in plain["metrics"].items()
        }
        return cls(**{**plain, "metrics": metrics})


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_sources: dict[str, Mapping[str, str]] = {}


def _seal(plain: Mapping[str, Any]) -> str:
    return hashlib.sha256(_CANONICAL.encode(plain).encode()).hexdigest()
