"""The parts of data sets that runs read: whether they are there, and whether they have changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fedrepro.benchmark import data
from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import DataError
from fedrepro.benchmark.store.record import TrialRecord

Wanted = tuple[str, str, int | None]
"""Name of a data set, part, number of images (None for all)."""


@dataclass(frozen=True)
class _Found:
    """Checksum of a part that is there, or the sentence that says why it is not."""

    checksum: str | None = None
    problem: str | None = None


@dataclass
class DataAvailability:
    """What is known of the data under one folder; each part is looked at once."""

    data_dir: Path | None
    download: bool
    _found: dict[Wanted, _Found] = field(default_factory=dict)

    def problem(self, config: RunConfig) -> str | None:
        """The sentence of the `DataError` that training would end in, or None."""
        for wanted in portions_of(config):
            found = self._look(wanted)
            if found.problem is not None and self.download:
                found = self._found[wanted] = self._load(wanted, download=True)
            if found.problem is not None:
                return found.problem
        return None

    def changed(self, config: RunConfig, record: TrialRecord) -> list[str]:
        """Parts that are at hand with another content than `record` was trained on."""
        trained = record.provenance.get("data", {})
        now = {f"{w[0]}/{w[1]}": self._look(w).checksum for w in portions_of(config)}
        return [
            name
            for name, checksum in now.items()
            if checksum is not None and name in trained and trained[name]["checksum"] != checksum
        ]

    def _look(self, wanted: Wanted) -> _Found:
        if wanted not in self._found:
            self._found[wanted] = self._load(wanted, download=False)
        return self._found[wanted]

    def _load(self, wanted: Wanted, *, download: bool) -> _Found:
        name, part, images = wanted
        try:
            loaded = data.load(name, part, data_dir=self.data_dir, images=images, download=download)
        except (DataError, LookupError) as error:
            return _Found(problem=str(error))
        return _Found(checksum=loaded.checksum)


def portions_of(config: RunConfig) -> Iterator[Wanted]:
    """The parts that training `config` reads itself; costs are counted on noise."""
    if config.stage == "costs":
        return
    wanted = config.data
    yield wanted["name"], wanted["part"], wanted["images"]
    if wanted["test_part"] is not None:
        yield wanted["name"], wanted["test_part"], None
    if config.stage == "measurement" and config.start is not None:
        yield from portions_of(config.start)
