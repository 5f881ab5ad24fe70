from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.split.mfcl import MFCL, ModuleAndDecoder, rebuilding_loss
from fedrepro.methods.metrics.balance import METRICS
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.nn.mfcl_modules import mirrored
from fedrepro.methods.nn.modular import plain_layers, two_modules, with_module_of
from fedrepro.methods.nn.normalisation import GroupNorm
from fedrepro.methods.outcome import DivergedError
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import n_bytes, part
from tests.methods.conftest import make_task, one_round, stream

AUGMENTATION = Augmentation((0.5, 1.0), jitter_probability=0, grey_probability=0)
CLIENTS: dict[str, Any] = {"local_epochs": 1, "batch_size": 4, "learning_rate": 0.01}
SERVER: dict[str, Any] = {"server_epochs": 2, "server_batch_size": 8, "projector_widths": (6, 4)}
SHORT = MFCL(rounds=2, **CLIENTS, group_channels=2, representations=3, **SERVER)


def modular(task: Task, method: MFCL) -> Task:
    encoder = ResNet(10, stem="cifar", width=4, **method.encoder_options())
    model = Classifier(encoder.build(1, 6), encoder.out_dim, dense_head(4, (), 3))
    return replace(task, model=model, augmentation=AUGMENTATION)


def test_traffic_is_what_algorithm_1_sends() -> None:
    task = modular(make_task(sizes=(10, 6, 9)), SHORT)
    outcome = run(SHORT, task)
    server = SHORT.start(task, 0)
    whole, module = n_bytes(server.first), n_bytes(part(server.first, "encoder.module"))
    clients = 3
    assert outcome.counts["uploaded_bytes.weights"] == clients * 2 * whole
    assert outcome.counts["downloaded_bytes"] == clients * (2 * whole + module)
    # 25 images, 3 vectors of 2 views, 4 channels of 3 x 3 pixels, 4 bytes each.
    assert outcome.counts["uploaded_bytes.representations"] == 25 * 3 * 2 * 4 * 9 * 4


@pytest.mark.parametrize("norm", ["batch", "twin"])
def test_who_pools_changes_the_traffic_alone(norm: str) -> None:
    normed = replace(SHORT, client_norm=norm)  # type: ignore[arg-type]
    methods, name = (normed, replace(normed, sent="unpooled")), "uploaded_bytes.representations"
    pooled, unpooled = (run(one, modular(make_task(sizes=(10, 6, 9)), one)) for one in methods)
    assert unpooled.counts[name] == 4 * pooled.counts[name]
    torch.testing.assert_close(unpooled.encoder, pooled.encoder, rtol=0, atol=0)


def test_table_18s_variance_reaches_the_module_its_decoder_and_its_representations() -> None:
    found = {}
    for variance in ("pooled", "averaged"):
        method = replace(SHORT, twin_variance=variance)  # type: ignore[arg-type]
        task = modular(make_task(sizes=(10, 6, 9)), method)
        server, clients = method.start(task, 0), torch.arange(3)
        norms = [one for one in two_modules(task.model.encoder).module if hasattr(one, "variance")]
        norms += [one for one in method._autoencoder(task).decoder if hasattr(one, "variance")]
        assert [one.variance for one in norms] == [variance] * 4
        up = one_round(method, Round(task, 2, clients), server)[1].in_pieces["representations"]
        found[variance] = up.read(torch.arange(6), torch.zeros(6, dtype=torch.int64))
    assert not torch.allclose(found["pooled"], found["averaged"])


def test_the_servers_share_nothing() -> None:
    task = modular(make_task(), SHORT)
    server, clients = SHORT.start(task, 0), torch.arange(3)
    assert not set(server.first) & set(server.second)
    _, _, after = one_round(SHORT, Round(task, 0, clients), server)
    assert all(torch.equal(after.second[k], v) for k, v in server.second.items())
    last, up, done = one_round(SHORT, Round(task, 2, clients), after)
    assert all(name.startswith("encoder.module.") for name in last.shared["weights"])
    assert (list(up.per_client), list(up.in_pieces)) == ([], ["representations"])
    assert all(torch.equal(done.first[k], v) for k, v in after.first.items())
    assert any(not torch.equal(done.second[k], v) for k, v in after.second.items())


def test_masks_change_nothing_but_what_the_server_sees() -> None:
    task = modular(make_task(sizes=(10, 6, 9)), SHORT)
    hidden, now = replace(SHORT, secure_aggregation=True), Round(task, 0, torch.arange(3))
    (_, _, plain), (_, up, masked) = (one_round(method, now) for method in (SHORT, hidden))
    assert list(up.per_client) == ["masked weights"]
    assert all(v.dtype == torch.int64 for v in up.per_client["masked weights"].values())
    torch.testing.assert_close(masked.first, plain.first, rtol=1e-6, atol=1e-7)


