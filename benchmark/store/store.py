"""The store: finished trials as immutable files, written so that a kill loses none.

    `store.json`                                      the version of its schema.
    `trials/<run key>/<source digest>-seed<k>.json`   a record, with its .npz and .encoder.npz.
    `errors/<run key>-seed<k>.json`                   why a trial failed; never taken as a result.
    `checkpoints/<run key>-seed<k>.checkpoint`        where an interrupted trial goes on.
    `unfinished/`                                     what is being written; a kill leaves it there.
    `lock`                                            held by the process that writes.

Files appear whole or not at all (`benchmark.store.files`) and the record comes last, so where it
exists all of the trial does. Anyone may read; one process at a time writes (`writing`).
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import ENOLCK, ENOSYS, EOPNOTSUPP
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from filelock import FileLock, Timeout
from pydantic import TypeAdapter

from ...methods.outcome import Arrays, Curve, Outcome
from ..config import RunConfig
from ..errors import StoreError
from ..metrics import best
from ..printable import without_folders
from . import files, fingerprint
from .files import PART, arrays_from, disk, read_whole, sha256_of, write_npz, write_whole

if TYPE_CHECKING:
    from ...methods.state import State

SCHEMA = 2

_NOT_A_RECORD = (KeyError, TypeError, ValueError, AttributeError, RecursionError)
"""What is raised for content that is no record, or not the one that was written."""
DESCRIPTION = "store.json"
UNFINISHED = "unfinished"
_LOCK = "lock"
_RECORD_FILE = re.compile(r"[0-9a-f]{16}/[0-9a-f]{12}-seed[0-9]+\.json")


@dataclass(frozen=True)
class TrialRecord:
    """One trial of one run.

    `run`, `config`: key and canonical config. `source`: SHA-256 by file of the code that the run
    depends on. `provenance`: device, versions, commit, start, wall seconds, data checksums and
    whether each set is the release. `arrays`, `encoder`: file name and SHA-256; None where there
    are none."""

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

    def value(self, metric: str, at: int | Literal["final", "best"]) -> float:
        """At a round, the last or the best; `KeyError` if it was not measured there."""
        curve = self.metrics[metric]
        return best(curve.values, metric) if at == "best" else curve.read(at)

    def as_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold; metrics become lists of rounds and values."""
        plain: dict[str, Any] = _RECORDS.dump_python(self, mode="json")
        return plain

    @classmethod
    def from_file(cls, content: bytes, run: str, name: str) -> TrialRecord:
        """The record of `run` in a file called `name`, without its ending. Raises `StoreError` for
        one of a newer version, and one of `_NOT_A_RECORD` for another trial's or a changed one."""
        plain = json.loads(content)
        check_schema(plain)
        if plain.pop("sha256") != files.seal_of(plain):
            raise ValueError("the content is not what was written")
        record = _RECORDS.validate_json(content, strict=True)
        for metric, curve in record.metrics.items():
            if len(curve.rounds) != len(curve.values):
                raise ValueError(f"{metric} has not one value for each round")
        # What is stored, not `RunConfig.key`: a config of an older version has fewer fields.
        made_by = files.seal_of(record.config)[:16]
        trial = f"{fingerprint.digest(record.source)}-seed{record.seed}"
        if (record.run, made_by, trial) != (run, run, name):
            raise ValueError("the record is another trial's")
        return record


_RECORDS = TypeAdapter(TrialRecord)


def check_schema(plain: Mapping[str, Any]) -> None:
    """Raises `StoreError` for what a newer version wrote."""
    schema = plain.get("schema", SCHEMA)
    if isinstance(schema, int) and schema > SCHEMA:
        said = f"store was written by a newer fedrepro (schema {schema} > {SCHEMA})"
        raise StoreError(f"{said}; update fedrepro or give another --store")


