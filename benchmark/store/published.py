"""Trials at the published protocol as files to commit: evidence of the commit that trained them.

    results/published/<run key>/seed<k>.json

A file holds the record of the store, sealed, and of the trial's arrays those that a verdict reads;
encoders, what only figures draw, and the folder in which the data lay stay behind. It is sealed
once more as a whole. Other than a store's record it does not become stale: code that was edited
since makes it older, which `changed_since` tells. A file that is not what was written is an error,
since evidence must not go missing without a word.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...methods.registry import UnknownNameError
from ..config import RunConfig
from ..errors import StoreError
from . import fingerprint
from .files import (
    JSON_BYTES,
    canonical,
    disk,
    read_whole,
    seal_of,
    sealed,
    write_whole,
)
from .record import NOT_A_RECORD, TrialRecord, check_schema

SCHEMA = 1
FOLDER = Path("results/published")
"""Where a checkout has its committed trials."""
_RUN, _TRIAL = re.compile(r"[0-9a-f]{16}"), re.compile(r"seed(0|[1-9][0-9]*)\.json")
Name = tuple[str, int]
"""A run's key and a seed."""


@dataclass(frozen=True)
class PublishedTrial:
    """A committed trial. arrays: by name, those that verdicts read."""

    record: TrialRecord
    arrays: Mapping[str, NDArray[np.float64]]

    @property
    def commit(self) -> str | None:
        """That trained it, with '+' where files differed from it; None outside a checkout."""
        found = self.record.provenance.get("commit")
        return None if found is None else str(found)

    @property
    def version(self) -> str:
        """Of fedrepro."""
        return str(self.record.provenance.get("versions", {}).get("fedrepro", "unknown"))


class PublishedTrials:
    """The committed trials in one folder, in the place of a store (`judging.evidence.Trials`).

    source_of: hashes of the code on which a run depends today.
    """

    def __init__(
        self,
        root: Path | str = FOLDER,
        source_of: Callable[[RunConfig], fingerprint.Source] = fingerprint.source_of,
    ) -> None:
        self.root, self.source_of = Path(root), source_of

    @cached_property
    def trials(self) -> Mapping[Name, PublishedTrial]:
        """All of them, by run and seed in order.

        Raises `StoreError` for a file that is not what was written.
        """
        found = sorted(
            (path.parent.name, int(name[1]), path)
            for path in self.root.glob("*/*.json")
            if _RUN.fullmatch(path.parent.name) and (name := _TRIAL.fullmatch(path.name))
        )
        return {(run, seed): _read(path, run, seed) for run, seed, path in found}

    def find(self, config: RunConfig, seed: int) -> TrialRecord | None:
        """The record of a trial, whichever code made it, or None.

        None also where the record is missing that it starts from: without it nobody could say what
        data the weights were trained on.
        """
        found = self.trials.get((config.key, seed))
        if found is None:
            return None
        if config.start is not None:
            own = seed if config.start_trial is None else config.start_trial
            if self.find(config.start, own) is None:
                return None
        return found.record

    def stale(self, config: RunConfig, seed: int) -> list[str]:
        """Nothing: a committed trial is never stale."""
        return []

    def error(self, config: RunConfig, seed: int) -> str | None:
        """None: only finished trials are committed; of others a cell says that it lacks them."""
        return None

    def load_arrays(self, record: TrialRecord) -> Mapping[str, NDArray[Any]]:
        """Those that verdicts read."""
        return self.trials[record.run, record.seed].arrays

    def changed_since(self, config: RunConfig, seed: int) -> list[str]:
        """Files that differ today from those that made a trial; empty if there is none."""
        found = self.trials.get((config.key, seed))
        if found is None:
            return []
        try:
            return fingerprint.changed(found.record.source, self.source_of(config))
        except UnknownNameError as error:
            return [str(error)]

    def add(self, record: TrialRecord, arrays: Mapping[str, NDArray[Any]]) -> bool:
        """Writes a trial; False, and nothing written, where that trial is published already.

        What has been published stands: a second result of the same trial does not replace it.

        Raises `StoreError` if the disk refuses.
        """
        name = record.run, record.seed
        path = self.root / record.run / f"seed{record.seed}.json"
        if name in self.trials or os.path.lexists(path):  # another process may have published it
            return False
        with disk(self.root):
            write_whole(path, _written(record, arrays))
        # As the others will be read; these are not read again for it.
        more = {**self.trials, name: _read(path, *name)}
        self.trials = dict(sorted(more.items()))
        return True

    def __iter__(self) -> Iterator[PublishedTrial]:
        return iter(self.trials.values())


def _written(record: TrialRecord, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    plain = {
        "schema": SCHEMA,
        "record": json.loads(_without_places(record).as_file()),
        "arrays": {name: _listed(values) for name, values in sorted(arrays.items())},
    }
    return sealed(plain)


def _without_places(record: TrialRecord) -> TrialRecord:
    """Without the folders of the machine that trained, which are nobody's business."""
    known = dict(record.provenance)
    if "data" in known:
        known["data"] = {
            portion: {**used, "source": _name_of(used["source"])} if "source" in used else used
            for portion, used in known["data"].items()
        }
    # An old store's record had no seal; this one has, whose schema says so.
    return replace(record, provenance=known, schema=TrialRecord.schema)


def _name_of(source: object) -> object:
    """The last name of what is a whole path, of whatever system; anything else as it is."""
    for kind in (PurePosixPath, PureWindowsPath):
        if isinstance(source, str) and kind(source).is_absolute():
            return kind(source).name
    return source


def _read(path: Path, run: str, seed: int) -> PublishedTrial:
    try:
        plain = json.loads((read_whole(path, JSON_BYTES) or b"").decode())
        check_schema({"schema": plain["schema"]})
        if plain.pop("sha256") != seal_of(plain):
            raise ValueError("its seal does not fit its content")
        # Laid out again, the record is read as from the store, its own seal included.
        name = f"{fingerprint.digest(plain['record']['source'])}-seed{seed}"
        record = TrialRecord.from_file(canonical(plain["record"]), run, name)
        arrays = {name: _array(values) for name, values in plain["arrays"].items()}
    except NOT_A_RECORD as error:
        raise StoreError(
            f"{path} is not what was written ({error}); take it from the commit that brought it"
        ) from error
    return PublishedTrial(record, arrays)


def _listed(values: NDArray[Any]) -> Any:
    """Nested lists of float32 numbers, as short as they read back; None for what is no number."""
    if values.ndim:
        return [_listed(one) for one in values]
    number = np.float32(values)
    return float(str(number)) if np.isfinite(number) else None


def _array(listed: Any) -> NDArray[np.float64]:
    return np.array(listed, dtype=np.float64)  # None becomes NaN
