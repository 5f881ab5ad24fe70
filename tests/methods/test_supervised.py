import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.federated.base import Message, Round, Task
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.supervised import heterofl
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.federated.supervised.fedprox import Proximal
from fedrepro.methods.federated.supervised.moon import MOON, ModelContrastive, model_contrast
from fedrepro.methods.federated.supervised.split_mix import SplitMix, ensemble_logits
from fedrepro.methods.nn.classifier import ENCODER, Classifier, dense_head
from fedrepro.methods.state import State, n_bytes, part, repeat, take
from fedrepro.methods.training.local import Supervised
from fedrepro.methods.training.local_loss import Batch
from tests.methods.conftest import after_rounds, make_task, one_round, trained_alone

METHOD = FedAvg(rounds=3, local_epochs=2, batch_size=4, learning_rate=0.01)


def test_one_client_is_plain_training() -> None:
    task = make_task(sizes=(10,))
    expected, _ = after_rounds(METHOD, task)
    torch.testing.assert_close(trained_alone(task, 0, 3), expected, rtol=0, atol=0)


def test_clients_are_weighted_by_their_images_as_numpy_averages() -> None:
    task = make_task(sizes=(10, 4, 7))
    stacked = {"encoder.w": torch.randn(2, 3, 4), "head.b": torch.randn(2, 5)}
    upload = Message(per_client={"weights": stacked})
    average = METHOD.aggregate(Round(task, 0, torch.tensor([2, 0])), None, upload)
    for name, value in stacked.items():
        expected = np.average(value.numpy(), axis=0, weights=[7, 10])
        np.testing.assert_allclose(average[name][0].numpy(), expected, rtol=1e-6)


def test_a_pre_trained_encoder_is_where_training_starts() -> None:
    task = make_task()
    encoder = part(task.new_model("elsewhere"), ENCODER)
    random, pretrained = METHOD.start(task, 0), METHOD.start(replace(task, encoder=encoder), 0)
    for name, value in pretrained.items():
        assert torch.equal(value, encoder.get(name, random[name]))


def test_classes_of_clients_are_counted() -> None:
    task = make_task(sizes=(4, 4))
    labels = task.federation.train.labels
    labels.copy_(torch.tensor([0, 0, 0, 2, 1, 1, 1, 1]))
    outcome = run(METHOD, task)
    assert outcome.metrics["classes_per_client"].values == (1.5,)


def test_gradient_gains_mu_times_the_way_from_the_received_model() -> None:
    task = make_task()
    anchor, mu = task.new_model("anchor"), 0.3
    state = {k: (v + 0.1 * torch.randn_like(v)) for k, v in repeat(anchor, 2).items()}
    batch = Batch((0, 1), torch.arange(8).view(2, 4), torch.arange(8).view(2, 4), 0)
    found = {}
    for name, work in (
        ("plain", Supervised(task.model, task.federation.train, None)),
        ("held", Proximal(task, anchor, mu)),
    ):
        leaves = {k: v.clone().requires_grad_() for k, v in state.items()}
        loss = work.loss(leaves, {}, batch)
        found[name] = loss, torch.autograd.grad(loss.sum(), list(leaves.values()))
    for (key, value), plain, held in zip(
        state.items(), found["plain"][1], found["held"][1], strict=True
    ):
        torch.testing.assert_close(held - plain, mu * (value - anchor[key]), rtol=1e-4, atol=1e-6)
    far = sum(((state[k] - anchor[k]) ** 2).flatten(1).sum(1) for k in state)
    torch.testing.assert_close(found["held"][0] - found["plain"][0], mu / 2 * far)


OPTIONS = {"rounds": 2, "local_epochs": 1, "batch_size": 5, "learning_rate": 0.05}


def test_loss_of_two_images_by_hand() -> None:
    z = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
    received = torch.tensor([[[3.0, 0.0], [1.0, 0.0]]])  # cosines 1 and 0
    previous = torch.tensor([[[0.0, 1.0], [0.0, -1.0]]])  # cosines 0 and -1
    tau = 0.5
    first = -math.log(math.exp(1 / tau) / (math.exp(1 / tau) + math.exp(0)))
    second = -math.log(math.exp(0) / (math.exp(0) + math.exp(-1 / tau)))
    found = model_contrast(z, received, previous, tau)
    assert found.flatten().tolist() == pytest.approx([first, second])


