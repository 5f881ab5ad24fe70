"""APFL: every client uses a mixture of its own model and the global one, and learns the share.

Paper: Deng et al. 2020, Algorithm 1 and Section 4. A client predicts with v̄ = α v + (1 - α) w,
where v is its own model and w its copy of the global one. The steps are:
* Of the models: w ← w - η ∇f(w), and v ← v - η ∇_v f(v̄).
* Of the share: α ← α - η ⟨∇f(v̄), v - w⟩, clipped to [0, 1].
Whatever the models have, α has no momentum or weight decay. The code of Deng et al.
(MLOPTPSU/FedTorch) agrees, but moves α in a round's first step alone, and draws it to 0 by 0.02 α.
Unstated: α at the start (0.5); the mixture's running statistics (v's). α moves in every step.
Evidence: `tests/methods/test_two_models.py` (mixture and all three gradients by hand).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ...nn.layers import is_buffer
from ...state import State, unsqueeze_like
from ...training.local_loss import Batch, LocalLoss, LocalOptions, TrainedClients
from ..base import Round, Task
from ._two_models import PERSONAL, TwoModels, WithPersonalModel, common, personal

SHARE = "share"


def mixture(state: State) -> State:
    """v̄ = α v + (1 - α) w; the global model w is a constant in it."""
    own, received = personal(state), common(state)
    share = own.pop(SHARE)
    mixed: State = {}
    for name, value in own.items():
        a = unsqueeze_like(share, value)
        mixed[name] = value if is_buffer(name) else a * value + (1 - a) * received[name].detach()
    return mixed


class _Mixed(TwoModels):
    """The loss of the mixture, which reaches v and α; α takes plain steps of length `rate`."""

    rate = 0.0

    def personal_loss(self, state: State, x: Tensor, batch: Batch) -> Tensor:
        self.share = state[PERSONAL + SHARE].detach().clone()
        return self.loss_of(mixture(state), x, batch)

    def after(self, state: State, client_state: State, batch: Batch) -> None:
        share = state[PERSONAL + SHARE]  # which the optimiser has moved with momentum and decay
        assert share.grad is not None
        share.copy_((self.share - self.rate * share.grad).clamp(0, 1))


@dataclass(frozen=True)
class APFL(WithPersonalModel):
    """share: α at the start."""

    share: float = 0.5

    def private(self, initial: State, received: State) -> State:
        like = next(iter(received.values()))
        share = torch.full((1,), self.share, device=like.device)
        return {**super().private(initial, received), PERSONAL + SHARE: share}

    def both(self, task: Task, received: State, adapting: bool) -> TwoModels:
        return _Mixed(task, adapting)

    def train(
        self,
        now: Round,
        local_loss: LocalLoss,
        start: State,
        client_state: State | None = None,
        options: LocalOptions | None = None,
        personalising: bool = False,
    ) -> TrainedClients:
        options = options or self.local_options(now.t)
        assert isinstance(local_loss, _Mixed)
        local_loss.rate = options.learning_rate
        return super().train(now, local_loss, start, client_state, options, personalising)

    def personal_model(self, state: State) -> State:
        return mixture(state)
