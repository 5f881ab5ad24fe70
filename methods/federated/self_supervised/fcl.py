"""FCL: contrast with other clients' features, and matching with the nearest of them.

Paper: fcl, Sections 3 to 5. Clients train MoCo (Eq. 1). Each round they upload the query encoder,
the momentum encoder and features of encrypted images, and receive both averages and everybody
else's features (Eq. 2). These are the negatives of the next round (Eqs. 3 and 6) and, with the
local ones, the candidates of neighbourhood matching (Eqs. 7 to 11). Eq. 12 adds the two losses.
The ablations of Figure 5: `feature_fusion = false`, `neighbourhood_matching = false`.
Unstated: local negatives are dropped once there are remote ones (`local_negatives`), as Section 4.1
proposes, though Eq. 6 refers to Eq. 3. Clients upload features of K random images, one augmented
view each, normalised by the statistics of their own batches, as keys are. The local bank stays with
its client between rounds. Participants are weighted by their numbers of images.
'FP ratio' in Section 4.1 is interpreted as the false-negative ratio. It is measured in each round,
together with its expectation (`methods.metrics.false_negatives`).
Evidence: `tests/methods/test_fcl.py` (Eq. 12 by hand), `tests/methods/test_privacy.py`.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from ...metrics import Evaluation
from ...metrics.false_negatives import METRICS, expected_ratio
from ...objectives.moco import MoCoLearner
from ...state import State, clone, put, repeat, take
from ..base import Message, Round, Server, Task
from ..client_memory import ClientMemory
from ._features import Banks, all_but, packed, unpacked
from ._fusion import FusionLoss, FusionOptions, Remote, new_bank

MEASURED, EXPECTED = METRICS
UNKNOWN = -1.0
"""Stands for the ratio of a client that was away or had no negatives."""


@dataclass
class FCLMemory(ClientMemory):
    """bank: local features of all clients (`_fusion.new_bank`). `shown`: which images the features
    show that each client uploaded last, clients x K; the first `n_shown` of a row count. `ratios`:
    of the round's participants, (clients,) by name; `UNKNOWN` for a client that was away or had no
    negatives. Both serve measurements alone."""

    bank: State
    shown: Tensor
    n_shown: Tensor
    ratios: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class FusionServer:
    """Both encoders (with their projectors), one model each, and what clients uploaded last."""

    query: State
    key: State
    banks: Banks


class FCL(FusionOptions):
    """Options of MoCo and of `FusionOptions`."""

    def objective_name(self) -> str:
        return "moco"

    def start(self, task: Task, attempt: int) -> Server:
        query: State = super().start(task, attempt)
        return FusionServer(query, clone(query), {})

    def new_memory(self, task: Task) -> FCLMemory:
        learner, n_clients = self._moco(task), task.federation.n_clients
        shown = torch.zeros(
            n_clients, learner.options.queue_size, dtype=torch.int64, device=task.device
        )
        bank = new_bank(learner, n_clients, torch.zeros(1, device=task.device))
        return FCLMemory(bank, shown, shown[:, 0].clone())

    def _moco(self, task: Task) -> MoCoLearner:
        learner = self.learner(task)
        assert isinstance(learner, MoCoLearner)
        return learner

    def broadcast(self, now: Round, server: Server) -> Message:
        shared = {"weights": server.query, "momentum": server.key}
        if not server.banks:
            return Message(shared=shared)
        remote = packed([all_but(server.banks, client) for client in now.clients.tolist()])
        return Message(shared=shared, per_client={"features": remote})

    def local_update(self, now: Round, download: Message, memory: FCLMemory) -> Message:
        start = repeat(download.shared["weights"], len(now))
        key = repeat(download.shared["momentum"], len(now))
        remote = self._remote(now, download, memory)
        loss = FusionLoss(self, self._moco(now.task), now, remote)
        client_state = {**key, **take(memory.bank, now.clients)}
        trained = self.train(now, loss, start, client_state)
        put(memory.bank, now.clients, trained.client_state)
        momentum = {name: trained.client_state[name] for name in key}
        each = {"weights": trained.state, "momentum": momentum}
        if self.feature_fusion:
            each["features"] = packed([loss.uploads[i] for i in range(len(now))])
            for i, client in enumerate(now.clients.tolist()):
                memory.n_shown[client] = len(loss.uploaded[i])
                memory.shown[client, : len(loss.uploaded[i])] = loss.uploaded[i]
        ratios = self._ratios(now, loss)
        memory.ratios = {
            name: torch.full((now.task.federation.n_clients,), UNKNOWN).index_copy(
                0, now.clients, value.to(torch.get_default_dtype()).nan_to_num(UNKNOWN)
            )
            for name, value in ratios.items()
        }
        return Message(per_client=each, log={"loss": trained.loss, **ratios})

    def _remote(self, now: Round, download: Message, memory: FCLMemory) -> list[Remote]:
        """What each participant received; its images do not travel, they are looked up."""
        if "features" not in download.per_client:
            return []
        count = memory.n_shown.tolist()
        shown = {c: memory.shown[c, :n] for c, n in enumerate(count) if n > 0}
        received = zip(unpacked(download.per_client["features"]), now.clients.tolist(), strict=True)
        return [Remote(features, all_but(shown, client)) for features, client in received]

    def _ratios(self, now: Round, loss: FusionLoss) -> dict[str, Tensor]:
        """Measured and expected false-negative ratios of the participants; none without labels."""
        federation = now.task.federation
        if federation.train.labels is None:
            return {}
        remote = bool(loss.remote)
        sizes = federation.sizes().clamp(max=loss.moco.options.queue_size)
        local = self.local_negatives or not remote
        expected = expected_ratio(federation.class_counts(), sizes, local, remote)
        return {MEASURED: loss.ratio, EXPECTED: expected[now.clients]}

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        banks = dict(server.banks)
        if "features" in upload.per_client:
            banks.update(
                zip(now.clients.tolist(), unpacked(upload.per_client["features"]), strict=True)
            )
        return FusionServer(
            now.average(upload.per_client["weights"]),
            now.average(upload.per_client["momentum"]),
            banks,
        )

    def evaluate(self, task: Task, server: Server, memory: FCLMemory, final: bool) -> Evaluation:
        """As for every method, and the round's false-negative ratios, means over participants."""
        spread = super().evaluate(task, server, memory, final)
        known = {name: value[value != UNKNOWN] for name, value in memory.ratios.items()}
        ratios = {name: float(value.mean()) for name, value in known.items() if len(value) > 0}
        return Evaluation({**spread.metrics, **ratios})

    def encoder(self, server: FusionServer) -> State:
        return server.query
