"""FSL: federated split learning; clients hold the first layers, the server the others.

As MFCL's baseline (Table 2) in two forms, since MFCL's text names two papers.
`local-loss` is the default: Han et al. 2021, which Section 5.2 names as the baseline. Clients train
their layers by the cross-entropy of a small network of their own on top. They send smashed data
(these layers' outputs) with the labels. The server trains its layers on these by a loss of its own
and returns nothing. Both halves have a copy for each client within a round; copies are averaged.
Unstated, in MFCL and in what of Han et al. is at hand (its abstract, and arXiv 2507.15816 on it):
the clients' small network. It takes the mean over places and has a hidden and an output layer:
0.2 % of ResNet-18's weights. A port of Han et al. reports 0.1 to 0.6 % for theirs.
`splitfed-v2` is the second version of "SplitFed", Thapa et al. 2022. MFCL's Section 4 cites it and
speaks of gradients that return. In every step smashed data go up and their gradients come back, so
that both halves move as the whole network would. One network at the server is trained with one
client after the other in random order. Clients' layers are averaged at the end of a round.
Unstated: where the network is cut (as in MFCL, with batch normalisation).
What to expect: `splitfed-v2`'s server ends a round on the last client, whose classes it predicts.
In MFCL's reduced profile accuracy is 91 % on even data, 15 % with one or two classes a client. With
local losses even data give less (75 %, one trial), as in the paper: 77.0, FedAvg 92.1.
Evidence: `tests/methods/test_fsl.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ...data.federation import to_float
from ...nn.layers import Sequential, dense_layers
from ...nn.modular import MODULE, two_modules
from ...state import State, concatenate, n_bytes, part, placed, repeat
from ...training.local import Supervised, cross_entropies
from ...training.local_loss import Batch
from ..base import Memory, Message, Round, Server, Task
from ..with_labels import WithLabels

AUXILIARY = "auxiliary"
_LABEL_BYTES = 8


class Wire:
    """The link between the halves: passes values up and gradients down, and counts their bytes."""

    def __init__(self) -> None:
        self.up = self.down = 0

    def __call__(self, z: Tensor) -> Tensor:
        """`z`, as it arrives at the server."""
        self.up += n_bytes({"z": z})
        arrived = z.clone()
        arrived.register_hook(self._returned)  # type: ignore[no-untyped-call]
        return arrived

    def _returned(self, gradient: Tensor) -> None:
        self.down += n_bytes({"gradient": gradient})


class Split(Supervised):
    """Cross-entropy of the whole network, whose halves are joined by `wire`."""

    def __init__(self, task: Task, wire: Wire) -> None:
        super().__init__(task.model, task.federation.train, None)
        self.network, self.wire = two_modules(task.model.encoder), wire

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        labels = self.labels[batch.index]
        self.wire.up += n_bytes({"labels": labels})
        x = self.images(batch)  # models x batch x C x H x W
        z = self.wire(self.network.module(state, x, training=True))  # models x batch x C' x H' x W'
        h = self.network.behind(state, z, training=True)  # models x batch x dim
        logits = self.model.logits(state, h, training=True)  # models x batch x classes
        return batch.mean(cross_entropies(logits, labels))  # models


class LocalLosses(Supervised):
    """Cross-entropy of the clients' layers with `auxiliary`, and of the server's on smashed data.
    Their sum: no weight has a gradient from both, since none returns from the server."""

    def __init__(self, task: Task, auxiliary: Sequential) -> None:
        super().__init__(task.model, task.federation.train, None)
        self.network, self.auxiliary = two_modules(task.model.encoder), auxiliary

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        labels = self.labels[batch.index]
        x = self.images(batch)  # models x batch x C x H x W
        z = self.network.module(state, x, training=True)  # models x batch x C' x H' x W'
        own = self.auxiliary(state, z.mean(dim=(3, 4)), training=True)  # models x batch x classes
        h = self.network.behind(state, z.detach(), training=True)  # models x batch x dim
        logits = self.model.logits(state, h, training=True)  # models x batch x classes
        return batch.mean(cross_entropies(own, labels) + cross_entropies(logits, labels))


@dataclass(frozen=True)
class FSL(WithLabels):
    """form: `local-loss` or `splitfed-v2`. `cut_layer`: convolutions on the clients' side.
    `auxiliary_widths`: hidden layers of the clients' own classifier, for local losses."""

    form: Literal["local-loss", "splitfed-v2"] = "local-loss"
    cut_layer: int = 2
    auxiliary_widths: tuple[int, ...] = (256,)

    def encoder_options(self) -> Mapping[str, Any]:
        return {"modular": True, "client_layers": self.cut_layer}

    def start(self, task: Task, attempt: int) -> Server:
        two_modules(task.model.encoder)
        server: State = super().start(task, attempt)
        if self.form == "splitfed-v2":
            return server
        stream = task.seeds.generator("weights", "auxiliary", attempt)
        drawn = self._auxiliary(task, server).new(stream)
        return {**server, **placed(drawn, task.device)}

    def broadcast(self, now: Round, server: Server) -> Message:
        """The clients' layers; gradients of smashed data, if any return, are as large as these."""
        lower = {**part(server, MODULE), **part(server, AUXILIARY)}
        back = self.form == "splitfed-v2"
        return Message(
            shared={"weights": lower},
            streamed={"gradients": self._smashed(now, server)[0]} if back else {},
            resident={"server": {k: v for k, v in server.items() if k not in lower}},
        )

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        if self.form == "splitfed-v2":
            return self._one_after_the_other(now, download)
        lower, upper = download.shared["weights"], download.resident["server"]
        loss = LocalLosses(now.task, self._auxiliary(now.task, lower))
        start = repeat({**lower, **upper}, len(now))
        trained = self.train(now, loss, start).state
        return Message(
            per_client={"weights": {name: trained[name] for name in lower}},
            streamed={"smashed data": sum(self._smashed(now, lower))},
            resident={"server": {name: trained[name] for name in upper}},
        )

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        lower, upper = now.average(upload.per_client["weights"]), upload.resident["server"]
        if self.form == "local-loss":
            upper = now.average(dict(upper))
        return {**lower, **upper}

    def global_model(self, task: Task, server: State) -> State:
        return {k: v for k, v in server.items() if not k.startswith(f"{AUXILIARY}.")}

    def _one_after_the_other(self, now: Round, download: Message) -> Message:
        lower, upper = download.shared["weights"], download.resident["server"]
        order = torch.randperm(len(now), generator=now.stream("split order"))
        wire, trained = Wire(), {}
        for position in order.tolist():
            one = now.of(now.clients[[position]])
            done = self.train(one, Split(now.task, wire), {**lower, **upper}).state
            trained[position] = part(done, MODULE)
            upper = {name: done[name] for name in upper}
        return Message(
            per_client={"weights": concatenate(trained[i] for i in range(len(now)))},
            streamed={"smashed data": wire.up},
            resident={"server": upper},
        )

    def _auxiliary(self, task: Task, state: State) -> Sequential:
        widths = (*self.auxiliary_widths, task.federation.n_classes)
        return dense_layers(AUXILIARY, self._one_smashed(task, state).shape[2], widths)

    def _smashed(self, now: Round, state: State) -> tuple[int, int]:
        """Bytes of the smashed data of a round, and of their labels."""
        images = int(now.sizes().sum()) * self.local_epochs
        return images * n_bytes({"z": self._one_smashed(now.task, state)}), images * _LABEL_BYTES

    @torch.no_grad()
    def _one_smashed(self, task: Task, state: State) -> Tensor:
        one = to_float(task.federation.train.images[:1]).unsqueeze(0)
        z: Tensor = two_modules(task.model.encoder).module(state, one)
        return z
