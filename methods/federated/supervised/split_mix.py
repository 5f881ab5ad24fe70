"""Split-Mix: narrow base networks, of which each client trains as many as it can afford.

Paper: Hong et al. 2022, "Efficient split-mix federated learning"; as MFCL's baseline, Table 4. The
network is split by width into k independent base networks of share 1/k. In a round a client trains
a random choice of them, as many as its budget holds. Each is averaged over those who trained it.
The prediction is the mean of the base networks' logits.
Where classes are uneven, the code of Hong et al. sets the logits of classes that a batch lacks to
0. Option `masked` does so for classes that the client lacks, as in HeteroFL. Their code draws base
networks with the whole network's spread of weights (`rescaled`; here but for the first layer).
Deviations: adversarial training and domain-aware mixing belong to other experiments and are absent.
There is no scaling of layers by k, which batch normalisation undoes.
Unstated in MFCL: how many base networks are evaluated together (all), and the budgets. These are
those of Hong et al., 1/8, 1/4, 1/2 and all, one after the other over the clients.
Evidence: `tests/methods/test_supervised.py`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ...data.federation import to_float
from ...later import later
from ...nn.classifier import Classifier
from ...state import State, concatenate, n_models, placed, pool_average, take
from ...training.local import Supervised
from ..base import Memory, Message, Round, Server, Task
from ..with_labels import WithLabels
from .heterofl import PresentClasses, Share


@torch.no_grad()
def ensemble_logits(
    model: Classifier, bases: State, images: Tensor, batch_size: int = 500
) -> Tensor:
    """Mean of the base networks' logits, n x classes, of uint8 images."""
    found = []
    for batch in torch.split(images, batch_size):
        logits = [
            model(take(bases, [i]), to_float(batch).unsqueeze(0))[0] for i in range(n_models(bases))
        ]
        found.append(torch.stack(logits).mean(0))
    return torch.cat(found)


@dataclass(frozen=True)
class SplitMix(WithLabels):
    """base_width: share of the channels in a base network, 1/k. `budgets`: shares of the network
    that clients can train, in turn over the clients. `masked`, `rescaled`: see the module."""

    base_width: Share = 0.125
    budgets: tuple[Share, ...] = (0.125, 0.25, 0.5, 1.0)
    masked: bool = later(False)
    rescaled: bool = later(False)

    @property
    def n_bases(self) -> int:
        """k."""
        return round(1 / self.base_width)

    def _chosen(self, now: Round) -> tuple[Tensor, Tensor]:
        """Who trains what: positions among `clients` and numbers of base networks, a pair a row."""
        who, which = [], []
        streams = zip(now.clients.tolist(), now.streams("bases"), strict=True)
        for position, (client, stream) in enumerate(streams):
            budget = self.budgets[client % len(self.budgets)]
            count = max(1, int(budget / self.base_width + 1e-9))
            drawn = torch.randperm(self.n_bases, generator=stream)[:count]
            who += [position] * len(drawn)
            which += drawn.tolist()
        return torch.tensor(who), torch.tensor(which)

    def start(self, task: Task, attempt: int) -> Server:
        model = task.narrowed_model(self.base_width)
        drawn = concatenate(
            model.new(task.seeds.generator("weights", "base", attempt, i))
            for i in range(self.n_bases)
        )
        if self.rescaled:
            _, *inner = [n for n, value in drawn.items() if value.dim() > 2]
            drawn |= {name: drawn[name] * self.base_width**0.5 for name in inner}
        return placed(drawn, task.device)

    def broadcast(self, now: Round, server: Server) -> Message:
        _, which = self._chosen(now)
        return Message(per_client={"bases": take(server, which)})

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        who, _ = self._chosen(now)
        own = now.of(now.clients[who])
        narrow, train = now.task.narrowed_model(self.base_width), now.task.federation.train
        plain = Supervised(narrow, train, None)
        loss = PresentClasses(own, self.base_width) if self.masked else plain
        trained = self.train(own, loss, download.per_client["bases"])
        return Message(per_client={"bases": trained.state})

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        who, which = self._chosen(now)
        sizes = now.sizes()[who]
        shares = torch.zeros(self.n_bases, len(who), dtype=torch.float64)
        shares[which, torch.arange(len(who))] = sizes
        return pool_average(server, upload.per_client["bases"], shares)

    def predicted(self, task: Task, server: Server, memory: Memory) -> list[Tensor]:
        """What all base networks together give for every client's test images."""
        model, federation = task.narrowed_model(self.base_width), task.federation
        found = ensemble_logits(model, server, federation.test.images).softmax(1)
        return [found[index] for index in federation.test_of]
