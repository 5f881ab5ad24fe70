"""SCAFFOLD-FT: FedAvg whose local steps are corrected for clients' drift, then fine-tuned heads.

Paper: Karimireddy et al. 2020, Algorithm 1, Option II; Calibre, Section V-A. A client steps along
∇f(y) - c_i + c, from the received x to y. After K steps of rate η, c_i⁺ = c_i - c + (x - y) /
(K η). The server's c moves by the participants' share times the mean of c_i⁺ - c_i (server step 1).
Deviation: with momentum β, K steps along one gradient g go η Σ_k (1 - β^k) / (1 - β) g and not
K η g. That sum therefore stands for K; without momentum it is K. Weights are averaged by numbers of
images, as in all methods here; the clients of Calibre hold equally many.
Evidence: `tests/methods/test_two_models.py` (two rounds on a quadratic by hand).
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from ...nn.layers import is_buffer
from ...optim.optimizers import OptimizerName
from ...state import State, put, repeat, take, unsqueeze_like
from ...training.local import Supervised
from ...training.local_loss import Batch
from ..base import Message, Round, Server, Task
from ..client_memory import ClientStates
from ._personalized import Personalized, PersonalMemory

CONTROL = "control."


class _Corrected(Supervised):
    """Cross-entropy plus ⟨c - c_i, y⟩, whose gradient is the correction; client_state: c - c_i."""

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        loss = super().loss(state, client_state, batch)
        for name, correction in client_state.items():
            loss = loss + (correction * state[name]).flatten(1).sum(1)
        return loss


def effective_steps(steps: Tensor, momentum: float) -> Tensor:
    """Plain steps, (clients,), that go as far as `steps` with momentum β: Σ (1-β^k)/(1-β)."""
    k = steps.double()
    if momentum == 0.0:
        return k
    return (k - momentum * (1 - momentum**k) / (1 - momentum)) / (1 - momentum)


@dataclass
class ControlMemory(PersonalMemory):
    """control: c_i of each client, under the names of the weights."""

    control: State = field(default_factory=dict)


@dataclass(frozen=True)
class ScaffoldFT(Personalized):
    """Weights and control variates travel, both ways."""

    optimizer: OptimizerName = "sgd"

    def __post_init__(self) -> None:
        if self.optimizer != "sgd":
            raise ValueError("control variates are gradients: scaffold-ft needs optimizer = 'sgd'")

    def start(self, task: Task, attempt: int) -> Server:
        model = super().start(task, attempt)
        weights = {name: value for name, value in model.items() if not is_buffer(name)}
        return {**model, **{CONTROL + n: torch.zeros_like(v) for n, v in weights.items()}}

    def new_memory(self, task: Task) -> ControlMemory:
        n_clients = task.federation.n_clients
        nothing = repeat(control(self.start(task, 0)), n_clients)
        return ControlMemory(ClientStates.of(n_clients), control=nothing)

    def private(self, initial: State, received: State) -> State:
        """Nothing: a client's variate has a field of its own."""
        return {}

    def broadcast(self, now: Round, server: Server) -> Message:
        return Message(shared={"weights": self._shared(server), "control": control(server)})

    def local_update(self, now: Round, download: Message, memory: ControlMemory) -> Message:
        received, c = download.shared["weights"], download.shared["control"]
        c_i = take(memory.control, now.clients)
        loss = _Corrected(now.task.model, now.task.federation.train, None)
        correction = {name: c[name] - c_i[name] for name in c}
        learnt = self.train(now, loss, repeat(received, len(now)), correction).state
        distance = self._distance(now)
        moved = {name: received[name] - learnt[name] for name in c}
        change = {n: v / unsqueeze_like(distance, v) - c[n] for n, v in moved.items()}
        put(memory.control, now.clients, {name: c_i[name] + change[name] for name in c})
        return Message(per_client={"weights": learnt, "control": change})

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        share = len(now) / now.task.federation.n_training
        moved = {
            CONTROL + name: server[CONTROL + name] + share * change.mean(0, keepdim=True)
            for name, change in upload.per_client["control"].items()
        }
        return {**super().aggregate(now, server, upload), **moved}

    def _distance(self, now: Round) -> Tensor:
        """K η of each client, (clients,)."""
        options = self.local_options(now.t)
        batches = (now.task.federation.sizes()[now.clients] / options.batch_size).ceil()
        steps = effective_steps(options.epochs * batches, options.sgd_momentum)
        return steps.to(now.task.device, torch.float32) * options.learning_rate


def control(server: State) -> State:
    """The server's control variate c under the names of the weights."""
    return {n.removeprefix(CONTROL): v for n, v in server.items() if n.startswith(CONTROL)}
