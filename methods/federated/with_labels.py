"""Methods whose clients train with labels, on their images or on random views of them.

Papers rarely say whether supervised clients augment. MOON's repository (QinbinLi/MOON, `utils.py`)
does so for FedAvg, FedProx and MOON. On CIFAR-10 it crops within a reflected border of 4 pixels,
and flips. On CIFAR-100 it has a border of zeros and turns by up to 15 degrees, which are not built
here. On Tiny-ImageNet it does nothing. Here views are off unless a spec turns them on.
Evidence: `tests/methods/test_with_labels.py` (against images that were changed beforehand).
"""

from dataclasses import dataclass

from torch import Tensor

from ..state import State
from ..training.local import Supervised, train_clients
from ..training.local_loss import LocalLoss, LocalOptions, TrainedClients
from .base import FederatedMethod, Round


@dataclass(frozen=True)
class WithLabels(FederatedMethod):
    """Options of every method. `augments`: whether steps of the federated training see random views
    (of the run's augmentation) instead of images. Evaluation and personalisation never do."""

    augments: bool = False

    @property
    def draws_views(self) -> bool:
        return self.augments

    def train(
        self,
        now: Round,
        local_loss: LocalLoss,
        start: State,
        client_state: State | None = None,
        options: LocalOptions | None = None,
        personalising: bool = False,
    ) -> TrainedClients:
        """As every method's; views are drawn for a `Supervised` loss, unless `personalising`."""
        if self.augments and not personalising:
            assert isinstance(local_loss, Supervised)
            local_loss.views = now.views()
        return super().train(now, local_loss, start, client_state, options)

    def train_supervised(
        self, now: Round, pool: State, choice: Tensor, encoder_epochs: int | range | None = None
    ) -> State:
        """`methods.training.local.train_clients` with this method's options."""
        task = now.task
        return train_clients(
            task.model,
            pool,
            choice,
            task.federation,
            now.clients,
            self.local_options(now.t),
            task.seeds,
            now.t,
            encoder_epochs=encoder_epochs,
            grouping=task.grouping,
            views=now.views() if self.augments else None,
        )
