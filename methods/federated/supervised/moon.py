"""MOON: representations are drawn to the received model's and away from the client's previous one.

Paper: Li et al. 2021, "Model-contrastive federated learning", Eqs. 3 and 4 (MFCL, Table 2):
l = l_sup - μ log(exp(sim(z, z_glob)/τ) / (exp(sim(z, z_glob)/τ) + exp(sim(z, z_prev)/τ))).
Unstated in MFCL: whether its networks have MOON's projection head (no: z is the encoder's output).
`projected`: z is the last hidden layer of the head before its ReLU (Li et al. have none there).
Unstated in MFCL: μ and τ (5 and 0.5, which Li et al. use on CIFAR-10). Received and previous model
are in evaluation mode; before a client's first round they are one.
Evidence: `tests/methods/test_supervised.py`.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ...later import later
from ...nn.classifier import ENCODER
from ...nn.layers import Sequential
from ...state import State, n_models, part, repeat
from ...training.local import Supervised, cross_entropies
from ...training.local_loss import Batch
from ...training.probing import image_bytes
from ..base import Message, Round, Task
from ..client_memory import ClientMemory, ClientStates
from .fedavg import FedAvg


def model_contrast(z: Tensor, received: Tensor, previous: Tensor, temperature: float) -> Tensor:
    """Eq. 3 for each image, models x batch; the arguments models x batch x dim."""
    near = F.cosine_similarity(z, received, dim=2) / temperature
    far = F.cosine_similarity(z, previous, dim=2) / temperature
    return F.softplus(far - near)


class ModelContrastive(Supervised):
    """Eq. 4; client_state: the previous encoders. `received`: one encoder."""

    def __init__(
        self, task: Task, received: State, weight: float, temperature: float, projected: bool
    ) -> None:
        super().__init__(task.model, task.federation.train, None)
        self.project = Sequential(*task.model.head.layers[:-2] if projected else ())
        self.received, self.weight, self.temperature = received, weight, temperature

    @property
    def image_bytes(self) -> int:
        return 2 * image_bytes(self.model, *self.portion.images.shape[1:])

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        x = self.images(batch)  # models x batch x C x H x W
        h = self.model.features(state, x, training=True)  # models x batch x dim
        logits = self.model.logits(state, h, training=True)  # models x batch x classes
        supervised = cross_entropies(logits, self.labels[batch.index])  # models x batch
        with torch.no_grad():
            received = self._contrasted(repeat(self.received, n_models(state)), x)
            previous = self._contrasted(client_state, x)
        z = self.project(state, h, training=True)  # models x batch x width
        contrast = model_contrast(z, received, previous, self.temperature)  # models x batch
        return batch.mean(supervised + self.weight * contrast)

    def _contrasted(self, state: State, x: Tensor) -> Tensor:
        """z of other models, models x batch x width."""
        return self.project(state, self.model.features(state, x))


@dataclass
class MOONMemory(ClientMemory):
    """previous: the encoder (or model) that each client trained last."""

    previous: ClientStates


@dataclass(frozen=True)
class MOON(FedAvg):
    """contrast_weight: μ. `temperature`: τ. `projected`: see the module's docstring."""

    contrast_weight: float = 5.0
    temperature: float = 0.5
    projected: bool = later(False)

    def new_memory(self, task: Task) -> MOONMemory:
        return MOONMemory(ClientStates.of(task.federation.n_clients))

    def local_update(self, now: Round, download: Message, memory: MOONMemory) -> Message:
        received = download.shared["weights"]
        kept = self._contrasting(received)
        previous = memory.previous.recall(now.clients, repeat(kept, len(now)))
        loss = ModelContrastive(
            now.task, kept, self.contrast_weight, self.temperature, self.projected
        )
        trained = self.train(now, loss, repeat(received, len(now)), previous)
        memory.previous.remember(now.clients, self._contrasting(trained.state))
        return Message(per_client={"weights": trained.state}, log={"loss": trained.loss})

    def _contrasting(self, state: State) -> State:
        return state if self.projected else part(state, ENCODER)
