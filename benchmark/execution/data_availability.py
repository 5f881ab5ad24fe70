"""Whether the data that runs read are there, and whether they have changed since a trial."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...methods import registry
from ...methods.seeds import Seeds
from .. import data
from ..config import RunConfig
from ..data_names import is_own
from ..errors import DataError, is_out_of_memory
from ..store.store import TrialRecord

Wanted = tuple[str, str, int | None]  # name of a data set, part, number of images (None for all)


@dataclass
class DataAvailability:
    """The data sets in one folder; each part is read once, for its checksum or why it has none."""

    data_dir: Path | None
    download: bool
    _found: dict[Wanted, str | DataError] = field(default_factory=dict)
    _dealt: dict[str, str | None] = field(default_factory=dict)

    def problem(self, config: RunConfig) -> str | None:
        """Why training could not read its data, as one sentence; None if it could."""
        for wanted in portions_of(config):
            found = self._look(wanted, self.download)
            if isinstance(found, DataError):
                return str(found)
        return self._not_dealt(config) if is_own(config.data["name"]) else None

    def changed(self, config: RunConfig, record: TrialRecord) -> list[str]:
        """Parts that are there, but with another content than `record` was trained on."""
        trained = record.provenance.get("data", {})
        now = {f"{one[0]}/{one[1]}": self._look(one) for one in portions_of(config)}
        before = {name: trained[name]["checksum"] for name in now if name in trained}
        return [one for one in before if isinstance(now[one], str) and now[one] != before[one]]

    def _not_dealt(self, config: RunConfig) -> str | None:
        """Why data of one's own cannot be dealt to the clients, whom the paper made for others."""
        wanted, clients = config.data, config.clients
        if clients is None or config.stage == "costs":
            return None
        key = json.dumps([wanted, clients], sort_keys=True)
        if key not in self._dealt:
            train, test = (
                data.load(wanted["name"], wanted[part], data_dir=self.data_dir, images=images)
                for part, images in (("part", wanted["images"]), ("test_part", None))
            )
            partition = registry.make("partition", clients["partition"], clients)
            self._dealt[key] = None
            try:
                partition.deal(train.portion, test.portion, train.n_classes, Seeds(0))
            except ValueError as error:
                said = registry.told(error, [clients["partition"]]).removeprefix("ValueError: ")
                self._dealt[key] = f"{wanted['name']} does not suit the paper's clients: {said}"
            except Exception:  # a mistake in code of one's own, which training tells with its line
                pass
        return self._dealt[key]

    def _look(self, wanted: Wanted, download: bool = False) -> str | DataError:
        found, (name, part, images) = self._found.get(wanted), wanted
        if found is not None and not (download and isinstance(found, DataError)):
            return found
        try:
            loaded = data.load(name, part, data_dir=self.data_dir, images=images, download=download)
            found = loaded.checksum
        except (DataError, LookupError) as error:
            found = DataError(str(error))
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            found = DataError(f"{name}/{part} could not be read: memory ran out")
        self._found[wanted] = found
        return found


def portions_of(config: RunConfig) -> Iterator[Wanted]:
    """The parts that training `config` reads itself; costs are counted on noise."""
    if config.stage == "costs":
        return
    wanted = config.data
    yield wanted["name"], wanted["part"], wanted["images"]
    if wanted.get("unlabeled_part") is not None:
        yield wanted["name"], wanted["unlabeled_part"], wanted["images"]
    if wanted["test_part"] is not None:
        yield wanted["name"], wanted["test_part"], None
    if config.stage == "measurement" and config.init_from is not None:
        yield from portions_of(config.init_from)
