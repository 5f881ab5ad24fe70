"""Which clients train together: how many share a step, and whether clients of unlike sizes do.

Clients with equally many images can always share steps. Unlike clients can where padding is exact
(`LocalLoss.is_batch_independent`): the batches of a smaller client are then padded to those of the
largest in its chunk. The clients, ordered by size, are cut into chunks in the cheapest way, where a
step costs as much as its images and `STEP` bytes of images more. Measured on one core,
Adam, 8x8 to 28x28, of two to four convolutions: an image costs about 2 µs a KiB of
what autograd saves of it, a step of stacked models 0.6 to 2.2 ms more.
Evidence: `tests/methods/test_grouping.py` (every way of cutting, tried).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from fedrepro.methods.training.memory import step_bytes

STEP = 512 * 2**10
_EVERYTHING = 1 << 40


@dataclass(frozen=True)
class Grouping:
    """How the clients of a round share steps, which changes no result; None: the engine chooses.

    at_once: how many share a step at most.
    padded: whether clients of unlike sizes share steps wherever that is exact (true), never
        (false), or where it is faster (None).
    """

    at_once: int | None = None
    padded: bool | None = None

    def step_worth(self, image_bytes: int) -> int:
        """How many images cost as much as a step; image_bytes: of `memory.image_bytes`."""
        return _EVERYTHING if self.padded else max(1, STEP // image_bytes)


ENGINES_CHOICE = Grouping()


def fitting(device: torch.device, client_bytes: int) -> int:
    """How many clients a step should hold that need `client_bytes` each."""
    at_once = step_bytes(device) // max(1, client_bytes)
    # A single model runs the library's own convolution: two or three stacked models are slower.
    return at_once if at_once >= 4 else 1


def equal_chunks(sizes: Sequence[int], at_once: int) -> list[list[int]]:
    """Positions of clients with equally many images, at most `at_once` together."""
    by_size: dict[int, list[int]] = {}
    for position, size in enumerate(sizes):
        by_size.setdefault(size, []).append(position)
    return [
        positions[start : start + at_once]
        for positions in by_size.values()
        for start in range(0, len(positions), at_once)
    ]


@lru_cache(maxsize=16)
def padded_chunks(
    sizes: tuple[int, ...], at_once: int, batch_size: int, step_worth: int
) -> list[list[int]]:
    """Positions of clients that share steps, at most `at_once`; larger clients come first.

    sizes: images of each client. step_worth: how many images cost as much as a step.
    """
    order = sorted(range(len(sizes)), key=lambda position: -sizes[position])
    # cheapest[i]: the least cost of the clients from the i-th in order on, and the next cut.
    cheapest = [(0, 0)] * (len(sizes) + 1)
    for first in reversed(range(len(sizes))):
        most = sizes[order[first]]
        cost, found = step_worth * -(-most // batch_size), []
        for end in range(first + 1, min(first + at_once, len(sizes)) + 1):
            cost += min(-(-sizes[order[end - 1]] // batch_size) * batch_size, most)
            found.append((cost + cheapest[end][0], end))
        # Of equal costs the longest chunk.
        cheapest[first] = min(found, key=lambda one: (one[0], -one[1]))
    chunks, first = [], 0
    while first < len(sizes):
        end = cheapest[first][1]
        chunks.append(order[first:end])
        first = end
    return chunks
