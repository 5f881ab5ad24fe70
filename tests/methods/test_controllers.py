"""What decides FedU's, FedEMA's, FedRLC's and FedPNP's rounds is logged as they used it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from fedrepro.methods.clusters.soft_assignment import CENTRES
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.self_supervised._local_models import (
    KeepsLocalModel,
    mean_convolution_distance,
)
from fedrepro.methods.federated.self_supervised.fedema import FedEMA
from fedrepro.methods.federated.self_supervised.fedpnp import FedPNP
from fedrepro.methods.federated.self_supervised.fedrlc import FedRLC
from fedrepro.methods.federated.self_supervised.fedu import FedU
from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.objectives.crossed_kl import SELECTED
from fedrepro.methods.objectives.past_negatives import EMPTY, similarity
from fedrepro.methods.registry import find
from fedrepro.methods.state import State, part, take

MakeTask = Callable[..., Task]
OPTIONS: dict[str, Any] = {
    "rounds": 4,
    "local_epochs": 1,
    "batch_size": 5,
    "learning_rate": 0.005,
    "optimizer": "sgd",
}
NETWORKS: dict[str, Any] = {"projector_widths": (6, 4), "predictor_width": 5}


def task_of(task: Task, method: Any, **options: Any) -> Task:
    cls = find("objective", method.objective_name())
    given = {**NETWORKS, **options}
    own = {name: value for name, value in given.items() if name in cls.__dataclass_fields__}
    return replace(task, objective=cls(**own), augmentation=Augmentation(crop_scale=(0.5, 1.0)))


def distances(method: KeepsLocalModel, task: Task) -> list[list[float]]:
    """By round, how far each client's own model is from the one it receives, number by number."""
    server, memory = method.start(task, 0), method.new_memory(task)
    everyone = torch.arange(task.federation.n_clients)
    own: State = {}
    rows = []
    for t in range(method.rounds):
        apart = []
        for k in range(len(everyone) if own else 0):
            names = [*part(server, "encoder"), *part(server, "projector")]
            gaps = [server[n][0] - own[n][k] for n in names if not is_buffer(n)]
            apart.append(sum(float(gap.double().square().sum()) for gap in gaps) ** 0.5)
        rows.append(apart)
        download = method.broadcast(Round(task, t, everyone), server)
        upload = method.local_update(Round(task, t, everyone), download, memory)
        own = dict(upload.each["weights"])
        server = method.aggregate(Round(task, t, everyone), server, upload)
    return rows


def test_gamma_is_logged_as_the_scaled_distance_and_no_client_has_one_in_its_first_round(
    make_task: MakeTask,
) -> None:
    method = FedEMA(**OPTIONS)
    task = task_of(make_task((10, 7)), method)
    logged = loop.run(method, task).arrays["gamma"]
    apart = distances(method, task)
    assert logged.shape == (4, 2)
    assert np.isnan(logged[0]).all()
    assert logged[1] == pytest.approx([0.7, 0.7])
    for t in (2, 3):
        expected = [min(1, 0.7 * d / first) for d, first in zip(apart[t], apart[1], strict=True)]
        assert logged[t] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("threshold", "kept"), [(0.0, 1.0), (1e6, 0.0)])
def test_fedus_decision_is_logged(make_task: MakeTask, threshold: float, kept: float) -> None:
    method = FedU(**OPTIONS, divergence_threshold=threshold)
    logged = loop.run(method, task_of(make_task((10, 7)), method)).arrays["own_predictor"]
    assert np.isnan(logged[0]).all()
    assert (logged[1:] == kept).all()


@pytest.mark.parametrize("distance", ["norm", "layers", "convolutions"])
def test_fedema_can_measure_as_fedu_does(make_task: MakeTask, distance: Any) -> None:
    """γ is a ratio of distances, and these differ in which weights they are of."""
    method = FedEMA(**OPTIONS, distance=distance)
    task = task_of(make_task((10, 7)), method)
    other = FedEMA(**OPTIONS, distance="norm" if distance != "norm" else "layers")
    logged, others = (loop.run(one, task).arrays["gamma"] for one in (method, other))
    assert logged[1] == pytest.approx([0.7, 0.7])
    assert not np.allclose(logged[2], others[2])


def test_the_distance_of_convolutions_is_of_the_encoders_kernels_alone() -> None:
    """Two kernels, 3 and 5 away; norms, dense layers and the projector lie further off."""
    zero = {
        "encoder.conv0.weight": torch.zeros(1, 1, 1, 1, 1),
        "encoder.conv1.weight": torch.zeros(1, 1, 2, 1, 1),
        "encoder.conv0.bias": torch.zeros(1, 1),
        "encoder.dense.weight": torch.zeros(1, 1, 1),
        "projector.0.weight": torch.zeros(1, 1, 1),
    }
    other = {name: value + 100 for name, value in zero.items()}
    other["encoder.conv0.weight"] = torch.full((1, 1, 1, 1, 1), 3.0)
    other["encoder.conv1.weight"] = torch.tensor([3.0, 4.0]).view(1, 1, 2, 1, 1)
    assert mean_convolution_distance(zero, other).tolist() == [4.0]


