"""What clients minimise in a round, and how: the face that methods see of local training.
Evidence: `tests/methods/test_optim.py`."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..nn.layers import is_buffer
from ..optim.optimizers import Optimizer, OptimizerName, make_optimizer
from ..state import State, unsqueeze_like


@dataclass(frozen=True)
class LocalOptions:
    """How a client trains in one round; each client and round has a new optimiser. `optimizer`: a
    name of `methods.optim.optimizers`, where it says what each of them makes of sgd_momentum and
    weight_decay; 0 is none. `drop_last`: whether an epoch ends before a last, smaller batch.
    `clip_norm`: to which a client's gradients of a step are shortened; None: not."""

    epochs: int
    batch_size: int
    learning_rate: float
    optimizer: OptimizerName = "adam"
    sgd_momentum: float = 0.0
    weight_decay: float = 0.0
    drop_last: bool = False
    clip_norm: float | None = None

    def images_of_epoch(self, held: int) -> int:
        """How many of the images that a client holds an epoch takes; all of less than one batch."""
        if not self.drop_last or held < self.batch_size:
            return held
        return held // self.batch_size * self.batch_size

    def clip(self, weights: Iterable[Tensor]) -> None:
        """Shortens the gradients of stacked weights, of each model by their L2 norm over all."""
        if self.clip_norm is None:
            return
        grads = [one.grad for one in weights if one.grad is not None]
        norm = torch.stack([grad.flatten(1).square().sum(1) for grad in grads]).sum(0).sqrt()
        scale = (self.clip_norm / (norm + 1e-6)).clamp(max=1)  # (models,)
        for grad in grads:
            grad.mul_(unsqueeze_like(scale, grad))

    def optimizer_over(self, weights: Sequence[Tensor]) -> Optimizer:
        return make_optimizer(
            self.optimizer, weights, self.learning_rate, self.sgd_momentum, self.weight_decay
        )


@dataclass(frozen=True)
class Batch:
    """The images of one step of several clients.

    `members`: positions of these clients among all that train, in the order of the stacked models.
    `index`: int64, models x batch, into the training portion. `at`: int64, models x batch, the same
    images as positions in each client's own list. `epoch`: from 0. `share`: models x batch, each
    image's weight in the mean, 0 for padding; None where all are alike. `counts`: how many images
    of each model are no padding, the first ones; None where all are."""

    members: tuple[int, ...]
    index: Tensor
    at: Tensor
    epoch: int
    share: Tensor | None = None
    counts: Sequence[int] | None = None

    def mean(self, each: Tensor) -> Tensor:
        """Each model's mean over its own images, (models,); `each`: models x batch."""
        if self.share is None:
            return each.mean(dim=1)
        return (each * self.share.to(each.dtype)).sum(dim=1)


class LocalLoss(ABC):
    """What clients minimise in one round. `state`: stacked weights and running statistics of a
    step's clients. `client_state`: what else each of them has (a momentum encoder, a queue),
    stacked."""

    smallest_batch: int = 1
    """Images below which a step is left out (a contrastive loss needs two)."""

    @abstractmethod
    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        """Loss of each model, (models,); may move running statistics in place."""

    @property
    @abstractmethod
    def image_bytes(self) -> int:
        """Bytes that a step stores for one image of one model."""

    def is_batch_independent(self) -> bool:
        """Whether clients with batches of unlike sizes may share a step.
        True only where the loss is `batch.mean` of terms of one image and terms without images, no
        step has batch statistics or draws, and `client_state` is changed in place."""
        return False

    def learns(self, name: str, epoch: int) -> bool:
        """Whether the weight of that name is trained in that epoch."""
        return True

    def begin_epoch(  # noqa: B027
        self, state: State, client_state: State, members: Sequence[int], own: Tensor, epoch: int
    ) -> None:
        """Called before an epoch; `own`: models x images, index into training images, padded."""

    def after(self, state: State, client_state: State, batch: Batch) -> None:  # noqa: B027
        """Called after a step; may change both in place (a moving average, a projection)."""

    def end(  # noqa: B027
        self, state: State, client_state: State, members: Sequence[int], own: Tensor
    ) -> None:
        """Called once after the last epoch; may change both in place."""


@dataclass(frozen=True)
class TrainedClients:
    """Stacked over clients; `loss`: mean over the images of the last epoch, NaN without a step."""

    state: State
    client_state: State
    loss: Tensor


def squared_distance(state: State, anchor: State) -> Tensor:
    """Σ |v - w|² over all trained weights, (models,); `anchor` stacks one model or as many."""
    trained = [name for name in anchor if not is_buffer(name)]
    each = [(state[name] - anchor[name].detach()).flatten(1).square().sum(1) for name in trained]
    return sum(each[1:], start=each[0])