class Store:
    """Trials under one folder.

    `source_of`: hashes of the code that a run depends on; results of other code are stale. `warn`:
    gets one sentence for a file that is damaged."""

    def __init__(
        self,
        root: Path | str,
        source_of: Callable[[RunConfig], fingerprint.Source] = fingerprint.source_of,
        warn: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        """Opens a store for reading, empty without a folder; `StoreError` if a newer version's."""
        self.root, self.source_of, self.warn = Path(root), source_of, warn
        self._writing = False
        self._told = set[Path]()
        check_schema(_object_in(self.root / DESCRIPTION) or {})

    def find(self, config: RunConfig, seed: int) -> TrialRecord | None:
        """The whole trial that the present source made, or None; `StoreError` as when opened."""
        if not self._folder(config.key).is_dir():  # then no source need be read
            return None
        return self._sound_record(self._record_path(config, seed))

    def stale(self, config: RunConfig, seed: int) -> list[str]:
        """Files whose edit made the stored trial stale; empty if it is fresh or there is none."""
        edits = [edited for _, edited in self.earlier(config, seed)]
        return min(edits, key=len, default=[])

    def earlier(self, config: RunConfig, seed: int) -> list[tuple[TrialRecord, list[str]]]:
        """A trial's sound records by any code, each with the files that were edited since."""
        found = self._records(config.key, seed)
        return [(one, fingerprint.changed(one.source, self.source_of(config))) for one in found]

    def records(self) -> Iterator[TrialRecord]:
        """Every sound record, stale ones included, in order of run, source and seed."""
        return self._records("*", "*")

    def load_arrays(self, record: TrialRecord) -> Arrays:
        """The trial's arrays by name; raises `StoreError` if their file is missing or damaged."""
        if record.arrays is None:
            return {}
        path = self._folder(record.run) / record.arrays["file"]
        content = _sound_content(path, record.arrays)
        if content is None:
            raise StoreError(f"{path} is damaged or missing; `fedrepro run` trains its trial again")
        try:
            return arrays_from(content)
        except StoreError as error:
            raise StoreError(f"{path}: {error}") from error

    def encoder_path(self, record: TrialRecord) -> Path | None:
        """Where the encoder is, for a worker that reads it itself (`weights_from`)."""
        if record.encoder is None:
            return None
        return self._folder(record.run) / record.encoder["file"]

    def error(self, config: RunConfig, seed: int) -> str | None:
        """One line on why the trial failed when it was last tried, or None."""
        found = _object_in(self.root / error_file(config.key, seed))
        return None if found is None else str(found.get("message"))

    def saved_at(self, config: RunConfig, seed: int) -> float | None:
        """When a trial saved itself last, by the disk's clock; None where it has not."""
        with suppress(OSError):
            return checkpoint_path(self.root, config.key, seed).stat().st_mtime
        return None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Makes this process the only writer for a block; warns where nothing can be locked. Raises
        `StoreError` if another process writes, the folder cannot be written, or holds files and is
        no store; nothing has been created then."""
        lock = FileLock(self.root / _LOCK)
        with disk(self.root):
            names = {one.name for one in self.root.iterdir()} if self.root.exists() else set()
            if names and names.isdisjoint((DESCRIPTION, _LOCK)):
                said = f"{self.root} holds files and is no store of fedrepro"
                raise StoreError(f"{said}; give an empty folder or another --store")
            self.root.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                said = f"another fedrepro is writing to {self.root}"
                raise StoreError(f"{said}; wait for it or give another --store") from None
            except (OSError, NotImplementedError) as error:
                if getattr(error, "errno", ENOSYS) not in (ENOLCK, ENOSYS, EOPNOTSUPP):
                    raise
                self.warn(f"files in {self.root} cannot be locked; let no other run write there")
        try:
            self._writing = True
            with disk(self.root):
                # What killed writers left, by names that they alone give.
                for file in (self.root / UNFINISHED).glob("*"):
                    if PART.fullmatch(file.name):
                        file.unlink()
            if not (self.root / DESCRIPTION).exists():
                self._write(self.root / DESCRIPTION, _json({"schema": SCHEMA}))
            yield
        finally:
            self._writing = False
            lock.release()

    def save(
        self, config: RunConfig, seed: int, outcome: Outcome, provenance: Mapping[str, Any]
    ) -> TrialRecord:
        """Stores a finished trial and forgets its earlier failure. Raises `ValueError` for a number
        that is not finite, and `StoreError` if the disk refuses."""
        for name, curve in outcome.metrics.items():
            if not np.isfinite(curve.values).all():
                raise ValueError(f"{name} is not a finite number in every round")
        path = self._record_path(config, seed)
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
        self._write(path, files.sealed(record.as_dict()))
        with disk(self.root):
            (self.root / error_file(config.key, seed)).unlink(missing_ok=True)
        self.forget_checkpoint(config, seed)
        return record

    def forget_checkpoint(self, config: RunConfig, seed: int) -> None:
        """Removes what a finished trial had saved of itself, if anything."""
        with disk(self.root):
            checkpoint_path(self.root, config.key, seed).unlink(missing_ok=True)

    def save_error(self, config: RunConfig, seed: int, message: str, details: str = "") -> None:
        """Notes why a trial failed, without folders of this machine; raises `StoreError`."""
        trial = {"run": config.key, "config": config.as_dict(), "seed": seed}
        told = {"message": without_folders(message), "details": without_folders(details)}
        self._write(self.root / error_file(config.key, seed), _json({**trial, **told}))

    def _folder(self, run: str) -> Path:
        return self.root / "trials" / run

    def _record_path(self, config: RunConfig, seed: int) -> Path:
        version = fingerprint.digest(self.source_of(config))
        return self._folder(config.key) / f"{version}-seed{seed}.json"

    def _records(self, run: str, seed: int | str) -> Iterator[TrialRecord]:
        for path in sorted((self.root / "trials").glob(f"{run}/*-seed{seed}.json")):
            is_ours = _RECORD_FILE.fullmatch(f"{path.parent.name}/{path.name}")
            if is_ours and (record := self._sound_record(path)) is not None:
                yield record

    def _sound_record(self, path: Path) -> TrialRecord | None:
        """The record in a file, if it and its arrays are whole; else one line is said, once."""
        damaged = path
        try:
            if (content := read_whole(path)) is None:
                return None
            record = TrialRecord.from_file(content, path.parent.name, path.stem)
            for part, suffix in ((record.arrays, ".npz"), (record.encoder, ".encoder.npz")):
                damaged = path.with_suffix(suffix)
                if part is not None and _sound_content(damaged, part) is None:
                    break
            else:
                return record
        except _NOT_A_RECORD:
            pass
        if damaged not in self._told:
            self._told.add(damaged)
            said = "is damaged or missing; its trial is not used, and the next run makes it"
            self.warn(f"{damaged.relative_to(self.root)} {said}")
        return None

    def _write_arrays(self, path: Path, arrays: Arrays) -> dict[str, str] | None:
        if not arrays:
            return None
        write_npz(content := io.BytesIO(), arrays)
        self._write(path, content.getvalue())
        return {"file": path.name, "sha256": sha256_of(content.getvalue())}

    def _write(self, path: Path, content: bytes) -> None:
        assert self._writing, "only inside `writing`"
        with disk(self.root):
            write_whole(path, content, self.root / UNFINISHED)


def error_file(run: str, seed: int) -> str:
    """The file, below the root of a store, that says why a trial failed."""
    return f"errors/{run}-seed{seed}.json"


def checkpoint_path(root: Path, run: str, seed: int) -> Path:
    """Where a trial saves itself in the store at `root`."""
    return root / "checkpoints" / f"{run}-seed{seed}.checkpoint"


def _object_in(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None where there is no file or no object in it."""
    content = read_whole(path)
    try:
        found = None if content is None else json.loads(content.decode())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _sound_content(path: Path, part: Mapping[str, str]) -> bytes | None:
    """What is in a file of arrays; None where it is missing, damaged or not what `part` names."""
    content = read_whole(path)
    if content is None or (part["file"], part["sha256"]) != (path.name, sha256_of(content)):
        return None
    return content


def weights_from(content: bytes) -> State:
    """The weights in the content of an encoder's file; raises `StoreError` if there are none."""
    import torch  # here, because finding trials needs none of it

    return {name: torch.from_numpy(value) for name, value in arrays_from(content).items()}


def _json(plain: Mapping[str, Any]) -> bytes:
    return (json.dumps(plain, sort_keys=True, indent=1, allow_nan=False) + "\n").encode()