@pytest.mark.parametrize("selects", [True, False])
def test_selected_pairs_are_those_whose_hard_labels_agree(
    make_task: MakeTask, selects: bool
) -> None:
    method = FedRLC(**OPTIONS)
    task = task_of(make_task((10, 7)), method, data_selection=selects)
    learner: Any = method.learner(task)
    state = learner.new(torch.Generator().manual_seed(0))
    memory = learner.memory(learner.new(torch.Generator().manual_seed(1)))
    agreed = seen = 0
    for k in range(3):
        x = [
            torch.rand(1, 5, 1, 6, 6, generator=torch.Generator().manual_seed(k + i))
            for i in (0, 9)
        ]
        centres = state[CENTRES][0]
        with torch.no_grad():
            p = [learner.embed(state, view, True)[0] for view in x]
            z = [one[0] for one in learner.targets(memory, x)]
        learner.loss(state, memory, x, None)
        for own, target in ((p[0], z[1]), (p[1], z[0])):
            for a, b in zip(own, target, strict=True):
                near = [(v - centres).square().sum(1).argmin().item() for v in (a, b)]
                agreed, seen = agreed + (near[0] == near[1]), seen + 1
    found = learner.counted(memory)[SELECTED]
    assert float(found) == pytest.approx(agreed / seen)
    assert 0 < agreed < seen
    assert learner.counted(memory)[SELECTED].isnan().all()


def test_fedrlc_logs_what_it_used_each_round_whether_targets_are_kept_or_not(
    make_task: MakeTask,
) -> None:
    for keeps in (True, False):
        method = FedRLC(**{**OPTIONS, "learning_rate": 0.05}, keeps_target=keeps)
        arrays = loop.run(method, task_of(make_task((10, 7)), method)).arrays
        assert np.isnan(arrays["epsilon"][0]).all()
        assert np.isfinite(arrays["epsilon"][1:]).all()
        assert arrays["epsilon"][1:].max() > 0.01
        assert ((arrays[SELECTED] >= 0) & (arrays[SELECTED] <= 1)).all()


def test_pools_are_empty_where_no_image_is_unlike_the_anchor(make_task: MakeTask) -> None:
    method = FedPNP(**OPTIONS)
    task = task_of(make_task((10, 7)), method, negative_threshold=0.9)
    learner: Any = method.learner(task)
    state = learner.new(torch.Generator().manual_seed(0))
    memory = learner.memory(state)
    x = [torch.rand(1, 5, 1, 6, 6, generator=torch.Generator().manual_seed(i)) for i in (0, 9)]
    *_, c_a, c_b = learner.both_heads(state, x)
    learner.options = replace(learner.options, negative_threshold=0.9995)
    learner.loss(state, memory, x, None)
    empty = 0
    for own, other in ((c_a, c_b), (c_b, c_a)):
        same, across = similarity(own, own)[0], similarity(own, other)[0]
        for i in range(5):
            others = [j for j in range(5) if j != i]
            empty += not any(max(same[i, j], across[i, j]) < 0.9995 for j in others)
    assert float(learner.counted(memory)[EMPTY]) == pytest.approx(empty / 10)


def test_with_a_threshold_of_zero_every_pool_is_empty_in_every_round(make_task: MakeTask) -> None:
    method = FedPNP(**OPTIONS)
    arrays = loop.run(method, task_of(make_task((10, 7)), method, negative_threshold=0.0)).arrays
    assert (arrays[EMPTY] == 1).all()
    above_all = task_of(make_task((10, 7)), method, negative_threshold=1.1)
    assert (loop.run(method, above_all).arrays[EMPTY] == 0).all()


@pytest.mark.parametrize("name", ["fedbyol", "fednc-c", "fednc-nc", "fedu", "fedema", "fedrlc"])
def test_a_fresh_target_is_a_copy_of_where_the_client_starts(
    make_task: MakeTask, name: str
) -> None:
    """With an update rate of 1 the target never moves: it shows what each round began with."""
    fresh, kept = (find("federated", name)(**OPTIONS, keeps_target=k) for k in (False, True))
    task = task_of(make_task((10, 7)), fresh, momentum=1.0)
    found = {}
    for method in (fresh, kept):
        server, memory = method.start(task, 0), method.new_memory(task)
        everyone, targets = torch.arange(2), []
        learner = method.learner(task)
        given = learner.update

        def watch(state: State, theirs: State, given: Any = given, to: Any = targets) -> None:
            given(state, theirs)
            to.append(take(theirs, [0]))

        learner.update = watch
        try:
            for t in range(2):
                download = method.broadcast(Round(task, t, everyone), server)
                upload = method.local_update(Round(task, t, everyone), download, memory)
                server = method.aggregate(Round(task, t, everyone), server, upload)
        finally:
            learner.update = given
        found[method.keeps_target] = (targets[0], targets[-1])
    weight = next(n for n in found[True][0] if n.startswith("encoder") and not is_buffer(n))
    assert torch.equal(found[True][0][weight], found[True][1][weight])
    assert not torch.equal(found[False][0][weight], found[False][1][weight])
