"""An SQLite index over the store's numbers, for queries; the records alone are the truth.

Only the driver writes it, and `rebuild` makes it anew from the records, so losing it loses nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from benchmark import sources
from benchmark.config import RunConfig
from benchmark.errors import StoreError
from benchmark.record import TrialRecord
from benchmark.store import Store

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
        self._write([record], fresh=False)

    def refresh(self) -> None:
        """Rebuilds the index if it does not list exactly the stored trials.

        Raises `StoreError` if the disk refuses.
        """
        stored = {_identity(record) for record in self.store.records()}
        try:
            listed = {tuple(row) for row in self.query("SELECT run, source, seed FROM trials")}
        except StoreError:
            listed = {("", "", -1)}
        if listed != stored:
            self.rebuild()

    def rebuild(self) -> int:
        """Makes the index anew from the records; returns how many trials it lists.

        Raises `StoreError` if the disk refuses.
        """
        records = list(self.store.records())
        self._write(records, fresh=True)
        return len(records)

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

    def _write(self, records: Iterable[TrialRecord], *, fresh: bool) -> None:
        try:
            if fresh:
                self.path.unlink(missing_ok=True)
            with closing(sqlite3.connect(self.path)) as db, db:
                db.executescript(_TABLES)
                for record in records:
                    _enter(db, record)
        except (sqlite3.Error, OSError, OverflowError) as error:
            raise StoreError(f"cannot write {self.path}: {error}") from error


def _identity(record: TrialRecord) -> tuple[str, str, int]:
    return record.run, sources.digest(record.source), record.seed


def _enter(db: sqlite3.Connection, record: TrialRecord) -> None:
    config, made = RunConfig.from_dict(record.config), record.provenance
    db.execute(
        "INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *_identity(record),
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
            (*_identity(record), name, at, value)
            for name, curve in record.metrics.items()
            for at, value in zip(curve.rounds, curve.values, strict=True)
        ],
    )