def test_lost_clients_send_no_representations() -> None:
    task = make_task(sizes=(4,) * 10)
    for dropout, left in ((0.0, 10), (0.2, 8), (0.6, 4), (0.99, 1)):
        method = replace(SHORT, client_dropout=dropout)
        assert len(method.participants(task, 0)) == 10
        assert len(method.participants(task, 2)) == left


def test_datamix_changes_what_is_sent_and_not_how_much() -> None:
    task, methods = modular(make_task(), SHORT), (SHORT, replace(SHORT, datamix=True))
    now, server = Round(task, 2, torch.arange(3)), SHORT.start(task, 0)
    plain, mixed = (one_round(one, now, server)[1].in_pieces["representations"] for one in methods)
    assert plain.n_bytes == mixed.n_bytes
    some, first = torch.arange(6), torch.zeros(6, dtype=torch.int64)
    assert not torch.allclose(plain.read(some, first), mixed.read(some, first))


def test_a_second_server_that_diverges_is_a_failed_trial() -> None:
    method = replace(SHORT, server_learning_rate=1e30, server_optimizer="sgd")
    with pytest.raises(DivergedError, match="round 3"):
        run(method, modular(make_task(sizes=(10, 6, 9)), method))


def of_one_class(labels: Tensor, size: int, orders: list[list[int]]) -> float:
    """The share of pairs of one class in batches of `size` of images in these orders."""
    cut = [order[i : i + size] for order in orders for i in range(0, len(order), size)]
    alike = [bool(labels[a] == labels[b]) for batch in cut for a, b in combinations(batch, 2)]
    return sum(alike) / len(alike)


def test_pairs_of_one_class_are_counted_in_the_batches_that_are_drawn_and_move_nothing() -> None:
    task, held = modular(make_task((10, 6, 9)), SHORT), torch.randperm(25, generator=stream())
    federation = replace(task.federation, train_of=held.split([10, 6, 9]))
    order, theirs, servers = Seeds(0).generator("representations", "order"), [], []
    for t in range(2):  # as many rounds of clients as epochs of the server
        for client, own in enumerate(federation.train_of):
            drawn = torch.randperm(len(own), generator=Seeds(0).generator("batches", t, client))
            theirs.append(own[drawn].tolist())
        torch.randint(3, (25,), generator=order)
        servers.append(held[torch.randperm(25, generator=order)].tolist())
    apart = torch.arange(3).repeat_interleave(torch.tensor([10, 6, 9]))[held.argsort()]
    even, trained = (torch.arange(25) % 3)[held.argsort()], []  # two to four images of each class
    for known, near in ((apart, 1.0), (even, 1 / 3), (None, 0.0)):
        known_to = replace(federation, train=ImageSet(federation.train.images, known))
        outcome = run(SHORT, replace(task, federation=known_to))
        trained.append(outcome.encoder)
        found = [outcome.metrics[one].values[-1] for one in METRICS if one in outcome.metrics]
        if known is not None:
            expected = [of_one_class(known, 4, theirs), of_one_class(known, 8, servers)]
            assert found == pytest.approx(expected)
            assert found == pytest.approx([near, 1 / 3], abs=0.15)
    assert found == []
    torch.testing.assert_close(trained[1:], trained[:1] * 2, rtol=0, atol=0)


def test_rebuilding_loss_is_binary_cross_entropy_with_the_halved_views() -> None:
    network = ResNet(10, stem="cifar", width=2, client_layers=2, modular=True).build(1, 6)
    decoder = plain_layers("decoder", mirrored(network.plan), lambda name, n: GroupNorm(name, n, 1))
    both = ModuleAndDecoder(network.module, decoder)
    state = both.new(torch.Generator().manual_seed(0))
    x = torch.rand(1, 4, 1, 6, 6)
    y = torch.sigmoid(both(state, x, training=True))[0]
    halved = F.avg_pool2d(x[0], 2)
    expected = -(halved * y.log() + (1 - halved) * (1 - y).log()).mean()
    assert float(rebuilding_loss(both, state, x)) == pytest.approx(float(expected), rel=1e-5)


def test_modules_that_clients_trained_last_are_saved_where_they_are_wanted() -> None:
    method = replace(SHORT, client_models=True)
    outcome = run(method, modular(make_task(sizes=(10, 6, 9)), method))
    plain = run(SHORT, modular(make_task(sizes=(10, 6, 9)), SHORT))
    assert not part(plain.encoder, "own")
    assert all(torch.equal(outcome.encoder[name], value) for name, value in plain.encoder.items())
    for name, averaged in part(plain.encoder, "encoder.module").items():
        modules = [with_module_of(outcome.encoder, client)[name][0].double() for client in range(3)]
        mean = sum(n * one for n, one in zip((10, 6, 9), modules, strict=True)) / 25
        torch.testing.assert_close(averaged[0].double(), mean, rtol=1e-5, atol=1e-6)
    whole = with_module_of(outcome.encoder, 1)
    assert whole.keys() == plain.encoder.keys()
    for state, client in ((plain.encoder, 0), (outcome.encoder, 3)):
        with pytest.raises(ValueError, match=f"client {client}"):
            with_module_of(state, client)
