"""What a partition is: a rule that divides a training and a test portion among clients."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from pydantic import PositiveInt

from ...seeds import Seeds
from ..federation import Federation, ImageSet


@dataclass(frozen=True)
class Partition(ABC):
    """Options of a split; the fields of a subclass are its options in a spec."""

    count: PositiveInt = 60

    @abstractmethod
    def deal(self, train: ImageSet, test: ImageSet, n_classes: int, seeds: Seeds) -> Federation:
        """The clients' data for one trial. Raises `ValueError` if the rule cannot be applied."""
