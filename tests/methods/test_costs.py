from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from fedrepro.methods.costs import op_trace
from fedrepro.methods.costs.counting import _fitted, _tiny, count_costs
from fedrepro.methods.costs.model_costs import exchange, network_cost, shapes_of
from fedrepro.methods.costs.op_trace import OpTrace
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.federated.base import FederatedMethod, Message, Round, Task
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.self_supervised.fedema import FedEMA
from fedrepro.methods.federated.self_supervised.fedsimclr import FedSimCLR
from fedrepro.methods.federated.split.fsl import FSL
from fedrepro.methods.federated.split.mfcl import MFCL
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.federated.supervised.heterofl import HeteroFL
from fedrepro.methods.nn import layers
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.objectives.byol import BYOL
from fedrepro.methods.objectives.simclr import SimCLR
from fedrepro.methods.training.steps import Grouping
from tests.methods.conftest import make_task


def test_default_cnn_takes_82_million_multiply_adds() -> None:
    sides, widths = [47, 23, 11, 5], [3, 64, 128, 192, 256]
    convolutions = sum(side**2 * 9 * widths[i] * widths[i + 1] for i, side in enumerate(sides))
    cost = network_cost(CNN().build(3, 96), 3, 96, 96)
    assert cost.multiply_adds_by_kind == {"convolution": convolutions, "dense": 5 * 5 * 256 * 256}
    assert cost.multiply_adds == 82_280_128
    assert cost.flops == 2 * 82_280_128
    assert cost.parameters == 2_378_304
    assert cost.bytes == 4 * 2_378_304


def test_running_statistics_are_sent_but_are_no_parameters() -> None:
    network = ResNet(10, width=4).build(3, 16)
    cost, sent = network_cost(network, 3, 16, 16), shapes_of(network).values()
    assert cost.bytes == 4 * sum(value.numel() for value in sent) > 4 * cost.parameters


def test_exchange_agrees_with_the_bytes_of_the_messages() -> None:
    download = Message(
        shared={"a": {"w": torch.zeros(2, 7)}}, per_client={"b": {"v": torch.zeros(4, 3)}}
    )
    upload = Message(per_client={"c": {"w": torch.zeros(4, 7), "n": torch.zeros(4).int()}})
    found = exchange(download, upload, participants=4, model_bytes=28)
    every_byte = download.bytes_exchanged(4) + upload.bytes_exchanged(4)
    assert 4 * (28 * found.models + found.integers) == every_byte


def test_exchange_of_a_part_of_a_model_is_an_exact_fraction() -> None:
    download = Message(shared={"head": {"w": torch.zeros(1, 1)}})
    assert exchange(download, Message(), 1, 12).models == Fraction(1, 3)


ROUNDS, EPOCHS, BATCH, IMAGES, CLIENTS = 2, 2, 3, 8, 4
SHORT = {"rounds": ROUNDS, "local_epochs": EPOCHS, "batch_size": BATCH, "learning_rate": 0.01}
METHODS = [
    FedAvg(**SHORT),  # type: ignore[arg-type]
    HeteroFL(**SHORT, levels=(1.0, 0.5)),  # type: ignore[arg-type]
    FedEMA(**SHORT),  # type: ignore[arg-type]
    MFCL(**SHORT, group_channels=2, server_epochs=1, projector_widths=(6, 4)),  # type: ignore[arg-type]
]
NAMES = [type(method).__name__ for method in METHODS]


def bound(method: FederatedMethod) -> Task:
    """A task of noise for a small residual network, with what the method asks for."""

    def model(share: float) -> Classifier:
        encoder = ResNet(
            10, stem="cifar", width=round(8 * share), blocks=(1, 1), **method.encoder_options()
        )
        head = dense_head(encoder.out_dim, (), 3)
        return Classifier(encoder.build(1, 6), encoder.out_dim, head)

    objective = {"simclr": SimCLR, "byol": BYOL}.get(method.objective_name() or "")
    return replace(
        make_task(sizes=(IMAGES,) * CLIENTS),
        model=model(1.0),
        at_width=model,
        augmentation=Augmentation(jitter_probability=0, grey_probability=0),
        objective=None if objective is None else objective(),
        grouping=Grouping(at_once=1),
    )


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_counts_are_those_of_a_whole_training_and_of_a_round_really_computed(
    method: FederatedMethod,
) -> None:
    task = bound(method)
    real = _tiny(task, IMAGES)
    clients, memory = torch.arange(CLIENTS), method.new_memory(real)
    server = method.start(real, 0)
    for t in range(2):
        download = method.broadcast(Round(real, t, clients), server)
        with FlopCounterMode(display=False) as counter:
            upload = method.local_update(Round(real, t, clients), download, memory)
        server = method.aggregate(Round(real, t, clients), server, upload)
    found, counts = count_costs(method, task, IMAGES), run(method, task).counts
    sent = counts["downloaded_bytes"] + counts["uploaded_bytes"]
    assert CLIENTS * found.exchanged == sent
    assert CLIENTS * found.flops == counter.get_total_flops()
    kept = sum(value.numel() * value.element_size() for value in memory.tensors())
    assert CLIENTS * found.kept == kept


