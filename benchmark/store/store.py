"""The store: finished trials as immutable files, written so that a kill loses none.

    store.json                                      schema
    trials/<run key>/<source digest>-seed<k>.json   a record; .npz and .encoder.npz beside it
    errors/<run key>-seed<k>.json                   why a trial failed; never taken as a result
    quarantine/                                     damaged files, kept for inspection
    unfinished/                                     what is being written; a kill leaves it there

Files appear whole or not at all (`benchmark.store.files`) and the record comes last, so where it
exists all of the trial does. Anyone may read; one process at a time writes (`writing`).
"""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import StoreError
from fedrepro.benchmark.store import fingerprint
from fedrepro.benchmark.store.files import (
    Look,
    arrays_from,
    disk,
    locked,
    looking_into,
    npz_bytes,
    read_npz,
    sha256_of,
    write_whole,
)
from fedrepro.benchmark.store.record import SCHEMA, TrialRecord, check_schema
from fedrepro.methods.outcome import Curve, Outcome
from fedrepro.methods.state import State

_KEPT = 8192
"""Records that a store remembers as sound; of larger stores the earliest are read again."""
_FEW = 256
"""Sources whose digests are remembered: thousands of trials share a few."""


class Store:
    """Trials under one folder.

    source_of: hashes of the code that a run depends on; results of other code are stale. warn:
    told in one sentence when a damaged file is put aside. look: how files are read, None for as
    they lie.
    """

    def __init__(
        self,
        root: Path | str,
        source_of: Callable[[RunConfig], fingerprint.Source] = fingerprint.source_of,
        warn: Callable[[str], None] = lambda sentence: None,
        look: Look | None = None,
    ) -> None:
        """Opens a store for reading; a folder that does not exist is an empty store.

        Raises `StoreError` if a newer fedrepro wrote it.
        """
        self.root, self.warn = Path(root), warn
        self.source_of = source_of
        self._look = looking_into(self.root) if look is None else look
        self._writing = False
        self._sound: dict[tuple[str, str], TrialRecord] = {}
        description = self._read_json("store.json")
        if description is not None:
            check_schema(description)

    # -- reading ---------------------------------------------------------------------------------

    def find(self, config: RunConfig, seed: int) -> TrialRecord | None:
        """The finished trial made by the present source, or None.

        A damaged record or array file counts as none and is put aside by whoever is writing.

        Raises `StoreError` if the record cannot be read or is of a newer version.
        """
        return self._sound_record(config.key, self._name(config, seed))

    def stale(self, config: RunConfig, seed: int) -> list[str]:
        """Files whose edit made the stored trial stale; empty if it is fresh or there is none."""
        if self.find(config, seed) is not None:
            return []
        now = self.source_of(config)
        edits = []
        files = os.fsdecode(self._look(f"trials/{config.key}/") or b"").split("\n")
        for name in fnmatch.filter(files, f"*-seed{seed}.json"):
            record = self._sound_record(config.key, name.removesuffix(".json"))
            if record is not None:
                edits.append(fingerprint.changed(record.source, now))
        return min(edits, key=len, default=[])

    def records(self) -> Iterator[TrialRecord]:
        """Every sound record, stale ones included, in order of run, source and seed."""
        for path in sorted((self.root / "trials").glob("*/*-seed*.json")):
            record = self._sound_record(path.parent.name, path.stem)
            if record is not None:
                yield record

    def is_current(self, record: TrialRecord) -> bool:
        """Whether the present source made `record`."""
        try:
            now = self.source_of(RunConfig.from_dict(record.config))
        except LookupError:
            return False
        return fingerprint.digest(now) == fingerprint.digest(record.source)

    def load_arrays(self, record: TrialRecord) -> dict[str, NDArray[Any]]:
        """The trial's arrays by name; empty where it has none.

        Raises `StoreError` if the file is missing or damaged.
        """
        if record.arrays is None:
            return {}
        return self._load(record, record.arrays)

    def load_encoder(self, record: TrialRecord) -> State:
        """The encoder's weights, one model.

        Raises `StoreError` if the trial stored none, or the file is missing or damaged.
        """
        if record.encoder is None:
            raise StoreError(f"trial {record.seed} of run {record.run} stored no encoder")
        loaded = self._load(record, record.encoder)
        return {name: torch.from_numpy(value) for name, value in loaded.items()}

    def encoder_path(self, record: TrialRecord) -> Path | None:
        """Where the encoder lies, for a worker that reads it itself (`read_encoder`)."""
        if record.encoder is None:
            return None
        return self.root / "trials" / record.run / record.encoder["file"]

    def error(self, config: RunConfig, seed: int) -> str | None:
        """One line on why the trial failed when it was last tried, or None."""
        found = self._read_json(_error_name(config, seed))
        return None if found is None else str(found.get("message"))

    # -- writing ---------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Makes this process the only writer while the block runs.

        Raises `StoreError` if another process writes, or the folder cannot be written.
        """
        with disk(self.root):
            (self.root / "trials").mkdir(parents=True, exist_ok=True)
            lock = (self.root / "lock").open("a+")
        with lock:
            self._take(lock.fileno())
            self._writing = True
            try:
                self._clear_unfinished()
                if self._read_json("store.json") is None:
                    self._write(self.root / "store.json", _json({"schema": SCHEMA}))
                yield
            finally:
                self._writing = False

    def save(
        self, config: RunConfig, seed: int, outcome: Outcome, provenance: Mapping[str, Any]
    ) -> TrialRecord:
        """Stores a finished trial and forgets its earlier failure.

        Raises `ValueError` for a number that is not finite, and `StoreError` if the disk refuses;
        nothing that was stored before is lost then.
        """
        for name, curve in outcome.metrics.items():
            if not np.isfinite(curve.values).all():
                raise ValueError(f"{name} is not a finite number in every round")
        path = self.root / _place(config.key, f"{self._name(config, seed)}.json")
        arrays = self._write_arrays(path.with_suffix(".npz"), outcome.arrays)
        weights = {k: v.detach().cpu().numpy() for k, v in (outcome.encoder or {}).items()}
        encoder = self._write_arrays(path.with_suffix(".encoder.npz"), weights)
        record = TrialRecord(
            run=config.key,
            config=config.as_dict(),
            seed=seed,
            metrics={
                name: Curve(tuple(map(int, curve.rounds)), tuple(map(float, curve.values)))
                for name, curve in outcome.metrics.items()
            },
            counts={name: float(value) for name, value in outcome.counts.items()},
            source=dict(self.source_of(config)),
            provenance=dict(provenance),
            arrays=arrays,
            encoder=encoder,
        )
        self._write(path, record.as_file())
        with disk(self.root):
            (self.root / _error_name(config, seed)).unlink(missing_ok=True)
        return record

    def save_error(self, config: RunConfig, seed: int, message: str, details: str = "") -> None:
        """Notes why a trial failed; it is tried again by the next run.

        Raises `StoreError` if the disk refuses.
        """
        plain = {
            "run": config.key,
            "config": config.as_dict(),
            "seed": seed,
            "message": message,
            "details": details,
        }
        self._write(self.root / _error_name(config, seed), _json(plain))

    # -- files -----------------------------------------------------------------------------------

    def _name(self, config: RunConfig, seed: int) -> str:
        """Of a trial's files, without their endings."""
        return f"{_version(self.source_of(config))}-seed{seed}"

    def _read_json(self, name: str) -> dict[str, Any] | None:
        """The object in a file; None where there is no file or no object in it."""
        content = self._look(name)
        try:
            found = None if content is None else json.loads(content.decode())
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def _sound_record(self, run: str, name: str) -> TrialRecord | None:
        """The record in a file, if it and the arrays beside it are whole."""
        if (run, name) in self._sound:
            return self._sound[run, name]
        file = _place(run, f"{name}.json")
        content = self._look(file)
        if content is None:
            return None
        try:
            record = TrialRecord.from_file(content, run, name)
            damaged = [
                _place(run, part["file"])
                for part in (record.arrays, record.encoder)
                if part is not None and self._sound_content(run, part) is None
            ]
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            damaged = [file]
        if damaged:
            self._quarantine(self.root / file, damaged[0])
            return None
        if len(self._sound) >= _KEPT:
            del self._sound[next(iter(self._sound))]
        self._sound[run, name] = record
        return record

    def _sound_content(self, run: str, part: Mapping[str, str]) -> bytes | None:
        """What is in a file of arrays; None where it is missing or damaged."""
        content = self._look(_place(run, part["file"]))
        return None if content is None or sha256_of(content) != part["sha256"] else content

    def _quarantine(self, path: Path, damaged: str) -> None:
        if not self._writing:
            self.warn(f"{damaged} is damaged or missing; its trial is not used")
            return
        self.warn(f"{damaged} is damaged or missing; moved to quarantine, the trial is made again")
        with disk(self.root):
            place = self._quarantine_of(path)
            place.mkdir(parents=True, exist_ok=True)
            # The record goes first: without it, arrays that are left behind are no trial.
            for file in (path, path.with_suffix(".npz"), path.with_suffix(".encoder.npz")):
                with suppress(FileNotFoundError):
                    file.replace(place / file.name)

    def _quarantine_of(self, path: Path) -> Path:
        """A folder in which no earlier file of that name lies."""
        place = self.root / "quarantine" / path.parent.name
        for n in count(2):
            if not (place / path.name).exists():
                return place
            place = place.with_name(f"{path.parent.name}-{n}")
        raise AssertionError

    def _clear_unfinished(self) -> None:
        """Removes what a killed writer left; only the one writer may."""
        with disk(self.root), suppress(FileNotFoundError):
            for left in (self.root / "unfinished").iterdir():
                left.unlink()

    def _load(self, record: TrialRecord, part: Mapping[str, str]) -> dict[str, NDArray[Any]]:
        path = self.root / _place(record.run, part["file"])
        content = self._sound_content(record.run, part)
        if content is None:
            raise StoreError(f"{path} is damaged or missing; run again to renew it")
        try:
            return arrays_from(content)
        except StoreError as error:
            raise StoreError(f"cannot read {path}: {error}") from error

    def _take(self, lock: int) -> None:
        try:
            alone = locked(lock)
        except OSError as error:
            raise StoreError(f"cannot lock {self.root}: {error.strerror}") from error
        if not alone:
            raise StoreError(
                f"another fedrepro is writing to {self.root}; wait for it or give another --store"
            )

    def _write_arrays(
        self, path: Path, arrays: Mapping[str, NDArray[Any]]
    ) -> dict[str, str] | None:
        if not arrays:
            return None
        content = npz_bytes(arrays)
        self._write(path, content)
        return {"file": path.name, "sha256": sha256_of(content)}

    def _write(self, path: Path, content: bytes) -> None:
        assert self._writing, "only inside `writing`"
        with disk(self.root):
            write_whole(path, content, self.root / "unfinished")


def _place(run: str, file: str) -> str:
    """Of a trial's file below the store, as text: there are hundreds of thousands."""
    return f"trials/{run}/{file}"


def _error_name(config: RunConfig, seed: int) -> str:
    return f"errors/{config.key}-seed{seed}.json"


_versions: dict[int, tuple[fingerprint.Source, str]] = {}


def _version(source: fingerprint.Source) -> str:
    """The digest of a source, by the object."""
    known = _versions.get(id(source))
    if known is None:
        if len(_versions) >= _FEW:
            _versions.clear()
        # With the source itself, so that no other object can have its identity.
        known = _versions[id(source)] = source, fingerprint.digest(source)
    return known[1]


def read_encoder(path: Path) -> State:
    """The weights in an encoder's file.

    Raises `StoreError` if it cannot be read.
    """
    return {name: torch.from_numpy(value) for name, value in read_npz(path).items()}


def weights_from(content: bytes) -> State:
    """The weights in the content of an encoder's file.

    Raises `StoreError` if there are none.
    """
    return {name: torch.from_numpy(value) for name, value in arrays_from(content).items()}


def _json(plain: Mapping[str, Any]) -> bytes:
    return (json.dumps(plain, sort_keys=True, indent=1, allow_nan=False) + "\n").encode()
