"""Named random streams, so that trials are paired by construction.

The name of a stream says everything that it may depend on. So seed k means the same partition,
initial weights and batch order for every method of a trial. A client's stream does not depend on
the clients that are trained with it.
"""

import hashlib
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Seeds:
    """The random streams of one trial, of one of several independent blocks of trials."""

    trial: int
    seed_block: int = 0

    def number(self, *names: str | int) -> int:
        """A 63-bit seed of the block, the trial and `names`, and of nothing else."""
        # Block 0 is older than the word: its numbers stay what they were.
        own = f"series {self.seed_block} trial {self.trial}" if self.seed_block else self.trial
        text = "/".join(map(str, (own, *names)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1

    def generator(self, *names: str | int) -> torch.Generator:
        """A generator for the stream called `names`, on the CPU: the same for every device."""
        return torch.Generator().manual_seed(self.number(*names))
