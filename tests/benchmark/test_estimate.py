from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.planning.estimate import TrialTimeEstimator
from fedrepro.benchmark.planning.summary import elapsed
from fedrepro.benchmark.store.record import TrialRecord

Make = Callable[..., RunConfig]


def record(config: RunConfig, wall_s: float, device: str = "here") -> TrialRecord:
    made = {"device": device, "wall_s": wall_s}
    return TrialRecord(config.key, config.as_dict(), 0, {}, {}, {}, made)


def test_longer_runs_are_estimated_longer(tiny_config: Make) -> None:
    known = TrialTimeEstimator("cpu", "here")
    short = known.seconds(tiny_config())
    long = known.seconds(tiny_config({"training": {"rounds": 2000}}))
    assert 0 < short < long


def test_stored_times_of_the_same_run_are_taken(tiny_config: Make) -> None:
    config = tiny_config()
    known = TrialTimeEstimator("cpu", "here", [record(config, 40.0), record(config, 44.0)])
    assert known.seconds(config) == 42.0
    assert (known.has_learned(config), known.source(config)) == (True, "stored")


def test_times_of_like_runs_correct_and_those_of_other_devices_do_not(tiny_config: Make) -> None:
    past, config = tiny_config({"training": {"rounds": 3}}), tiny_config()
    plain = TrialTimeEstimator("cpu", "here")
    factor = 7.0
    walls = [record(past, factor * plain.seconds(past))]
    known = TrialTimeEstimator("cpu", "here", walls)
    assert known.seconds(config) == pytest.approx(factor * plain.seconds(config))
    other = TrialTimeEstimator("cpu", "elsewhere", walls)
    assert (known.source(config), other.source(config)) == ("learned", "calibrated")


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


@pytest.mark.parametrize("config", [{}, {"stage": "federated"}, {"start": 3}], ids=str)
def test_a_record_of_a_config_that_nobody_can_build_ends_no_estimate(
    tiny_config: Make, config: dict[str, Any]
) -> None:
    wanted = tiny_config()
    stranger = dataclasses.replace(record(wanted, 8.0), run="0" * 16, config=config)
    known = TrialTimeEstimator("cpu", "here", [stranger])
    assert known.seconds(wanted) == TrialTimeEstimator("cpu", "here").seconds(wanted)
