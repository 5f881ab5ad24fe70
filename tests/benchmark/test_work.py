"""What a trial computes, counted by hand and by torch, and what it grows with."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from fedrepro.benchmark import data
from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.execution.here import here
from fedrepro.benchmark.planning import facts as facts_module
from fedrepro.benchmark.planning import kept
from fedrepro.benchmark.planning.calibration import USUAL
from fedrepro.benchmark.planning.facts import Facts
from fedrepro.benchmark.planning.memory import memory_of
from fedrepro.benchmark.planning.sizes import images_of
from fedrepro.benchmark.planning.work import Work, step_bytes, steps_of, work_of
from fedrepro.benchmark.processor import processor
from fedrepro.benchmark.training.training import device_name
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.training import probing
from fedrepro.methods.training.steps import equal_chunks, fitting

Make = Callable[..., RunConfig]


def changed(config: RunConfig, part: str, **values: Any) -> RunConfig:
    """`config` with other values in one of its mappings."""
    return dataclasses.replace(config, **{part: {**getattr(config, part), **values}})


def test_multiply_adds_of_a_plain_network_are_those_counted_by_hand(tiny_config: Make) -> None:
    # CP-CFL, Section 4.1: 3x3 convolutions of stride 2 on 96x96, then 5*5*256 numbers to 256.
    config = tiny_config()
    encoder = {"name": "cnn", "widths": [64, 128, 192, 256], "dim": 256, "stride": 2, "padding": 0}
    config = dataclasses.replace(config, encoder=encoder)
    config = changed(config, "data", channels=3, image_size=96)
    layers = [(3, 64, 47), (64, 128, 23), (128, 192, 11), (192, 256, 5)]
    by_hand = sum(9 * i * o * side**2 for i, o, side in layers) + 5 * 5 * 256 * 256
    assert Facts().network(config).multiply_adds == by_hand == 82_280_128


def test_multiply_adds_of_a_residual_network_are_those_that_torch_counts() -> None:
    network = ResNet(depth=18, stem="cifar", width=8).build(3, 32)
    with FlopCounterMode(display=False) as counter:
        network(network.new(torch.Generator()), torch.zeros(1, 1, 3, 32, 32))
    encoder = {"name": "resnet", "depth": 18, "stem": "cifar", "width": 8}
    counted = facts_module._network(encoder, 3, 32)
    assert 2 * counted.multiply_adds == counter.get_total_flops()
    assert counted.batch_statistics


def test_fedavg_passes_each_image_as_often_as_its_epochs_say(tiny_config: Make) -> None:
    # Three clients with 50 training images, two rounds of one epoch, each image forward and back;
    # after each round the 30 test images forward. The network is tried on a few images, too.
    config, facts = tiny_config(), Facts()
    each = facts.network(config).multiply_adds
    assert facts.dealt(config).train == [50, 50, 50]
    work = work_of(config, facts)
    assert work.multiply_adds / each == pytest.approx(2 * 150 * 3 + 2 * 30, rel=0.1)


def test_pretraining_passes_views_of_each_image_in_each_epoch(tiny_config: Make) -> None:
    start = tiny_config({"pretraining": {"method": "simclr", "epochs": 5}}).start
    assert start is not None
    facts = Facts()
    work = work_of(start, facts)
    each = facts.network(start).multiply_adds
    assert work.multiply_adds / each == pytest.approx(5 * 2 * 32 * 3, rel=0.02)


def test_an_encoder_that_is_not_trained_has_no_backward_pass(tiny_config: Make) -> None:
    options = {"head_rounds": 0, "encoder_epochs": 0}
    frozen = work_of(tiny_config({"method": "cpcfl", "training": options}), Facts())
    trained = work_of(
        tiny_config({"method": "cpcfl", "training": {**options, "encoder_epochs": 1}}), Facts()
    )
    assert frozen.multiply_adds < trained.multiply_adds
    assert frozen.stacked_bytes < trained.stacked_bytes


@pytest.mark.parametrize(
    ("part", "name", "values"),
    [
        ("options", "rounds", (2, 4, 50)),
        ("options", "local_epochs", (1, 2, 9)),
        ("data", "image_size", (8, 12, 32)),
        ("encoder", "dim", (8, 64, 256)),
    ],
)
def test_an_estimate_grows(
    tiny_config: Make, part: str, name: str, values: tuple[int, ...]
) -> None:
    each = [
        USUAL.seconds(work_of(changed(tiny_config(), part, **{name: value}), Facts()))
        for value in values
    ]
    assert each == sorted(each)
    assert each[0] < each[-1]


def test_an_estimate_grows_with_the_clients(tiny_config: Make) -> None:
    groups: Mapping[str, Any] = tiny_config().clients or {}
    each = [
        USUAL.seconds(work_of(changed(tiny_config(), "clients", count=count), Facts()))
        for count in (groups["count"], 3 * groups["count"])
    ]
    assert each[0] < each[1]


@given(
    sizes=st.lists(st.integers(1, 200), min_size=1, max_size=20),
    batch_size=st.integers(1, 64),
    client_bytes=st.integers(1 << 16, 1 << 26),
)
def test_steps_are_shared_as_the_engine_shares_them(
    sizes: list[int], batch_size: int, client_bytes: int
) -> None:
    at_once = fitting(torch.device("cpu"), client_bytes)
    chunks = equal_chunks(sizes, at_once)
    found = steps_of(sizes, batch_size, client_bytes, True, "cpu")
    assert found.in_turn == sum(-(-sizes[chunk[0]] // batch_size) for chunk in chunks)
    assert found.of_clients == sum(-(-size // batch_size) for size in sizes)
    assert step_bytes("cpu") == probing.step_bytes(torch.device("cpu"))


def test_absent_data_have_the_size_of_their_release(tiny_config: Make, tmp_path: Path) -> None:
    stl = {"name": "stl10", "part": "unlabeled", "test_part": None, "images": None}
    assert Facts(tmp_path).images(stl, "part") == 100_000
    unknown = {**stl, "name": "nobodys-set"}
    assert Facts(tmp_path).images(unknown, "part") == facts_module.UNKNOWN_IMAGES


@pytest.mark.parametrize("name", ["digits", "fashion-excerpt", "photo-patches"])
def test_sizes_are_those_of_the_sets_at_hand(name: str) -> None:
    for part in data.PARTS:
        known = images_of(name, part)
        if known is not None:
            assert len(data.load(name, part).portion) == known


def test_every_set_that_is_registered_states_its_size() -> None:
    assert all(images_of(name, "train") or images_of(name, "unlabeled") for name in data.names())


def test_memory_has_the_data_and_the_weights_of_the_clients(tiny_config: Make) -> None:
    few = memory_of(tiny_config(), Facts())
    more = memory_of(changed(tiny_config(), "data", image_size=32), Facts())
    assert few.data < more.data
    assert few.total == few.process + few.data + few.weights + few.step


def test_counts_that_were_damaged_are_made_anew(tiny_config: Make) -> None:
    before = Facts().network(tiny_config())
    name = f"counted-{facts_module._stamp()[:12]}.json"
    (kept.folder() / name).write_text('{"stamp"')
    assert Facts().network(tiny_config()) == before
    held = kept.read(name)
    held["counts"] = {name: {"unknown": 1} for name in held["counts"]}
    kept.write(name, held)
    assert Facts().network(tiny_config()) == before


def test_a_second_estimate_needs_no_torch(tiny_config: Make) -> None:
    config = tiny_config()
    expected = USUAL.seconds(work_of(config, Facts()))
    code = (
        "import json, sys\n"
        "from fedrepro.benchmark.config import RunConfig\n"
        "from fedrepro.benchmark.planning.estimate import TrialTimeEstimator\n"
        "from fedrepro.benchmark.execution.here import here\n"
        "place = here('cpu', None)\n"
        "config = RunConfig.from_dict(json.loads(sys.argv[1]))\n"
        "print(TrialTimeEstimator(place.device, place.name).seconds(config))\n"
        "assert 'torch' not in sys.modules\n"
    )
    command = [sys.executable, "-c", code, json.dumps(config.as_dict())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(expected, abs=0.1)


def test_the_device_is_named_as_trials_name_it() -> None:
    assert processor() == device_name("cpu")
    assert here("cpu", 3).slots == 3


def test_work_adds_up() -> None:
    assert Work(operators=1, bytes=2) + Work(bytes=3, weights=4) == Work(1, 0, 0, 5, 0, 4)
