"""A finished trial as stored: one immutable JSON record, its arrays in files of their own."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from ...methods.outcome import Curve
from ..errors import StoreError
from . import fingerprint
from .files import seal_of, sealed

SCHEMA = 2

NOT_A_RECORD = (KeyError, TypeError, ValueError, AttributeError, RecursionError)
"""What reading raises for content that is no record, or not the one that was written."""


@dataclass(frozen=True)
class TrialRecord:
    """One trial of one run.

    run, config: key and canonical config. source: SHA-256 by file of the code that the run depends
    on. provenance: device, versions, commit, start, wall seconds, data checksums and whether each
    set is the release. arrays, encoder: file name and SHA-256; None where there are none.
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
        plain: dict[str, Any] = _RECORDS.dump_python(self, mode="json")
        return plain

    def as_file(self) -> bytes:
        """What the record's file holds: `as_dict`, and the SHA-256 that tells a changed number."""
        return sealed(self.as_dict())

    @classmethod
    def from_file(cls, content: bytes, run: str, name: str) -> "TrialRecord":
        """The record of a run in a file without its ending, however its JSON is laid out.

        Raises `StoreError` for a record of a newer version, and one of `NOT_A_RECORD` for what was
        changed, or is another trial's.
        """
        plain = json.loads(content)
        check_schema(plain)
        if plain.pop("sha256") != seal_of(plain):
            raise ValueError("the content is not what was written")
        record = _RECORDS.validate_json(content, strict=True)
        for metric, curve in record.metrics.items():
            if len(curve.rounds) != len(curve.values):
                raise ValueError(f"{metric} has not one value for each round")
        # What is stored, not `RunConfig.key`: a config of an older version has fewer fields.
        made_by = seal_of(record.config)[:16]
        trial = f"{fingerprint.digest(record.source)}-seed{record.seed}"
        if (record.run, made_by, trial) != (run, run, name):
            raise ValueError("the record is another trial's")
        return record


_RECORDS = TypeAdapter(TrialRecord)


def check_schema(plain: Mapping[str, Any]) -> None:
    """Raises `StoreError` for what a newer version wrote."""
    schema = plain.get("schema", SCHEMA)
    if isinstance(schema, int) and schema > SCHEMA:
        raise StoreError(
            f"store was written by a newer fedrepro (schema {schema} > {SCHEMA}); "
            "update fedrepro or give another --store"
        )
