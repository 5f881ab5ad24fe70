import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.execution.run import execute
from fedrepro.benchmark.planning.estimate import (
    TrialTimes,
    _scaled,
    elapsed,
    images_of,
    kind_of,
    work_of,
)
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.store.store import Store, TrialRecord
from fedrepro.benchmark.training.training import device_name
from tests.benchmark.small_papers import Make


def record(config: RunConfig, wall_s: float, device: str = "here", seed: int = 0) -> TrialRecord:
    made = {"device": device, "wall_s": wall_s}
    return TrialRecord(config.key, config.as_dict(), seed, {}, {}, {}, made)


def test_stored_times_of_the_same_run_are_taken(tiny_config: Make) -> None:
    config = tiny_config()
    known = TrialTimes("here", [record(config, 40.0), record(config, 44.0, seed=1)])
    assert known.seconds(config) == 42.0


def test_where_nothing_is_measured_no_time_is_said(tiny_config: Make) -> None:
    config, other = tiny_config(), tiny_config({"clients": {"image_size": 12}})
    for known in (TrialTimes("here"), TrialTimes("here", [record(config, 40.0, "elsewhere")])):
        assert known.seconds(config) is known.longest(config) is None
        left = known.of([(config, 0), (config, 1), (other, 0)])
        assert left is not None
        (line,) = list(left.lines())
        assert line.startswith("time unknown of 3 trials of 2 kinds")
        assert "--measure" in line
        assert left.longest is None


def test_trials_of_a_kind_are_scaled_by_their_work(tiny_config: Make) -> None:
    past, config = tiny_config({"training": {"rounds": 3}}), tiny_config()
    known = TrialTimes("here", [record(past, 6.0)])
    rounds = config.options["rounds"]
    assert known.seconds(config) == pytest.approx(2.0 * rounds)
    assert known.longest(config) == pytest.approx(6.0 * max(1, rounds / 3))
    left = known.of([(config, 0), (config, 1)])
    assert left is not None
    assert left.seconds == pytest.approx(4.0 * rounds)
    assert "0 by stored trials of the same run, 2 by those of their kind" in next(left.lines())


@given(
    setup=st.floats(0.01, 100), each=st.floats(1e-3, 100), more=st.floats(1.5, 100),
    work=st.floats(0.01, 1e4),
)  # fmt: skip
def test_two_lengths_tell_the_set_up_from_the_rounds(
    setup: float, each: float, more: float, work: float
) -> None:
    measured = [(one, setup + each * one) for one in (1.0, more)]
    found, true = _scaled(measured, work), setup + each * work
    assert found == pytest.approx(true) if work >= 1 else work * (setup + each) <= found * 1.001


def test_work_counts_images_epochs_rounds_and_the_network(tiny_config: Make) -> None:
    config = tiny_config()

    def changed(**options: Any) -> float:
        other = dataclasses.replace(config, options={**config.options, **options})
        return work_of(other) / work_of(config)

    assert changed(rounds=7 * config.options["rounds"]) == pytest.approx(7)
    assert changed(local_epochs=2 * config.options["local_epochs"]) == pytest.approx(2)
    assert changed(participation=config.options["participation"] / 2) == pytest.approx(1 / 2)
    assert changed(label_share=0.01) == pytest.approx(1 / 100)
    assert changed(server_epochs=config.options["local_epochs"]) == pytest.approx(2)
    wide = dataclasses.replace(config, encoder={**config.encoder, "dim": 64})
    assert work_of(wide) > work_of(config)
    assert kind_of(wide) == kind_of(config)


@pytest.mark.parametrize(
    ("clients", "images"),
    [
        ({"partition": "iid", "count": 5}, 600),
        ({"partition": "quantity", "count": 5, "samples": 20}, 100),
        ({"partition": "counted", "count": 2, "counts": [[9, 1], [1, 9]]}, 20),
        ({"partition": "class-groups", "count": 3, "n_major": 2, "major": 20, "minor": 5}, 135),
    ],
    ids=lambda value: str(value.get("partition")) if isinstance(value, dict) else "",
)
def test_images_are_those_that_clients_are_dealt(
    tiny_config: Make, clients: dict[str, Any], images: int
) -> None:
    data = {**tiny_config().data, "name": "digits", "part": "train", "images": None}
    config = dataclasses.replace(tiny_config(), data=data, clients=clients)
    assert images_of(config) == images


def test_elapsed_is_bound_by_workers_and_by_the_longest_chain(tiny_config: Make) -> None:
    later = tiny_config({"pretraining": {"method": "simclr"}})
    assert later.init_from is not None
    other = tiny_config()
    assert elapsed([(other, 10.0)] * 4, 2) == 20.0
    assert elapsed([(later.init_from, 30.0), (later, 5.0), (other, 1.0)], 4) == 35.0


def test_short_trials_are_measured_of_unknown_kinds_after_their_starts(tiny_config: Make) -> None:
    long = tiny_config({"training": {"rounds": 50}, "pretraining": {"method": "simclr"}})
    assert long.init_from is not None
    runs = [long, long.init_from, tiny_config({"training": {"rounds": 80}})]
    trials = TrialTimes("here").to_measure(runs)
    assert {kind_of(run) for run, _ in trials} == {kind_of(run) for run in runs}
    assert {run.options["rounds"] for run, _ in trials if run.stage == "federated"} == {1, 3}
    begun = set[str]()
    for run, _ in trials:
        assert run.init_from is None or run.init_from.key in begun
        begun.add(run.key)
    measured = TrialTimes("here", [record(run, 1.0) for run, _ in trials])
    assert measured.to_measure(runs) == []
    assert all(measured.seconds(run) is not None for run in runs)


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["cpcfl", "fcl"])
def test_short_trials_tell_the_time_of_the_smoke_profile_within_a_factor_of_three(
    paper: str, tmp_path: Path
) -> None:
    plan, store, here = make_plan(load_paper(paper), "smoke"), Store(tmp_path), device_name("cpu")
    execute(plan, store, device="cpu", jobs=0, trials=TrialTimes(here).to_measure(plan.runs))
    known = TrialTimes(here, list(store.records()))
    before = {(one.run, one.seed) for one in store.records()}
    execute(plan, store, device="cpu", jobs=0)
    runs = {run.key: run for run in plan.runs}
    later = [one for one in store.records() if (one.run, one.seed) not in before]
    assert len(later) > 100
    said = [known.seconds(runs[one.run]) for one in later]
    assert None not in said
    ratio = sum(filter(None, said)) / sum(float(one.provenance["wall_s"]) for one in later)
    assert 1 / 3 < ratio < 3
