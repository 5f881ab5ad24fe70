"""An SQLite index over the store's numbers, for queries; the records alone are the truth.

Only the driver writes it, and `rebuild` makes it anew from the records, so losing it loses nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import StoreError
from fedrepro.benchmark.store import fingerprint
from fedrepro.benchmark.store.record import TrialRecord
from fedrepro.benchmark.store.store import Store

_TABLES = """
CREATE TABLE IF NOT EXISTS trials (
    run TEXT, source TEXT, seed INTEGER, stage TEXT, method TEXT, data TEXT, description TEXT,
    device TEXT, started TEXT, wall_s REAL,
    PRIMARY KEY (run, source, seed)
);
CREATE TABLE IF NOT EXISTS metrics (
    run TEXT, source TEXT, seed INTEGER, metric TEXT, round INTEGER, value REAL,
    PRIMARY KEY (run, source, seed, metric, round)
);
"""


class Index:
    """The index of one store.

    trials: run, source (digest), seed, stage, method, data, description, device, started, wall_s.
    metrics: run, source, seed, metric, round (from 1), value (a fraction).
    """

    def __init__(self, store: Store) -> None:
        self.store, self.path = store, store.root / "index.sqlite"

    def add(self, record: TrialRecord) -> None:
        """Enters one trial.

        Raises `StoreError` if the disk refuses.
        """
        self._write([record])

    def refresh(self) -> None:
        """Makes the index list exactly the stored trials, all of which are read, once.

        Raises `StoreError` if the disk refuses.
        """
        try:
            listed = {tuple(row) for row in self.query("SELECT run, source, seed FROM trials")}
        except StoreError:
            self.rebuild()
            return
        stored, new = set[tuple[Any, ...]](), list[TrialRecord]()
        for record in self.store.records():
            identity = _identity(record)
            stored.add(identity)
            if identity not in listed:
                new.append(record)
        if new or listed != stored:
            self._write(new, gone=listed - stored)

    def rebuild(self) -> int:
        """Makes the index anew from the records; returns how many trials it lists.

        Raises `StoreError` if the disk refuses.
        """
        return self._write(self.store.records(), fresh=True)

    def query(self, statement: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of a SELECT over `trials` and `metrics`; the file is opened for reading only.

        Raises `StoreError` if there is no index or the statement is wrong.
        """
        try:
            place = f"{self.path.absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(place, uri=True)) as db:
                return db.execute(statement, tuple(parameters)).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"cannot query {self.path}: {error}") from error

    def _write(
        self,
        records: Iterable[TrialRecord],
        *,
        gone: Iterable[tuple[Any, ...]] = (),
        fresh: bool = False,
    ) -> int:
        """Enters records and takes out the trials that are gone; how many were entered."""
        entered = 0
        try:
            if fresh:
                self.path.unlink(missing_ok=True)
            with closing(sqlite3.connect(self.path)) as db, db:
                db.executescript(_TABLES)
                for table in ("trials", "metrics"):
                    where = "run = ? AND source = ? AND seed = ?"
                    db.executemany(f"DELETE FROM {table} WHERE {where}", gone)
                for record in records:
                    _enter(db, record)
                    entered += 1
        except (sqlite3.Error, OSError, OverflowError) as error:
            raise StoreError(f"cannot write {self.path}: {error}") from error
        return entered


def _identity(record: TrialRecord) -> tuple[str, str, int]:
    return record.run, fingerprint.digest(record.source), record.seed


def _enter(db: sqlite3.Connection, record: TrialRecord) -> None:
    config, made, identity = (
        RunConfig.from_dict(record.config),
        record.provenance,
        _identity(record),
    )
    db.execute(
        "INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *identity,
            config.stage,
            config.method,
            config.data["name"],
            config.description,
            made.get("device"),
            made.get("started"),
            made.get("wall_s"),
        ),
    )
    db.executemany(
        "INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?, ?, ?)",
        [
            (*identity, name, at, value)
            for name, curve in record.metrics.items()
            for at, value in zip(curve.rounds, curve.values, strict=True)
        ],
    )
