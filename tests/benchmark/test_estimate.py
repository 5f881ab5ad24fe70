from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.planning import estimate
from fedrepro.benchmark.planning.estimate import TrialTimeEstimator, multiply_adds, work_of
from fedrepro.benchmark.planning.summary import elapsed
from fedrepro.benchmark.store.record import TrialRecord
from fedrepro.methods.encoders.cnn import CNN

Make = Callable[..., RunConfig]


def record(config: RunConfig, wall_s: float, device: str = "here") -> TrialRecord:
    made = {"device": device, "wall_s": wall_s}
    return TrialRecord(config.key, config.as_dict(), 0, {}, {}, {}, made)


def test_multiply_adds_of_the_papers_network() -> None:
    # CP-CFL, Table E.22: 0.17 G flops forward, two flops a multiply-add.
    assert multiply_adds(CNN().build(3, 96), 3, 96) == pytest.approx(82.28e6, rel=1e-3)


def test_work_counts_images_through_the_encoder(tiny_config: Make) -> None:
    # Three clients with 50 training and 10 test images each, two rounds of one epoch.
    work = work_of(tiny_config())
    assert (work.trained, work.forward) == (2 * 150, 2 * (150 + 30))
    assert work.passes == 2 * (150 + 30) + 3 * 2 * 150


def test_work_of_pretraining_counts_views_and_epochs(tiny_config: Make) -> None:
    start = tiny_config({"pretraining": {"method": "simclr", "epochs": 5}}).start
    assert start is not None
    assert work_of(start).trained == 5 * 2 * 32


def test_frozen_epochs_are_not_trained(tiny_config: Make) -> None:
    change: dict[str, Any] = {"method": "cpcfl", "training": {"encoder_epochs": 0}}
    assert work_of(tiny_config(change)).trained == 0


def test_longer_runs_are_estimated_longer(tiny_config: Make) -> None:
    known = TrialTimeEstimator("cpu", "here")
    short = known.seconds(tiny_config())
    long = known.seconds(tiny_config({"training": {"rounds": 2000}}))
    assert 0 < short < long


def test_stored_times_of_the_same_run_are_taken(tiny_config: Make) -> None:
    config = tiny_config()
    known = TrialTimeEstimator("cpu", "here", [record(config, 40.0), record(config, 44.0)])
    assert known.seconds(config) == 42.0
    assert known.has_learned(config)


def test_times_of_like_runs_correct_and_those_of_other_devices_do_not(tiny_config: Make) -> None:
    past, config = tiny_config({"training": {"rounds": 3}}), tiny_config()
    plain = TrialTimeEstimator("cpu", "here")
    factor = 7.0
    walls = [record(past, factor * plain.seconds(past))]
    known = TrialTimeEstimator("cpu", "here", walls)
    known._image_s = dict(plain._image_s)
    assert known.seconds(config) == pytest.approx(factor * plain.seconds(config))
    other = TrialTimeEstimator("cpu", "elsewhere", walls)
    assert not other.has_learned(config)


def test_times_of_much_smaller_runs_teach_nothing(tiny_config: Make) -> None:
    config = tiny_config({"training": {"rounds": 10**6}})
    assert not TrialTimeEstimator("cpu", "here", [record(tiny_config(), 5.0)]).has_learned(config)


def test_elapsed_is_bound_by_workers_and_by_the_longest_chain(tiny_config: Make) -> None:
    later = tiny_config({"pretraining": {"method": "simclr"}})
    assert later.start is not None
    other = tiny_config()
    assert elapsed([(other, 10.0)] * 4, 2) == 20.0
    assert elapsed([(later.start, 30.0), (later, 5.0), (other, 1.0)], 4) == 35.0


def test_records_of_a_config_that_has_changed_its_shape_are_learned_from(tiny_config: Make) -> None:
    """A store that an older version wrote holds keys that its configs no longer have."""
    config = tiny_config()
    older = dataclasses.replace(record(config, 8.0), run="0" * 16)
    known = TrialTimeEstimator("cpu", "here", [older])
    assert known.seconds(config) == pytest.approx(8.0)


def test_memory_that_runs_out_leaves_an_estimate(
    tiny_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*size: int, **options: Any) -> Any:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1")

    config = tiny_config({"training": {"rounds": 2000}})
    usual = TrialTimeEstimator("cpu", "here").seconds(config)
    monkeypatch.setattr("torch.rand", full)
    # Within what processors differ by, and a loaded machine.
    assert usual / 1000 < TrialTimeEstimator("cpu", "here").seconds(config) < usual * 1000


def test_data_that_memory_cannot_hold_leave_the_work_estimated(
    tiny_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*name: str, **options: Any) -> Any:
        raise MemoryError

    start = tiny_config({"pretraining": {"method": "simclr", "epochs": 5}}).start
    assert start is not None
    start = dataclasses.replace(start, data={**start.data, "images": None})
    monkeypatch.setattr("fedrepro.benchmark.data.load", full)
    assert work_of(start).trained == 5 * 2 * 50_000


@pytest.mark.parametrize(("long_s", "steps"), [(0.0, 1), (1e9, 2)])
def test_a_long_step_is_timed_once(
    tiny_config: Make, monkeypatch: pytest.MonkeyPatch, long_s: float, steps: int
) -> None:
    made, trained = estimate._encoder, list[bool]()

    def watched(config: RunConfig) -> Any:
        encoder, channels, size = made(config)

        class Watched:
            new = encoder.new

            def __call__(self, state: Any, x: Any, training: bool = False) -> Any:
                trained.append(training)
                return encoder(state, x, training=training)

        return Watched(), channels, size

    monkeypatch.setattr(estimate, "_encoder", watched)
    monkeypatch.setattr(estimate, "_LONG_STEP_S", long_s)
    assert TrialTimeEstimator("cpu", "here").seconds(tiny_config()) > 0
    assert sum(trained) == steps