def test_a_small_network_by_hand() -> None:
    task, method = make_task(sizes=(IMAGES,)), METHODS[0]
    found = count_costs(method, task, IMAGES)
    # 3x3 convolutions of stride 2: 1 to 3 channels on 3x3 places, 3 to 4 on 2x2; dense 16-5-3.
    first, others = 9 * 1 * 3 * 9, 9 * 3 * 4 * 4 + 16 * 5 + 5 * 3
    passes = 3 * (first + others) - first  # nobody asks for the gradient of the images
    assert found.flops == 2 * passes * IMAGES * EPOCHS
    weights = (9 * 3 + 3) + (9 * 3 * 4 + 4) + (16 * 5 + 5) + (5 * 3 + 3)
    assert (found.weights, found.gradients, found.kept) == (4 * weights, 4 * weights, 0)
    assert found.exchanged == 2 * ROUNDS * 4 * weights
    assert found.held == 2 * 4 * weights + found.maps


def test_what_autograd_keeps_is_counted_once_and_until_it_is_let_go() -> None:
    watch, x = OpTrace(), torch.rand(4, 10)
    w = torch.rand(10, 6, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(watch.keep, lambda handle: handle.value):
        loss = (x @ w).relu().sum()
    # The product keeps x (w needs it, x has no gradient); ReLU keeps its output.
    assert watch.now == watch.most == 4 * (4 * 10 + 4 * 6)
    loss.backward()  # type: ignore[no-untyped-call]
    del loss
    assert (watch.now, watch.most) == (0, 4 * (4 * 10 + 4 * 6))


def test_a_shortcut_of_this_processor_is_no_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    method = FedSimCLR(**SHORT)  # type: ignore[arg-type]
    found = count_costs(method, bound(method), IMAGES)
    with monkeypatch.context() as patched:
        patched.setattr(layers, "suits_kept_patches", lambda *of_layer: True)
        assert count_costs(method, bound(method), IMAGES) == found
    monkeypatch.setattr(layers, "without_stride", lambda x, kernel, stride, padding: (x, stride))
    assert count_costs(method, bound(method), IMAGES) == found


@pytest.mark.filterwarnings("ignore:TF32 acceleration")
@pytest.mark.parametrize("method", METHODS[::3], ids=NAMES[::3])
def test_shapes_of_results_lie_in_memory_as_real_results_do(
    monkeypatch: pytest.MonkeyPatch, method: FederatedMethod
) -> None:
    """Or the next layer copies them, and autograd keeps the copies too."""
    found = count_costs(method, bound(method), IMAGES)
    monkeypatch.setattr(op_trace, "_NEW", set())
    # Ordinary convolutions of few channels are what oneDNN cannot do (`methods.nn.convolution`).
    with torch.backends.mkldnn.flags(enabled=False):
        real = count_costs(method, bound(method), IMAGES)
    assert (found.maps, found.flops) == (real.maps, real.flops)


def test_what_is_streamed_within_a_round_is_refused() -> None:
    method = FSL(**SHORT)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="streamed"):
        count_costs(method, bound(method), IMAGES)


def test_counts_that_follow_no_polynomial_are_refused() -> None:
    square = _fitted([(n, 3 * n * n - n + 7) for n in (2, 3, 4, 6)])
    assert square(10) == 297
    assert square(100) == 29_907
    with pytest.raises(ValueError, match="no polynomial"):
        _fitted([(n, n**3) for n in (2, 3, 4, 6)])