def test_clients_remember_their_own_last_model() -> None:
    task, method = make_task(), MOON(**OPTIONS)  # type: ignore[arg-type]
    memory, clients = method.new_memory(task), torch.tensor([0, 2])
    server = method.start(task, 0)
    _, up, _ = one_round(method, Round(task, 0, clients), server, memory)
    for name, value in memory.previous.state.items():
        assert torch.equal(value[[0, 2]], up.per_client["weights"][name])
        assert not value[1].any()
    # A client that was away begins from what it then receives.
    later = {name: value + 1 for name, value in server.items()}
    one_round(method, Round(task, 1, torch.tensor([1])), later, memory)
    assert not any(torch.equal(v[1:2], server[k]) for k, v in memory.previous.state.items())


def test_a_projected_contrast_is_of_the_heads_last_hidden_layer() -> None:
    task = make_task()
    head = dense_head(task.model.dim, (5, 2), 3)
    task = replace(task, model=Classifier(task.model.encoder, task.model.dim, head))
    received, previous, own = (task.new_model(name) for name in ("a", "b", "c"))
    batch = Batch((0,), torch.arange(4).view(1, 4), torch.arange(4).view(1, 4), 0)
    images = to_float(task.federation.train.images[batch.index])

    def z(state: State) -> torch.Tensor:
        h = task.model.features(state, images, training=state is own)[0]
        hidden = (h @ state["head.0.weight"][0].T + state["head.0.bias"][0]).relu()
        return (hidden @ state["head.1.weight"][0].T + state["head.1.bias"][0])[None]

    contrast = model_contrast(z(own), z(received), z(previous), 0.5).mean()
    losses = [
        ModelContrastive(task, received, weight, 0.5, projected=True).loss(own, previous, batch)
        for weight in (0.0, 2.0)
    ]
    torch.testing.assert_close(losses[1] - losses[0], 2 * contrast[None])
    run(MOON(**OPTIONS, projected=True), task)  # type: ignore[arg-type]


HETEROFL_METHOD = heterofl.HeteroFL(
    levels=(1.0, 0.5), rounds=2, local_epochs=1, batch_size=5, learning_rate=0.01
)


def at_width(classes: int = 3) -> Callable[[float], Classifier]:
    def made(share: float) -> Classifier:
        encoder = CNN(widths=(4, 4), dim=4, padding=1).narrowed(share)
        head = dense_head(encoder.out_dim, (), classes)
        return Classifier(encoder.build(1, 6), encoder.out_dim, head)

    return made


def widths(task: Task) -> Task:
    make = at_width()
    return replace(task, model=make(1.0), at_width=make)


def test_each_weight_is_averaged_over_the_clients_that_hold_it() -> None:
    old = {"w": torch.zeros(1, 2, 3), "b": torch.tensor([[7.0, 7.0]])}
    wide = {"w": torch.full((1, 2, 2), 3.0), "b": torch.tensor([[1.0, 5.0]])}
    narrow = {"w": torch.tensor([[[6.0]], [[9.0]]]), "b": torch.tensor([[3.0], [5.0]])}
    found = heterofl.overlapping_average(old, [wide, narrow])
    # Held by all three: (3 + 6 + 9) / 3; by the wide one alone: 3; by nobody: the old 0.
    assert found["w"][0].tolist() == [[6.0, 3.0, 0.0], [3.0, 3.0, 0.0]]
    assert found["b"][0].tolist() == [3.0, 5.0]


def test_a_slice_is_the_first_channels_and_a_model_of_that_width() -> None:
    make = at_width()
    whole = make(1.0).new(torch.Generator().manual_seed(0))
    half = heterofl.sliced(whole, make(0.5).new(torch.Generator()))
    assert half["encoder.conv1.weight"].shape == (1, 2, 2, 3, 3)
    assert torch.equal(half["encoder.conv1.weight"], whole["encoder.conv1.weight"][:, :2, :2])
    assert half["head.0.weight"].shape == (1, 3, 2)
    make(0.5)(half, torch.rand(1, 2, 1, 6, 6))


def test_clients_receive_and_send_what_their_level_holds() -> None:
    task = widths(make_task(sizes=(10, 10, 10)))
    make = at_width()
    whole, half = (n_bytes(make(share).new(torch.Generator())) for share in (1.0, 0.5))
    outcome = run(HETEROFL_METHOD, task)
    # Clients 0 and 2 hold everything, client 1 the half.
    for direction in ("downloaded", "uploaded"):
        assert outcome.counts[f"{direction}_bytes"] == 2 * (2 * whole + half)


