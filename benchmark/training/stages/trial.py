"""What every stage is given, and the parts that more than one of them builds."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ....methods import registry
from ....methods.checkpoint import NEVER, Checkpoint
from ....methods.data.federation import Federation, ImageSet
from ....methods.federated.base import ProgressCallback
from ....methods.nn.layers import Layer
from ....methods.seeds import Seeds
from ....methods.state import State
from ... import data

if TYPE_CHECKING:
    from ....methods.data.views.augment import Augmentation
    from ....methods.objectives.base import Objective
    from ...config import RunConfig


class StaleStateError(RuntimeError):
    """A trial was to go on, but its data have changed."""


@dataclass(frozen=True)
class StageInput:
    """One trial of `config`: random streams, device, data folder, weights to start from. `used`: of
    every portion that is read, or was before an interruption, checksum, release and note."""

    config: RunConfig
    seeds: Seeds
    device: torch.device
    data_dir: Path | None
    encoder: State | None
    progress: ProgressCallback
    checkpoint: Checkpoint = NEVER
    used: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def load(self, wanted: Mapping[str, Any], part: str, *, resized: bool = True) -> data.Loaded:
        """A part of the set that `wanted` (a config's `data`) names. Raises `DataError` if it is
        missing or damaged, `StaleStateError` if a state is of others."""
        loaded = data.load(
            wanted["name"],
            part,
            image_size=wanted["image_size"] if resized else None,
            channels=wanted["channels"] if resized else None,
            data_dir=self.data_dir,
            images=wanted["images"] if part != wanted["test_part"] else None,
        )
        name = f"{wanted['name']}/{part}"
        if self.used.get(name, {}).get("checksum", loaded.checksum) != loaded.checksum:
            raise StaleStateError(name)
        self.used[name] = {
            "checksum": loaded.checksum,
            "is_release": loaded.is_release,
            "note": loaded.note,
            "source": loaded.source,
            "images": len(loaded.portion),
        }
        return loaded

    def federation(self) -> Federation:
        wanted, clients = self.config.data, self.config.clients
        assert clients is not None
        parts = wanted["part"], wanted["test_part"], wanted.get("unlabeled_part")
        train, test, *unlabeled = (
            self.load(wanted, part, resized=False) for part in parts if part is not None
        )
        partition = registry.make("partition", clients["partition"], clients)
        size = wanted["image_size"], wanted["channels"]
        return data.build_federation(partition, train, test, self.seeds, *size, *unlabeled).to(
            self.device
        )

    def source(self) -> ImageSet:
        """The images on which the encoder was trained."""
        assert self.config.init_from is not None
        wanted = self.config.init_from.data
        return self.load(wanted, wanted["part"]).portion

    def network(self, share: float = 1.0) -> tuple[Layer, int]:
        """The encoder with a share of its channels, and the width of its output."""
        chosen = self.config.encoder
        encoder = registry.make("encoder", chosen["name"], chosen)
        if share != 1.0:
            encoder = encoder.narrowed(share)
        size, channels = self.config.data["image_size"], self.config.data["channels"]
        return encoder.build(channels, size), encoder.out_dim

    def objective(self) -> Objective | None:
        chosen = self.config.objective
        return None if chosen is None else registry.make("objective", chosen["name"], chosen)

    def augmentation(self) -> Augmentation | None:
        options = self.config.augmentation
        if options is None:
            return None
        # By name: a run without views must not depend on how they are drawn (`sources`).
        module = importlib.import_module("fedrepro.methods.data.views.augment")
        made: Augmentation = registry.with_options(module.Augmentation, options)
        return made
