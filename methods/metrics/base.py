"""What a user's own metric is: a number from what every client's model predicts."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor


class Metric(ABC):
    """Measured after each round that is evaluated; named by its module, or an entry point. `low`,
    `high`: the smallest and the largest value there is."""

    low: ClassVar[float | None] = None
    high: ClassVar[float | None] = None
    lower_is_better: ClassVar[bool] = False

    @abstractmethod
    def measure(self, probabilities: Sequence[Tensor], labels: Sequence[Tensor]) -> float:
        """One finite number. `probabilities`: by client, images x classes, each by the client's own
        model. `labels`: by client, int64, images."""
