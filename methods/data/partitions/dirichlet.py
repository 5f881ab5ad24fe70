"""Classes partitioned in shares drawn from a Dirichlet distribution.

Papers: fedrlc (Section VII-C, β), mfcl (Section 5.1, ξ), fcl (second non-IID setting), after Hsu et
al. 2019 and Yurochkin et al. 2019. For each class its shares over the clients are drawn once, with
all parameters `alpha`. Small values give each class to few clients, large ones to all evenly.
Unstated: what happens to clients with too few images. Taken: the draw is repeated, at most a
hundred times, until all have `smallest` images. Where no draw does (a hundred clients at 0.01),
clients that lack images take them one by one, at random, from the client that holds most.
Evidence: `tests/methods/test_partitions.py`.
"""

from dataclasses import dataclass

import numpy as np
import torch
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor

from ...seeds import Seeds
from ..dealing import federation_of
from ..federation import Federation, ImageSet
from .base import Partition

_DRAWS = 100


@dataclass(frozen=True)
class Dirichlet(Partition):
    """alpha: concentration, above 0. `smallest`: images that every client has at least."""

    alpha: PositiveFloat = 0.5
    smallest: PositiveInt = 2

    def deal(self, train: ImageSet, test: ImageSet, n_classes: int, seeds: Seeds) -> Federation:
        """Raises `ValueError` without labels, or with fewer than `smallest` images a client."""
        labels = train.known_labels("dealing by class").cpu()
        if len(labels) < self.count * self.smallest:
            raise ValueError(
                f"{len(labels)} images cannot give {self.count} clients {self.smallest} each"
            )
        rng = np.random.default_rng(seeds.number("partition", "dirichlet"))
        for _ in range(_DRAWS):
            owner = self._owners(labels, n_classes, rng)
            if int(torch.bincount(owner, minlength=self.count).min()) >= self.smallest:
                break
        else:
            self._even_out(owner, rng)
        hands = [torch.nonzero(owner == client).flatten() for client in range(self.count)]
        return federation_of(train, test, hands, n_classes)

    def _owners(self, labels: Tensor, n_classes: int, rng: np.random.Generator) -> Tensor:
        """The client of each image, int64, from one draw of all shares."""
        owner = torch.empty(len(labels), dtype=torch.int64)
        for c in range(n_classes):
            images = rng.permutation(np.flatnonzero(labels.numpy() == c))
            shares = rng.dirichlet(np.full(self.count, self.alpha))
            cuts = np.rint(np.cumsum(shares)[:-1] * len(images)).astype(int)
            for client, hand in enumerate(np.split(images, cuts)):
                owner[torch.from_numpy(hand)] = client
        return owner

    def _even_out(self, owner: Tensor, rng: np.random.Generator) -> None:
        sizes = torch.bincount(owner, minlength=self.count)
        while int(sizes.min()) < self.smallest:
            poorest, richest = int(sizes.argmin()), int(sizes.argmax())
            given = rng.choice(torch.nonzero(owner == richest).flatten().numpy())
            owner[int(given)] = poorest
            sizes[poorest] += 1
            sizes[richest] -= 1
