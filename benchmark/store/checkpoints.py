"""Trials in training, as a store keeps them until their record is written.

A checkpoint is an npz file of numbers and of JSON: what it is of, and the state as plain data
(`methods.checkpoint_tree`). Nothing in it is executed, no class is looked up but the dataclasses of
this package and of the method. One that is damaged, or that another run, seed, source, device,
version or encoder made, is reported and not used.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...methods.checkpoint_tree import DAMAGED, put_together, taken_apart
from ..errors import StoreError
from .files import arrays_from, disk, read_whole, replacing, write_npz
from .store import UNFINISHED, checkpoint_path


@dataclass
class TrialFile:
    """The checkpoint of one trial (run key, seed) in the store at `root`.

    `identity`: what must be the same for a trial to go on, as JSON. `packages`: whose dataclasses a
    state may hold. `device`: for tensors that were on no CPU. `say`: gets one sentence where a
    checkpoint is not used or cannot be written."""

    root: Path
    trial: tuple[str, int]
    identity: Mapping[str, Any]
    packages: Sequence[str]
    device: torch.device
    say: Callable[[str], None] = lambda sentence: None
    _has_failed: bool = False

    @property
    def path(self) -> Path:
        return checkpoint_path(self.root, *self.trial)

    def read(self) -> Any:
        """The state that was saved last; None where there is none that can be used."""
        try:
            if (content := read_whole(self.path)) is None:
                return None
            arrays = arrays_from(content)
            head = json.loads(arrays["head"].tobytes())
            other = [one for one, value in self.identity.items() if head["of"].get(one) != value]
            if not other:
                flat = [arrays[str(i)] for i in range(len(arrays) - 1)]
                return put_together(head["state"], flat, self.packages, self.device)
            self.refuse(f"is of another {other[0]}")
        except (*DAMAGED, RecursionError, StoreError):
            self.refuse("cannot be read or is damaged")
        return None

    def write(self, state: Any) -> None:
        """Replaces what was saved; where that cannot be done, the trial goes on all the same."""
        try:
            plain, flat = taken_apart(state)
            head = json.dumps({"of": dict(self.identity), "state": plain}).encode()
            arrays = {"head": np.frombuffer(head, dtype=np.uint8)}
            arrays |= {str(i): numbers for i, numbers in enumerate(flat)}
            with disk(self.root), replacing(self.path, self.root / UNFINISHED) as file:
                write_npz(file, arrays)
        except (StoreError, OSError, TypeError, MemoryError) as error:
            if not self._has_failed:
                self.say(f"its state is not saved: {' '.join(str(error).split())}")
            self._has_failed = True

    def refuse(self, why: str) -> None:
        """Says that what was saved is not used; the next state that is saved replaces it."""
        self.say(f"its checkpoint {why}; the trial starts from its beginning")
