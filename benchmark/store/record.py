"""A finished trial as stored: one immutable JSON record, its arrays in files of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...methods.outcome import Curve
from ..errors import StoreError
from . import fingerprint
from .files import seal_of, sealed

SCHEMA = 2
"""Of what is written; 1, which had no `sha256`, is still read."""

NOT_A_RECORD = (KeyError, TypeError, ValueError, AttributeError, RecursionError)
"""What reading raises for content that is no record, or not the one that was written."""


@dataclass(frozen=True)
class TrialRecord:
    """One trial of one run.

    source: SHA-256 by file of the code that the run depends on.
    provenance: device, versions, commit, start, wall seconds, data checksums and whether
    each set is the release.
    arrays, encoder: file name and SHA-256 of the trial's arrays; None where there are none.
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
    schema: int = SCHEMA

    def as_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold; metrics become lists of rounds and values."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["metrics"] = {
            name: {"rounds": list(curve.rounds), "values": list(curve.values)}
            for name, curve in self.metrics.items()
        }
        return plain

    def as_file(self) -> bytes:
        """What the record's file holds: `as_dict`, and the SHA-256 that tells a changed number."""
        plain = self.as_dict()
        return sealed(plain)

    @classmethod
    def from_file(cls, content: bytes, run: str, name: str) -> TrialRecord:
        """The record of a run in a file without its ending, however its JSON is laid out.

        Raises `StoreError` for a record of a newer version, and one of `NOT_A_RECORD` if a part is
        missing, unknown or changed, if the config is not that of the run, or if the record is
        another trial's.
        """
        plain = json.loads(content.decode())
        check_schema(plain)
        seal = plain.pop("sha256", None)
        if seal != (None if plain["schema"] == 1 else seal_of(plain)):
            raise ValueError("the content is not what was written")
        # What is stored, not `RunConfig.key`: a config of an older version has fewer fields.
        made_by = seal_of(plain["config"])[:16]
        record = cls.from_dict(plain)
        trial = f"{fingerprint.digest(record.source)}-seed{record.seed}"
        if (record.run, made_by, trial) != (run, run, name):
            raise ValueError("the record is another trial's")
        return record

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> TrialRecord:
        """The record that `as_dict` wrote.

        Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` if a part is missing,
        unknown or not of its kind.
        """
        metrics = {}
        for name, curve in plain["metrics"].items():
            rounds, values = tuple(curve["rounds"]), tuple(curve["values"])
            if len(rounds) != len(values):
                raise ValueError(f"{name} has not one value for each round")
            metrics[name] = Curve(rounds, values)
        _check_kinds(plain, metrics)
        return cls(**{**plain, "metrics": metrics})


def _check_kinds(plain: Mapping[str, Any], metrics: Mapping[str, Curve]) -> None:
    """Raises `ValueError` if a part is of another kind than what is written.

    A seal tells damage, not what a stranger wrote and sealed, and whoever reads a record later
    takes it at its word. Names of other versions are not known here and pass.
    """
    config, provenance, parts = plain["config"], plain["provenance"], ("arrays", "encoder")
    data = provenance.get("data", {})
    right = {
        "config": _is_number(config.get("series", 0), int)
        and isinstance(config.get("precision", ""), str),
        "seed": _is_number(plain["seed"], int) and plain["seed"] >= 0,
        "metrics": all(
            all(_is_number(at, int) for at in curve.rounds) and all(map(_is_number, curve.values))
            for curve in metrics.values()
        ),
        "counts": all(map(_is_number, plain["counts"].values())),
        "source": _is_texts(plain["source"]),
        "provenance": all(isinstance(provenance.get(one, ""), str) for one in _TEXTS)
        and isinstance(provenance.get("commit"), str | None)
        and all(_is_number(provenance.get(one, 0)) for one in ("wall_s", "interrupted"))
        and _is_texts(provenance.get("versions", {})),
        "data": all(
            isinstance(used.get("checksum", ""), str)
            and all(isinstance(one, str | bool | int | float | None) for one in used.values())
            for used in data.values()
        ),
        **{name: plain.get(name) is None or _is_texts(plain[name]) for name in parts},
    }
    if not all(right.values()):
        raise ValueError(
            f"of another kind: {', '.join(n for n, is_so in right.items() if not is_so)}"
        )


_TEXTS = ("device", "started")
LARGEST = 1e100
"""No trial gives a number beyond it, and its square is still a number."""


def _is_number(value: object, kind: type[int] | type[float] = float) -> bool:
    """Whether it is a whole number or, unless `kind` is int, any other one; and no truth value."""
    return type(value) in (int, kind) and -LARGEST <= value <= LARGEST  # type: ignore[operator]


def _is_texts(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(one, str) for one in value.values())
        and all(isinstance(one, str) for one in value)
    )


def check_schema(plain: Mapping[str, Any]) -> None:
    """Raises `StoreError` for what a newer version wrote."""
    schema = plain.get("schema", SCHEMA)
    if isinstance(schema, int) and schema > SCHEMA:
        raise StoreError(
            f"store was written by a newer fedrepro (schema {schema} > {SCHEMA}); "
            "update fedrepro or give another --store"
        )
