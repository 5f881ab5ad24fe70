"""A store's trials whichever code made them, for a report on results that are older than the code.

Of a trial that the present code has made, that record; else the last one of earlier code. What was
edited since is kept in `edited`, so that a report can say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ..config import RunConfig
from .looks import LookBook
from .record import TrialRecord
from .store import Store


class AsMade:
    """Stored trials, stale ones included, in the place of a store (`judging.evidence.Trials`).

    edited: files that were edited since trials that were found were made.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.edited = set[str]()

    @property
    def looks(self) -> LookBook:
        """The store's: a look names the code of its trials, so stale ones are no new look."""
        return self.store.looks

    def find(self, config: RunConfig, seed: int) -> TrialRecord | None:
        """The trial by the present code, else that by the last code before it, or None.

        None also where it failed when it was last tried: an older success does not hide that.

        Raises `StoreError` as `Store.find` does.
        """
        fresh = self.store.find(config, seed)
        if fresh is not None or self.store.error(config, seed) is not None:
            return fresh
        earlier = self.store.earlier(config, seed)
        if not earlier:
            return None
        record, edits = max(earlier, key=lambda one: str(one[0].provenance.get("started", "")))
        self.edited.update(edits)
        return record

    def stale(self, config: RunConfig, seed: int) -> list[str]:
        """Nothing: what is stored is taken."""
        return []

    def error(self, config: RunConfig, seed: int) -> str | None:
        """As the store says."""
        return self.store.error(config, seed)

    def load_arrays(self, record: TrialRecord) -> Mapping[str, NDArray[Any]]:
        """As the store has them; raises `StoreError` as it does."""
        return self.store.load_arrays(record)
