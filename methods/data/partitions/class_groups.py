"""Clients in groups that differ in their classes, as in CP-CFL.

Paper: CP-CFL, Section 4.1 and Figure 3: three groups with classes 1-4, 4-7 and 7-10; per client two
classes with 20 images and two with 5. Section 4.8 has 15 to 90 clients in three equal groups.
Unstated, and what is done here:
* Which two of a client's classes are the large ones: drawn at random for each client.
* Whether clients may share an image. With 60 clients the classes that two groups have in common
  need about all of STL-10's 500 images of a class, with 90 clients more. Images of a class are
  therefore drawn without replacement (`dealing.Pile`), test images too. They are shared only if
  they must be (`Federation.n_shared_images`), and a client never holds one twice.
* Size of a client's test set: 50. Published accuracies of 15 to 90 clients are k/750 to k/4500.
* A number of clients that the groups do not divide: the first groups have one client more.
Evidence: `tests/methods/test_partitions.py`.
"""

from dataclasses import dataclass

import torch
from pydantic import NonNegativeInt, PositiveInt

from ...seeds import Seeds
from ..dealing import counted_out
from ..federation import Federation, ImageSet
from .base import Partition


@dataclass(frozen=True)
class ClassGroups(Partition):
    """count: clients. `groups`: classes (from 0) of each group. `major`, `minor`: training images
    of a large and of a small class. `n_major`: large classes of a client. `test_size`: test images
    of a client, in the proportions of its training images."""

    groups: tuple[tuple[int, ...], ...] = ((0, 1, 2, 3), (3, 4, 5, 6), (6, 7, 8, 9))
    major: PositiveInt = 20
    minor: NonNegativeInt = 5
    n_major: NonNegativeInt = 2
    test_size: PositiveInt = 50

    def __post_init__(self) -> None:
        if not self.groups or self.count < len(self.groups):
            raise ValueError(
                f"count = {self.count} clients cannot fill {len(self.groups)} groups; "
                "give at least one group, and at least one client for each"
            )
        for group in self.groups:
            if len(set(group)) != len(group) or min(group, default=-1) < 0:
                raise ValueError(f"groups: {list(group)} must be different class numbers from 0")
            if self.n_major > len(group):
                raise ValueError(
                    f"n_major = {self.n_major} is not possible with the {len(group)} classes "
                    f"of group {list(group)}"
                )
        if self.minor > self.major:
            raise ValueError(f"minor = {self.minor} is larger than major = {self.major}")

    def deal(self, train: ImageSet, test: ImageSet, n_classes: int, seeds: Seeds) -> Federation:
        """Raises `ValueError` without labels, a class of `groups`, or enough images of one."""
        highest = max(max(group) for group in self.groups)
        if highest >= n_classes:
            raise ValueError(
                f"groups: class {highest} does not exist, the data have {n_classes} classes from 0"
            )
        group = torch.arange(self.count) * len(self.groups) // self.count
        wanted = [self._wanted(client, int(g), seeds) for client, g in enumerate(group)]
        return Federation(
            *counted_out(train, test, wanted, self.test_size, seeds), group, n_classes
        )

    def _wanted(self, client: int, group: int, seeds: Seeds) -> dict[int, int]:
        classes = self.groups[group]
        stream = seeds.generator("partition", "major classes", client)
        order = torch.randperm(len(classes), generator=stream).tolist()
        large = {classes[i] for i in order[: self.n_major]}
        return {c: self.major if c in large else self.minor for c in classes}
