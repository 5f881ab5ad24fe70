"""A finished trial as stored: one immutable JSON record, its arrays beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from methods.outcome import Curve

SCHEMA = 1


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