def test_equal_levels_average_without_weights() -> None:
    task, clients = widths(make_task(sizes=(4, 16))), torch.arange(2)
    method = replace(HETEROFL_METHOD, levels=(1.0,))
    server = method.start(task, 0)
    _, up, after = one_round(method, Round(task, 0, clients), server)
    for name, value in up.per_client["weights 1"].items():
        torch.testing.assert_close(after[name][0], (value[0] + value[1]) / 2)


def test_logits_of_absent_classes_are_zero() -> None:
    task = widths(make_task())
    labels = task.federation.train.labels
    labels[:10] = 1
    work = heterofl.PresentClasses(Round(task, 0, torch.tensor([0])), 1.0)
    batch = Batch((0,), torch.arange(4).view(1, 4), torch.arange(4).view(1, 4), 0)
    logits = work.logits(task.new_model("m"), {}, batch)
    assert bool((logits[:, :, [0, 2]] == 0).all())
    assert bool((logits[:, :, 1] != 0).any())


SPLIT_MIX_METHOD = SplitMix(
    base_width=0.25, budgets=(0.25, 1.0), rounds=2, local_epochs=1, batch_size=5, learning_rate=0.01
)


def test_the_ensemble_is_the_mean_of_its_members_logits() -> None:
    task = widths(make_task())
    bases, model = SPLIT_MIX_METHOD.start(task, 0), at_width()(0.25)
    images = task.federation.test.images[:7]
    x = to_float(images)[None]
    each = [model(take(bases, [i]), x)[0] for i in range(4)]
    expected = (each[0] + each[1] + each[2] + each[3]) / 4
    torch.testing.assert_close(ensemble_logits(model, bases, images, batch_size=3), expected)
    assert not torch.allclose(each[0], each[1])


def test_rescaled_bases_have_the_spread_of_the_whole_network_behind_the_first_layer() -> None:
    task = widths(make_task())
    plain = SPLIT_MIX_METHOD.start(task, 0)
    rescaled = replace(SPLIT_MIX_METHOD, rescaled=True).start(task, 0)
    for name, value in plain.items():
        factor = 0.5 if name in ("encoder.conv1.weight", "encoder.dense.weight") else 1.0
        factor = 0.5 if name == "head.0.weight" else factor
        assert torch.equal(rescaled[name], value * factor), name


def test_masked_bases_learn_nothing_of_classes_that_a_client_lacks() -> None:
    task = widths(make_task(sizes=(8,)))
    task.federation.train.labels[:] = 1
    method = replace(SPLIT_MIX_METHOD, budgets=(1.0,), masked=True)
    server = method.start(task, 0)
    _, _, after = one_round(method, Round(task, 0, torch.arange(1)), server)
    bias = after["head.0.bias"] - server["head.0.bias"]  # bases x classes
    assert not bias[:, [0, 2]].any()
    assert bool(bias[:, 1].abs().gt(0).all())


def test_budgets_decide_how_many_bases_a_client_trains() -> None:
    task = widths(make_task(sizes=(6, 6, 6)))
    who, which = SPLIT_MIX_METHOD._chosen(Round(task, 0, torch.arange(3)))
    assert torch.bincount(who).tolist() == [1, 4, 1]
    assert sorted(which[who == 1].tolist()) == [0, 1, 2, 3]
    drawn = {int(SPLIT_MIX_METHOD._chosen(Round(task, t, torch.tensor([0])))[1]) for t in range(40)}
    assert drawn == {0, 1, 2, 3}
    size = n_bytes(at_width()(0.25).new(torch.Generator()))
    assert run(SPLIT_MIX_METHOD, task).counts["uploaded_bytes"] == 2 * 6 * size


def test_a_base_is_averaged_over_those_who_trained_it_and_else_left() -> None:
    task = widths(make_task(sizes=(4, 12)))
    method = replace(SPLIT_MIX_METHOD, budgets=(0.25,))
    clients = torch.arange(2)
    for t in range(20):
        _, which = method._chosen(Round(task, t, clients))
        if which[0] == which[1]:
            break
    server = method.start(task, 0)
    _, up, after = one_round(method, Round(task, t, clients), server)
    for name, value in up.per_client["bases"].items():
        for base in range(4):
            if base == int(which[0]):
                expected = 0.25 * value[0] + 0.75 * value[1]
                torch.testing.assert_close(after[name][base], expected)
            else:
                assert torch.equal(after[name][base], server[name][base])
