"""Named random streams, so that trials are paired by construction.

The name of a stream says everything that it may depend on. Seed k therefore means the same
partition, the same initial weights and the same batch order for every method of a trial, and a
client's stream does not depend on the clients that are trained with it.

Streams belong to a few sources of randomness. One source can be drawn anew while all others are
held, which shows what it contributes to the spread of trials (`redrawn`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

SOURCES: Mapping[str, tuple[str, ...]] = {
    "partition": ("partition", "labels"),
    "weights": ("weights",),
    "participants": ("participants", "split order", "lost clients"),
    "clusters": (
        "centres", "choice", "clustering", "global clusters", "local clusters", "prototypes",
    ),
    "batches": (),
}  # fmt: skip
"""By source: the first names of its streams. Streams named nowhere are of `batches`: the order of
images, their views, and whatever else is drawn while a method trains or is evaluated."""
_SOURCE_OF = {stream: source for source, streams in SOURCES.items() for stream in streams}


@dataclass(frozen=True)
class Seeds:
    """The random streams of one trial.

    series: which of the independent series of trials it belongs to.
    redrawn: by source, the trial whose streams are taken instead of those of `trial`.
    drawn: filled with the sources of which a stream was asked for.
    """

    trial: int
    redrawn: Mapping[str, int] = field(default_factory=dict, hash=False)
    series: int = 0
    drawn: set[str] = field(default_factory=set, compare=False, repr=False)

    def number(self, *names: str | int) -> int:
        """A 63-bit seed of the series, the trial of its source and `names`, and of nothing else."""
        source = _SOURCE_OF.get(str(names[0]) if names else "", "batches")
        self.drawn.add(source)
        trial = self.redrawn.get(source, self.trial)
        # Series 0 is older than the word: its numbers stay what they were.
        own = f"series {self.series} trial {trial}" if self.series else trial
        text = "/".join(map(str, (own, *names)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1

    def generator(self, *names: str | int) -> torch.Generator:
        """A generator for the stream called `names`, on the CPU: the same for every device."""
        return torch.Generator().manual_seed(self.number(*names))
