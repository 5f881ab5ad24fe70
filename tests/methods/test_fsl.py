from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.split.fsl import FSL, Split, Wire
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.nn.modular import two_modules
from fedrepro.methods.training.local_loss import Batch
from tests.methods.conftest import make_task, one_round

METHOD = FSL(
    rounds=2, local_epochs=2, batch_size=4, learning_rate=0.05, optimizer="sgd", form="splitfed-v2"
)
LOCAL = replace(METHOD, form="local-loss", auxiliary_widths=(5,))


def split(task: Task) -> Task:
    encoder = ResNet(10, stem="cifar", width=4, **METHOD.encoder_options())
    model = Classifier(encoder.build(1, 6), encoder.out_dim, dense_head(encoder.out_dim, (), 3))
    return replace(task, model=model)


def test_gradients_are_those_of_end_to_end_training() -> None:
    task, wire = split(make_task()), Wire()
    start = task.new_model("model")
    batch = Batch((0,), torch.arange(6).view(1, 6), torch.arange(6).view(1, 6), 0)
    portion = task.federation.train
    found = []
    for halves in (True, False):
        leaves = {k: v.clone().requires_grad_("running" not in k) for k, v in start.items()}
        if halves:
            loss = Split(task, wire).loss(leaves, {}, batch)[0]
        else:
            logits = task.model(leaves, to_float(portion.images[:6])[None], training=True)
            loss = F.cross_entropy(logits[0], portion.labels[:6])
        trained = [v for v in leaves.values() if v.requires_grad]
        found.append(torch.autograd.grad(loss, trained))
    for ours, whole in zip(*found, strict=True):
        torch.testing.assert_close(ours, whole)
    # 6 images of 4 channels of 3 x 3 pixels, 4 bytes each; labels of 8 bytes go up too.
    assert (wire.up, wire.down) == (6 * 4 * 9 * 4 + 6 * 8, 6 * 4 * 9 * 4)


def test_bytes_of_smashed_data_and_gradients_are_counted() -> None:
    outcome = run(METHOD, split(make_task(sizes=(10, 6, 9))))
    passes = 25 * 2 * 2  # images, epochs, rounds
    assert outcome.counts["uploaded_bytes.smashed data"] == passes * (4 * 9 * 4 + 8)
    assert outcome.counts["downloaded_bytes.gradients"] == passes * 4 * 9 * 4
    total = sum(v for k, v in outcome.counts.items() if k.startswith("uploaded_bytes."))
    assert outcome.counts["uploaded_bytes"] == total


def test_one_client_trains_as_the_whole_network_would() -> None:
    task = split(make_task(sizes=(10,)))
    whole = FedAvg(rounds=2, local_epochs=2, batch_size=4, learning_rate=0.05, optimizer="sgd")
    theirs, ours = run(whole, task), run(METHOD, task)
    assert ours.metrics["accuracy"].values == pytest.approx(theirs.metrics["accuracy"].values)


def test_the_server_goes_from_client_to_client_and_clients_are_averaged() -> None:
    task, clients = split(make_task(sizes=(8, 12))), torch.arange(2)
    server = METHOD.start(task, 0)
    down, up, after = one_round(METHOD, Round(task, 0, clients), server)
    assert all(name.startswith("encoder.module.") for name in down.shared["weights"])
    for name, value in up.per_client["weights"].items():
        expected = 0.4 * value[0] + 0.6 * value[1]
        torch.testing.assert_close(after[name][0], expected)
    assert all(torch.equal(after[name], value) for name, value in up.resident["server"].items())


def test_local_losses_train_both_halves_apart_and_average_them() -> None:
    """One round of two clients, whole data a step, against two plain SGDs for each client."""
    method = replace(LOCAL, rounds=1, batch_size=12)
    task, clients = split(make_task(sizes=(8, 12))), torch.arange(2)
    server = method.start(task, 0)
    _, _, found = one_round(method, Round(task, 0, clients), server)

    network, portion = two_modules(task.model.encoder), task.federation.train
    expected = {name: torch.zeros_like(value) for name, value in server.items()}
    for own, size in zip(task.federation.train_of, (8, 12), strict=True):
        state = {k: v.clone().requires_grad_("running" not in k) for k, v in server.items()}
        ours = {k: v for k, v in state.items() if k.split(".")[1] == "module" or "auxil" in k}
        theirs = {k: v for k, v in state.items() if k not in ours}
        x, labels = portion.images[own].float()[None] / 255, portion.labels[own]
        for _ in range(2):
            z = network.module(state, x, training=True)
            hidden = F.linear(z.mean((3, 4))[0], state["auxiliary.0.weight"][0])
            hidden = (hidden + state["auxiliary.0.bias"][0]).relu()
            guess = F.linear(hidden, state["auxiliary.1.weight"][0], state["auxiliary.1.bias"][0])
            logits = task.model.logits(state, network.behind(state, z.detach(), True), True)[0]
            for half, out in ((ours, guess), (theirs, logits)):
                weights = [v for v in half.values() if v.requires_grad]
                slopes = torch.autograd.grad(F.cross_entropy(out, labels), weights)
                for w, g in zip(weights, slopes, strict=True):
                    w.data -= 0.05 * g
        for name, value in state.items():
            expected[name] += value.detach() * size / 20
    assert found.keys() == expected.keys()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
    moved = [name for name, value in found.items() if not torch.equal(value, server[name])]
    assert {name.split(".")[0] for name in moved} == {"encoder", "head", "auxiliary"}


def test_no_gradient_returns_to_clients_that_have_a_loss_of_their_own() -> None:
    outcome = run(LOCAL, split(make_task(sizes=(10, 6, 9))))
    passes = 25 * 2 * 2  # images, epochs, rounds
    assert outcome.counts["uploaded_bytes.smashed data"] == passes * (4 * 9 * 4 + 8)
    assert outcome.counts["downloaded_bytes"] == outcome.counts["downloaded_bytes.weights"]
    # Module: 1 -> 4 -> 4 channels with biases and BN; behind it 4 -> 5 -> 3 dense.
    weights = (4 * 9 + 4 + 16) + (4 * 4 * 9 + 4 + 16) + (4 * 5 + 5) + (5 * 3 + 3)
    assert outcome.counts["uploaded_bytes.weights"] == 3 * 2 * weights * 4


def test_clients_with_a_loss_of_their_own_do_not_see_the_servers_half() -> None:
    task = split(make_task())
    now, server = Round(task, 0, torch.arange(3)), LOCAL.start(task, 0)
    other = {k: v + (k.startswith(("head", "encoder.layer"))) for k, v in server.items()}
    sent = [one_round(LOCAL, now, one)[1].per_client["weights"] for one in (server, other)]
    torch.testing.assert_close(sent[1], sent[0], rtol=0, atol=0)
    assert LOCAL.global_model(task, server).keys() == task.new_model("model").keys()
