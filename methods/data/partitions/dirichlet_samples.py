"""Distribution-based label skew: class shares from a Dirichlet distribution, sizes all equal.

Paper: Calibre, Section V-A, D-non-i.i.d. with concentration 0.3, written (0.3, #samples).
Deviation: the text divides the data set, which would leave clients with unequal sizes, but writes
one number of samples. That number is taken, and a class that is used up is drawn from again. Shares
are rounded by largest remainders. More in `_sampled`.
Evidence: `tests/methods/test_partitions.py`.
"""

from dataclasses import dataclass

import numpy as np
from pydantic import PositiveFloat

from ...seeds import Seeds
from ..dealing import proportional
from ._sampled import Sampled

_PARTS = 2**40
"""Shares are whole numbers of this many parts, so that rounding them is exact."""


@dataclass(frozen=True)
class DirichletSamples(Sampled):
    """alpha: concentration; the smaller, the fewer classes a client holds."""

    alpha: PositiveFloat = 0.3

    def wanted(self, n_classes: int, seeds: Seeds) -> list[dict[int, int]]:
        """Images in the proportions of one draw of the Dirichlet distribution a client."""
        return [
            proportional(self._parts(n_classes, seeds, client), self.samples)
            for client in range(self.count + self.novel)
        ]

    def _parts(self, n_classes: int, seeds: Seeds, client: int) -> dict[int, int]:
        stream = np.random.default_rng(seeds.number("partition", "shares", client))
        share = stream.dirichlet([self.alpha] * n_classes)
        parts = {c: int(value * _PARTS) for c, value in enumerate(share)}
        return {c: n for c, n in parts.items() if n > 0}
