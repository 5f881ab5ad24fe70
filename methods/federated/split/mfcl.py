"""MFCL: clients train first layers as an autoencoder, a second server the rest on what they send.

Paper: MFCL, Algorithm 1. Phase 1 (T rounds): client module and decoder learn to rebuild two views
of each image (Eq. 1, binary cross-entropy) and are averaged by the first server. Phase 2 (one more
exchange): clients send representations of ρ pairs of views to the second server. It trains the
remaining network and its projection layers by Eq. 7 with LARS. The two servers share nothing: the
second never sees weights of the module, the first never sees a representation.
Deviations: the decoder never undoes the pooling (Tables 9 and 10), so it rebuilds views averaged
over 2x2 pixels. No output activation is listed, and binary cross-entropy needs a sigmoid.
Representations are those after the pooling, a quarter of the 32 x 32 x 64 values in Section 5.4.
The option `sent` takes the others: without DataMix the same training, at four times the traffic.
Unstated: who is lost in phase 2 at a dropout of δ (drawn at random for each trial, at least one
client stays). In phase 2 views pass through TN as twins, through BN by the averaged running
statistics. The linear layer stands on the projection layers (Section 5.1).
Evidence: `tests/methods/test_mfcl.py`, `tests/methods/test_representations.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field, PositiveInt
from torch import Tensor

from ...metrics import Evaluation, balance, collapse
from ...nn.layers import Layer, Sequential
from ...nn.mfcl_modules import mirrored
from ...nn.modular import MODULE, ModularNetwork, plain_layers, two_modules, with_own_modules
from ...nn.normalisation import Norm, TwinVariance, normalisation
from ...optim.optimizers import OptimizerName
from ...privacy.datamix import Mixed, draw_mixture, joined
from ...privacy.secure_aggregation import masked, unmasked_sum
from ...state import State, part, placed, repeat
from ...training.client_views import ClientViews
from ...training.local_loss import Batch, LocalLoss, LocalOptions
from ...training.probing import image_bytes
from ...training.representations import Pairs, Representations, contrastive_training, drawn_pairs
from ..base import FederatedMethod, Message, Round, Server, Task
from ..client_memory import ClientMemory, ClientStates

DECODER = "decoder"


class ModuleAndDecoder(Layer):
    """decoder(module(x)): logits of the pixels of images of half the side."""

    def __init__(self, module: Sequential, decoder: Sequential) -> None:
        self.module, self.decoder = module, decoder

    def new(self, generator: torch.Generator) -> State:
        return {**self.module.new(generator), **self.decoder.new(generator)}

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return self.decoder(state, self.module(state, x, training), training)


class Rebuilding(LocalLoss):
    """Eq. 1: binary cross-entropy between both views and what module and decoder make of them."""

    def __init__(self, network: ModuleAndDecoder, views: ClientViews) -> None:
        self.network, self.views, self.drawn = network, views, list[Batch]()

    @property
    def image_bytes(self) -> int:
        return 2 * image_bytes(self.network, *self.views.portion.images.shape[1:])

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        self.drawn.append(batch)  # without padding: clients of unlike sizes share no step
        x = torch.cat(self.views(batch, 2), dim=1)  # models x 2 batch x C x H x W
        return rebuilding_loss(self.network, state, x)


def rebuilding_loss(network: Layer, state: State, x: Tensor) -> Tensor:
    """Mean over images and pixels, (models,); `x`: models x 2K x channels x height x width. The
    target is `x`, averaged down to the size of the output."""
    logits = network(state, x, training=True)  # models x 2K x channels x height/2 x width/2
    height, width = logits.shape[3:]
    target = F.adaptive_avg_pool2d(x.flatten(0, 1), (height, width)).view(logits.shape)
    each = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return each.flatten(1).mean(1)  # models


@dataclass
class Servers:
    """first: client module and decoder. `second`: the rest and the projection layers. `losses`: of
    the second server, by epoch. `own`: the clients' own modules, stacked over them, once training
    has ended. `pairs`: counts of `metrics.balance` by metric. Neither server has these two."""

    first: State
    second: State
    losses: list[float] = field(default_factory=list)
    own: State = field(default_factory=dict)
    pairs: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass
class MFCLMemory(ClientMemory):
    """modules: the client module that each client trained last, before their average."""

    modules: ClientStates


@dataclass(frozen=True)
class MFCL(FederatedMethod):
    """Options of every method, which are those of phase 1, and:

    `cut_layer`: convolutions in the client module. `client_norm`: `batch`, `group` or `twin`, there
    and in the decoder. `group_channels`: Λ. `twin_variance`: of TN, `pooled` over both views (Eq.
    2) or `averaged` (Table 18). `representations`: ρ, pairs of views that are sent of each image.
    `sent`: representations behind the pooling that ends the client module (`pooled`, Table 9), or
    before it (`unpooled`, Section 5.4), which the second server then does. `client_dropout`: δ,
    share of the clients whose representations are lost. `secure_aggregation`: of phase 1.
    `datamix`: of phase 2. server_*: training of the second server. `projector_widths`: its dense
    layers. `temperature`: τ. `client_models`: whether the modules that clients trained last, before
    the average, are saved."""

    draws_views: ClassVar[bool] = True

    cut_layer: int = 2
    client_norm: Norm = "twin"
    group_channels: PositiveInt = 16
    twin_variance: TwinVariance = "pooled"
    representations: PositiveInt = 8
    sent: Literal["pooled", "unpooled"] = "pooled"
    client_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    secure_aggregation: bool = False
    datamix: bool = False
    server_epochs: int = 150
    server_batch_size: int = 512
    server_optimizer: OptimizerName = "lars"
    server_learning_rate: float = 1.0
    server_schedule: Literal["constant", "cosine"] = "cosine"
    projector_widths: tuple[int, ...] = (512, 512, 128)
    temperature: float = 0.5
    client_models: bool = False

    def encoder_options(self) -> Mapping[str, Any]:
        own = ("client_norm", "group_channels", "twin_variance", "projector_widths")
        alike = {name: getattr(self, name) for name in own}
        return {"modular": True, "client_layers": self.cut_layer, **alike}

    @property
    def exchanges(self) -> int:
        """T rounds of phase 1, and the one exchange of phase 2."""
        return self.rounds + 1

    def start(self, task: Task, attempt: int) -> Server:
        stream = task.seeds.generator("weights", "model", attempt, 0)
        drawn = {**task.model.encoder.new(stream), **self._autoencoder(task).decoder.new(stream)}
        state = placed(drawn, task.device)
        first = {**part(state, MODULE), **part(state, DECODER)}
        return Servers(first, {k: v for k, v in state.items() if k not in first})

    def new_memory(self, task: Task) -> ClientMemory:
        clients = task.federation.n_clients
        return MFCLMemory(ClientStates.of(clients)) if self.client_models else ClientMemory()

    def participants(self, task: Task, t: int) -> Tensor:
        if t < self.rounds:
            return super().participants(task, t)
        n_clients = task.federation.n_training
        order = torch.randperm(n_clients, generator=task.seeds.generator("lost clients"))
        stay = max(1, n_clients - round(self.client_dropout * n_clients))
        return order[:stay].sort().values

    def broadcast(self, now: Round, server: Server) -> Message:
        sent = server.first if now.t < self.rounds else part(server.first, MODULE)
        return Message(shared={"weights": sent})

    def local_update(self, now: Round, download: Message, memory: MFCLMemory) -> Message:
        weights = download.shared["weights"]
        if now.t == self.rounds:
            return Message(in_pieces={"representations": self._encoded(now, weights)})
        loss = Rebuilding(self._autoencoder(now.task), now.views())
        trained = self.train(now, loss, repeat(weights, len(now)))
        if self.client_models:
            memory.modules.remember(now.clients, part(trained.state, MODULE))
        pairs = torch.zeros(len(now), 2, dtype=torch.int64, device=now.task.device)
        for batch in loss.drawn:
            pairs[list(batch.members)] += balance.pairs(loss.views.portion.labels, batch.index)
        sent = {"weights": trained.state}
        if self.secure_aggregation:
            share, seeds = now.sizes() / now.sizes().sum(), now.task.seeds
            sent = {"masked weights": masked(trained.state, share, seeds, now.t, now.clients)}
        return Message(per_client=sent, log={"loss": trained.loss, "batch_pairs": pairs})

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        z = upload.in_pieces.get("representations")
        if isinstance(z, Representations | Mixed):
            epochs, size = self.server_epochs, self.server_batch_size
            options = LocalOptions(epochs, size, self.server_learning_rate, self.server_optimizer)
            network = two_modules(now.task.model.encoder)
            behind = network.behind if self.sent == "pooled" else network.pooled_and_behind
            own, seeds = (options, self.server_schedule, self.temperature), now.task.seeds
            labels, images = now.task.federation.train.labels, torch.cat(now.images())
            pairs = [images.new_zeros(2)]
            trained, losses = contrastive_training(
                *(behind, server.second, z, *own, seeds),
                seen=lambda batch: pairs.append(balance.pairs(labels, images[batch])),
            )
            counted = {**server.pairs, balance.SERVER: torch.stack(pairs).sum(0)}
            return replace(server, second=trained, losses=[*losses], pairs=counted)
        ((how, sent),) = upload.per_client.items()
        first = now.average(sent) if how == "weights" else unmasked_sum(sent, server.first)
        pairs_before = server.pairs.get(balance.CLIENTS, 0)
        counted = {balance.CLIENTS: pairs_before + upload.log["batch_pairs"].sum(0)}
        return replace(server, first=first, pairs=counted)

    def finish(self, task: Task, server: Server, memory: MFCLMemory) -> Server:
        return replace(server, own=memory.modules.state if self.client_models else {})

    def global_model(self, task: Task, server: Server) -> State:
        return self.encoder(server)

    @torch.no_grad()
    def evaluate(self, task: Task, server: Server, memory: MFCLMemory, final: bool) -> Evaluation:
        """The spread of representations after the last exchange, and how even batches were."""
        if not final:
            return Evaluation({})
        found = collapse.evaluate(task.model.encoder, self.encoder(server), task.federation.test)
        even = {name: float(n[0] / n[1]) for name, n in server.pairs.items() if n[1] > 0}
        return Evaluation({**found.metrics, **even})

    def encoder(self, server: Server) -> State:
        return with_own_modules({**part(server.first, MODULE), **server.second}, server.own)

    def counts(self, server: Server) -> Mapping[str, float]:
        """The second server's loss in its first and its last epoch."""
        return {"server_loss_first": server.losses[0], "server_loss_last": server.losses[-1]}

    def _autoencoder(self, task: Task) -> ModuleAndDecoder:
        return _autoencoder(self, two_modules(task.model.encoder))

    def _encoded(self, now: Round, weights: State) -> Pairs:
        task = now.task
        assert task.augmentation is not None
        images, own, numbers = task.federation.train.images, now.images(), now.clients.tolist()
        streams = [task.seeds.generator("views", "phase 2", client) for client in numbers]
        drawn = drawn_pairs(images, own, self.representations, task.augmentation, streams)
        network, twins = two_modules(task.model.encoder), self.client_norm == "twin"
        module = network.module if self.sent == "pooled" else network.before_pooling
        z = Representations(module, weights, drawn, twins)
        if not self.datamix:
            return z
        mixtures = [
            draw_mixture(len(held), self.representations, task.seeds.generator("datamix", one))
            for held, one in zip(own, numbers, strict=True)
        ]
        return Mixed(z, joined(mixtures))


@lru_cache(maxsize=8)
def _autoencoder(method: MFCL, network: ModularNetwork) -> ModuleAndDecoder:
    """One autoencoder for all rounds, the decoder mirroring the module."""

    def normalised(name: str, channels: int) -> Layer:
        groups, variance = method.group_channels, method.twin_variance
        return normalisation(method.client_norm, name, channels, groups, variance=variance)

    decoder = plain_layers(DECODER, mirrored(network.plan), normalised)
    return ModuleAndDecoder(network.module, decoder)
