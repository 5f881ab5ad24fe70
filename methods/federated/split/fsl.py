"""FSL: federated split learning; clients hold the first layers, the server the others.

Papers: Thapa et al. 2022, "SplitFed" (its second version: one network at the server, which clients
train with one after the other in random order); as MFCL's baseline, Section 4 and Table 2. In every
step smashed data (what the client's layers put out, with the labels) go up and their gradients come
back, so that both halves move as the whole network would. Clients' layers are averaged at the
end of a round.
Unstated in MFCL: which form of split learning (Section 4 speaks of gradients that return, as in
Thapa et al.; Section 5.2 cites Han et al. 2021, where none do); where it is cut (as MFCL, with BN).
What to expect: the server's half ends a round on the last client, whose classes it then predicts
(MFCL's reduced profile: 91 % right on even data, 15 % with one or two classes a client).
Evidence: `tests/methods/test_fsl.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.federated.base import Memory, Message, Server, Task
from fedrepro.methods.federated.with_labels import WithLabels
from fedrepro.methods.nn.modular import MODULE, two_modules
from fedrepro.methods.state import State, concatenate, n_bytes, part
from fedrepro.methods.training.local import Supervised, cross_entropies
from fedrepro.methods.training.local_loss import Batch


class Wire:
    """What lies between the halves: passes values up and gradients down, and counts their bytes."""

    def __init__(self) -> None:
        self.up = self.down = 0

    def __call__(self, z: Tensor) -> Tensor:
        """`z`, as it arrives at the server."""
        passed: Tensor = _Passed.apply(z, self)  # type: ignore[no-untyped-call]
        return passed


class _Passed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, wire: Wire) -> Tensor:
        ctx.wire = wire
        wire.up += n_bytes({"z": z})
        return z.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        ctx.wire.down += n_bytes({"gradient": gradients[0]})
        return gradients[0], None


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


@dataclass(frozen=True)
class FSL(WithLabels):
    """cut_layer: convolutions on the clients' side."""

    cut_layer: int = 2

    def encoder_options(self) -> Mapping[str, Any]:
        return {"modular": True, "client_layers": self.cut_layer}

    def start(self, task: Task, attempt: int) -> Server:
        two_modules(task.model.encoder)
        return super().start(task, attempt)

    def broadcast(self, task: Task, server: Server, t: int, clients: Tensor) -> Message:
        """The clients' layers; gradients of smashed data are as large as these."""
        lower = part(server, MODULE)
        images = int(task.federation.sizes()[clients].sum()) * self.local_epochs
        with torch.no_grad():
            one = to_float(task.federation.train.images[:1]).unsqueeze(0)
            z = two_modules(task.model.encoder).module(server, one)
        return Message(
            shared={"weights": lower},
            streamed={"gradients": images * n_bytes({"z": z})},
            resident={"server": {k: v for k, v in server.items() if k not in lower}},
        )

    def local_update(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: Memory
    ) -> Message:
        lower, upper = download.shared["weights"], download.resident["server"]
        order = torch.randperm(len(clients), generator=task.seeds.generator("split order", t))
        wire, trained = Wire(), {}
        for position in order.tolist():
            client = clients[position : position + 1]
            done = self.train(task, Split(task, wire), {**lower, **upper}, t, client).state
            trained[position] = part(done, MODULE)
            upper = {name: done[name] for name in upper}
        return Message(
            each={"weights": concatenate(trained[i] for i in range(len(clients)))},
            streamed={"smashed data": wire.up},
            resident={"server": upper},
        )

    def aggregate(
        self, task: Task, server: Server, upload: Message, t: int, clients: Tensor
    ) -> Server:
        lower = self.size_average(task, upload.each["weights"], clients)
        return {**lower, **upload.resident["server"]}
