"""Whether the data that runs read are there, and whether they have changed since a trial."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from ...methods import registry
from ...methods.data.federation import Federation, ImageSet
from ...methods.seeds import Seeds
from .. import data
from ..config import RunConfig
from ..data_names import is_own
from ..errors import DataError, is_out_of_memory
from ..store.store import TrialRecord

Wanted = tuple[str, str, int | None]  # name of a data set, part, number of images (None for all)


@dataclass
class DataAvailability:
    """The data sets in one folder, each part read once. `partly`: what own partitions leave out."""

    data_dir: Path | None
    download: bool
    _found: dict[Wanted, str | DataError] = field(default_factory=dict)
    _dealt: dict[str, str | None] = field(default_factory=dict)
    partly: list[str] = field(default_factory=list)

    def problem(self, config: RunConfig) -> str | None:
        """Why training could not read its data, as one sentence; None if it could."""
        for wanted in portions_of(config):
            if isinstance(found := self._look(wanted, self.download), DataError):
                return str(found)
        return self._not_dealt(config)

    def changed(self, config: RunConfig, record: TrialRecord) -> list[str]:
        """Parts that are there, but with another content than `record` was trained on."""
        trained = record.provenance.get("data", {})
        now = {f"{one[0]}/{one[1]}": self._look(one) for one in portions_of(config)}
        before = {name: trained[name]["checksum"] for name in now if name in trained}
        return [one for one in before if isinstance(now[one], str) and now[one] != before[one]]

    def _not_dealt(self, config: RunConfig) -> str | None:
        """Why data cannot be partitioned among clients, where data or partition are one's own."""
        wanted, clients = config.data, config.clients
        if clients is None or config.stage == "costs":
            return None
        key = json.dumps([wanted, clients], sort_keys=True)
        if key not in self._dealt:
            self._dealt[key] = None
            partition = registry.make("partition", clients["partition"], clients)
            is_known = type(partition).__module__.startswith("fedrepro.")
            if is_known and not is_own(wanted["name"]):
                return None
            train, test = (
                data.load(wanted["name"], wanted[part], data_dir=self.data_dir, images=images)
                for part, images in (("part", wanted["images"]), ("test_part", None))
            )
            try:
                dealt = partition.deal(train.portion, test.portion, train.n_classes, Seeds(0))
                if not is_known:
                    name = clients["partition"]
                    leak = self._leak(dealt, train.portion, test.portion, wanted["name"], name)
                    self._dealt[key] = leak
            except ValueError as error:
                said = registry.told(error, [clients["partition"]]).removeprefix("ValueError: ")
                if is_own(wanted["name"]):
                    self._dealt[key] = f"{wanted['name']} does not suit the paper's clients: {said}"
            except Exception:  # a mistake in code of one's own, which training tells with its line
                pass
        return self._dealt[key]

    def _leak(
        self, dealt: Federation, train: ImageSet, test: ImageSet, of: str, name: str
    ) -> str | None:
        """What an own partition does that trains on test images; notes what it leaves out."""
        learnt, tested = ({*torch.cat([*one]).tolist()} for one in (dealt.train_of, dealt.test_of))
        for what, used, part in (("training", learnt, train), ("test", tested, test)):
            if len(used) < len(part):
                self.partly.append(f"{name} gives {len(used)} of {len(part)} {what} images of {of}")
        both = {*_contents(dealt.train.images[[*learnt]])}
        both &= {*_contents(dealt.test.images[[*tested]])}
        times = Counter(one for part in (train, test) if both for one in _contents(part.images))
        leaked = sum(times[one] < 2 for one in both)  # the data have the others twice
        said = f"{name} gives {leaked} images both for training and as test images"
        return said if leaked else None

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


def _contents(images: Tensor) -> Iterator[bytes]:
    return (hashlib.sha256(one.numpy().tobytes()).digest() for one in images)


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
