"""Trials in training, as a store keeps them until their record is written.

    checkpoints/<run key>-seed<k>.checkpoint    where the trial goes on
    checkpoints/<run key>-seed<k>.lock          held by the process that trains it

A checkpoint is one file, written aside and renamed: what it is of (JSON), the state as plain JSON
and numbers (`methods.checkpoint_tree`), and at its end the SHA-256 of all that. Nothing in it is
executed, no class is looked up but the dataclasses of this package and of the method. One that is
damaged, or that another run, seed, source, device, version or encoder made, is set aside in
`quarantine/` and never used.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch

from ...methods.checkpoint_tree import DAMAGED, put_together, taken_apart
from ..errors import FedreproError, StoreError
from .files import NoFileError, disk, read_whole, write_whole
from .folder import (
    UNFINISHED,
    checkpoint_lock,
    checkpoint_of,
    file_to_lock,
    locked,
    refuse_link,
)

_MAGIC = b"fedrepro checkpoint 2\n"
_SEAL = 64
_HEAD = 20

Identity = Mapping[str, Any]
"""What must be the same for a trial to go on: JSON."""


@dataclass
class TrialFile:
    """The checkpoint of one trial; from the first use of its file on this process alone has it.

    identity: see `Identity`. packages: whose dataclasses a state may hold. say: gets one sentence
    where a checkpoint is not used or cannot be written. patience_s: for which it is waited for the
    process that trained the trial before to be gone.
    """

    root: Path
    name: str
    identity: Identity
    packages: Sequence[str]
    device: torch.device
    say: Callable[[str], None] = lambda sentence: None
    patience_s: float = 10.0
    _held: ExitStack = field(default_factory=ExitStack)
    _is_held: bool = False
    _is_silent: bool = False

    @property
    def path(self) -> Path:
        """Where it lies."""
        return checkpoint_of(self.root, self.name)

    def __enter__(self) -> TrialFile:
        return self

    def __exit__(self, *raised: object) -> None:
        self._held.close()

    def read(self) -> Any:
        """The state that was saved last; None where there is none that can be used.

        Raises `FedreproError` if another process has it, `StoreError` if the disk refuses.
        """
        if not os.path.lexists(self.path):
            return None
        self._hold(self.patience_s)
        try:
            content = read_whole(self.path)
            if content is None:
                return None
            found, plain, flat = _opened(content)
            other = [name for name in self.identity if found.get(name) != self.identity[name]]
            if not other:
                return put_together(plain, flat, self.packages, self.device)
            self.set_aside(f"is of another {other[0]}")
        except (*DAMAGED, RecursionError, NoFileError):
            self.set_aside("is damaged")
        return None

    def write(self, state: Any) -> None:
        """Replaces what was saved; where that cannot be done, the trial goes on all the same."""
        try:
            self._hold(0.0)
            refuse_link(self.root / UNFINISHED)
            with disk(self.root):
                write_whole(self.path, _content(self.identity, state), self.root / UNFINISHED)
        except (FedreproError, OSError, TypeError, MemoryError) as error:
            if not self._is_silent:
                self.say(f"its state is not saved: {' '.join(str(error).split())}")
            self._is_silent = True

    def _hold(self, patience_s: float) -> None:
        """Locks the trial until the end of the block, or of the process."""
        folder = self.path.parent
        refuse_link(folder)
        if self._is_held:
            return
        with disk(self.root):
            folder.mkdir(parents=True, exist_ok=True)
        lock = self._held.enter_context(file_to_lock(checkpoint_lock(self.root, self.name)))
        if not locked(lock, folder, patience_s):
            raise FedreproError(f"another process trains it with the checkpoint in {folder}")
        self._is_held = True

    def set_aside(self, why: str) -> None:
        """Moves it to where it is in nobody's way, in the place of an earlier one."""
        place = self.root / "quarantine" / "checkpoints"
        with suppress(StoreError, OSError):
            for folder in (place.parent, place):
                refuse_link(folder)
            place.mkdir(parents=True, exist_ok=True)
            self.path.replace(place / self.path.name)
        self.say(f"its checkpoint {why}; set aside, the trial starts anew")

    def discard(self) -> None:
        """The trial needs it no longer."""
        with suppress(OSError):
            self.path.unlink()


def _content(identity: Identity, state: Any) -> Iterator[bytes]:
    plain, flat = taken_apart(state)
    sizes = [[str(one.dtype).removeprefix("torch."), one.numel()] for one in flat]
    head = json.dumps({"of": dict(identity), "state": plain, "numbers": sizes}).encode()
    seal = hashlib.sha256()
    for part in (_MAGIC, f"{len(head):{_HEAD}d}".encode(), head):
        seal.update(part)
        yield part
    for numbers in flat:
        raw: Any = numbers.contiguous().view(torch.uint8).numpy()
        seal.update(raw)
        yield raw
    yield seal.hexdigest().encode()


def _opened(content: bytes) -> tuple[Mapping[str, Any], Any, list[torch.Tensor]]:
    """What it is of, the plain state and the numbers; raises one of `DAMAGED` for anything else."""
    start, held = len(_MAGIC) + _HEAD, memoryview(content)
    if content[: len(_MAGIC)] != _MAGIC:
        raise ValueError("no checkpoint")
    if hashlib.sha256(held[:-_SEAL]).hexdigest().encode() != content[-_SEAL:]:
        raise ValueError("the content is not what was written")
    length = int(content[len(_MAGIC) : start])
    head = json.loads(content[start : start + length])
    kinds = [(getattr(torch, dtype), int(count)) for dtype, count in head["numbers"]]
    if not all(isinstance(dtype, torch.dtype) and count >= 0 for dtype, count in kinds):
        raise ValueError("no numbers")
    sizes = [dtype.itemsize * count for dtype, count in kinds]
    ends = list(accumulate(sizes, initial=start + length))
    if ends[-1] != len(content) - _SEAL:
        raise ValueError("more or fewer numbers than were written")
    flat = []
    for (dtype, _), begin, size in zip(kinds, ends, sizes, strict=False):
        raw = torch.empty(size, dtype=torch.uint8)
        if size:
            raw[:] = torch.frombuffer(bytearray(held[begin : begin + size]), dtype=torch.uint8)
        flat.append(raw.view(dtype))
    return head["of"], head["state"], flat
