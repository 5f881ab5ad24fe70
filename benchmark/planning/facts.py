"""What is counted of networks and of clients' data: multiply-adds, bytes, images of each client.

Counting needs torch (networks on its `meta` device, partitions on labels without images), so counts
are kept in the user's cache folder; they hold for the sources that they were made with.
Evidence: `tests/benchmark/test_work.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from ..config import RunConfig
from ..version import __version__
from . import kept
from .sizes import images_of

UNKNOWN_IMAGES = 50_000
_FILE = "counted-{}.json"
"""By sources, so that checkouts beside each other do not write over each other."""
_CLIENT_IMAGES = 50
"""Of a client whose data cannot be dealt."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class Network:
    """Of one model and one image.

    multiply_adds: of a forward pass. module_multiply_adds: those of a client module, 0 where there
    is none. image_bytes: what autograd saves. weights: trained numbers. bytes: of all tensors.
    batch_statistics: whether there are running ones, so that images influence each other.
    """

    multiply_adds: int
    module_multiply_adds: int
    image_bytes: int
    weights: int
    bytes: int
    batch_statistics: bool


@dataclass(frozen=True)
class Dealt:
    """Images of clients: for training and for testing, and how many test images are distinct.

    novel: the last so many clients never train.
    """

    train: Sequence[int]
    test: Sequence[int]
    distinct_test: int
    novel: int

    @property
    def training(self) -> Sequence[int]:
        """Of the clients that may take part."""
        return self.train[: len(self.train) - self.novel]


class Facts:
    """Counts by what they are of, read from the cache folder or made and kept there.

    data_dir: where sets lie that no size is known of.
    """

    def __init__(self, data_dir: Path | None = None) -> None:
        self._data_dir = data_dir
        self._stamp = _stamp()
        held = kept.read(_FILE.format(self._stamp[:12]))
        usable = isinstance(held, dict) and held.get("stamp") == self._stamp
        self._held: dict[str, Any] = held["counts"] if usable else {}
        self._made: dict[str, Any] = {}

    def network(self, config: RunConfig) -> Network:
        """The encoder of a run at its image size."""
        given = [config.encoder, config.data["channels"], config.data["image_size"]]
        return self._known("network", given, Network, lambda: _network(*given))

    def dealt(self, config: RunConfig) -> Dealt:
        """The images of the run's clients; those without labels are shared evenly."""
        assert config.clients is not None
        data = config.data
        train, test = self.images(data, "part"), self.images(data, "test_part")
        given = [config.clients, data["name"], train, test]
        dealt = self._known("dealt", given, Dealt, lambda: _dealt(*given))
        if data.get("unlabeled_part") is None:
            return dealt
        more = self._part(data["name"], data["unlabeled_part"]) // max(1, len(dealt.training))
        own = [n + more * (i < len(dealt.training)) for i, n in enumerate(dealt.train)]
        return Dealt(own, dealt.test, dealt.distinct_test, dealt.novel)

    def images(self, data: Mapping[str, Any], role: str) -> int:
        """Images of the part that a run's `data` names under `part` or `test_part`; 0 for none."""
        part = data[role]
        if part is None:
            return 0
        chosen = data["images"] if role == "part" else None
        return int(chosen or self._part(data["name"], part))

    def _part(self, name: str, part: str) -> int:
        known = images_of(name, part)
        return _read_size(name, part, self._data_dir) if known is None else known

    def _known(self, what: str, given: Sequence[Any], cls: type[_T], make: Callable[[], Any]) -> _T:
        key = f"{what} {json.dumps(given, sort_keys=True)}"
        if key not in self._made:
            try:
                self._made[key] = cls(**self._held[key])
            except (KeyError, TypeError):
                self._made[key] = made = make()
                self._held[key] = asdict(made)
                kept.write(
                    _FILE.format(self._stamp[:12]), {"stamp": self._stamp, "counts": self._held}
                )
        found: _T = self._made[key]
        return found


@cache
def _stamp() -> str:
    """Another one where networks or partitions may be others."""
    methods = Path(__file__).parents[2] / "methods"
    digest = hashlib.sha256(__version__.encode())
    for name in ("encoders", "nn", "data/partitions", "training/probing.py"):
        place = methods / name
        for path in sorted(place.glob("*.py")) if place.is_dir() else [place]:
            state = path.stat()
            digest.update(f"{path.name} {state.st_size} {state.st_mtime_ns}".encode())
    return digest.hexdigest()


def _network(encoder: Mapping[str, Any], channels: int, size: int) -> Network:
    import torch

    from ...methods import registry
    from ...methods.costs.model_costs import network_cost
    from ...methods.nn.modular import ModularNetwork
    from ...methods.training.probing import image_bytes

    shape = (channels, size, size)
    network = registry.make("encoder", encoder["name"], encoder).build(channels, size)
    whole, module = network_cost(network, *shape), 0
    if isinstance(network, ModularNetwork):
        module = network_cost(network.module, *shape).multiply_adds
    with torch.device("meta"):  # no weights are drawn
        saved = image_bytes(network, *shape)
    return Network(
        max(whole.multiply_adds, 1), module, saved, whole.parameters, whole.bytes, whole.buffers > 0
    )


def _dealt(clients: Mapping[str, Any], name: str, train: int, test: int) -> Dealt:
    """From dealing labels without images, each class equally often."""
    import torch

    from ...methods import registry
    from ...methods.data.federation import ImageSet
    from ...methods.seeds import Seeds
    from .. import data

    if "partition" not in clients:  # costs: clients are alike, and none has data
        return Dealt([clients["images"]] * clients["count"], [], 0, 0)
    classes = data.classes_of(name) or 1
    fake = [
        ImageSet(torch.zeros(n, 1, 1, 1, dtype=torch.uint8), torch.arange(n) % classes)
        for n in (train, test)
    ]
    try:
        partition = registry.make("partition", clients["partition"], clients)
        dealt = partition.deal(*fake, classes, Seeds(0))
    except ValueError:
        each = [_CLIENT_IMAGES] * clients["count"]
        return Dealt(each, each, sum(each), 0)
    distinct = len(set(torch.cat(list(dealt.test_of)).tolist())) if dealt.test_of else 0
    return Dealt(dealt.sizes().tolist(), [len(i) for i in dealt.test_of], distinct, dealt.novel)


@cache
def _read_size(name: str, part: str, data_dir: Path | None) -> int:
    """Images of a part of a set of one's own; a usual number where it cannot be read."""
    from .. import data
    from ..errors import DataError, is_out_of_memory

    try:
        return len(data.load(name, part, data_dir=data_dir).portion)
    except (DataError, LookupError):
        return UNKNOWN_IMAGES
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return UNKNOWN_IMAGES
