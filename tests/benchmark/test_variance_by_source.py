"""The spread of a cell by source of randomness: runs, statistics, and the command."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.judging.variance_by_source import (
    joined,
    redrawn,
    sources_of,
    variance_by_source,
    varied,
)
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.stats.variance import ratio_interval, sd_interval, summed_df
from fedrepro.cli import main
from fedrepro.methods.seeds import SOURCES
from fedrepro.reports.variance import FILES, NAMES
from tests.benchmark.test_judge import Shelf

Make = Callable[..., RunConfig]
SIMCLR = {"pretraining": {"method": "simclr"}}


def test_intervals_are_those_of_chi_square_and_f() -> None:
    low, high = sd_interval(2.0, 9)
    assert low == pytest.approx(2.0 * math.sqrt(9 / stats.chi2.ppf(0.975, 9)))
    assert high == pytest.approx(2.0 * math.sqrt(9 / stats.chi2.ppf(0.025, 9)))
    low, high = ratio_interval(0.5, 4, 9)
    assert low == pytest.approx(0.5 / stats.f.ppf(0.975, 4, 9))
    assert high == pytest.approx(0.5 / stats.f.ppf(0.025, 4, 9))


def test_intervals_cover_normal_trials() -> None:
    rng = np.random.default_rng(1)
    one, all_of = rng.normal(0, 1.5, (1000, 10)), rng.normal(0, 3.0, (1000, 10))
    sd, whole = one.std(axis=1, ddof=1), all_of.std(axis=1, ddof=1)
    sds = np.array([sd_interval(value, 9) for value in sd])
    ratios = np.array([ratio_interval(value, 9, 9) for value in sd**2 / whole**2])
    for found, true in ((sds, 1.5), (ratios, 0.25)):
        held = ((found[:, 0] <= true) & (true <= found[:, 1])).mean()
        assert held == pytest.approx(0.95, abs=0.02)


def test_degrees_of_freedom_of_a_sum() -> None:
    assert summed_df([2.0, 2.0, 2.0], [9, 9, 9]) == pytest.approx(27)
    assert summed_df([5.0, 0.0], [9, 9]) == pytest.approx(9)


def test_other_sources_are_held_at_trial_0_of_the_encoder(tiny_config: Make) -> None:
    config = tiny_config(SIMCLR)
    partition, encoder = redrawn(config, "partition"), redrawn(config, "pretraining")
    assert (partition.start, partition.start_trial) == (config.start, 0)
    assert (encoder.start, encoder.start_trial) == (config.start, None)
    shared = replace(config, start_trial=0)
    assert redrawn(shared, "pretraining") == encoder


def test_what_is_evaluated_is_trained_with_the_same_source_anew(tiny_config: Make) -> None:
    trained = tiny_config(SIMCLR)
    probe = replace(tiny_config(), stage="measurement", method="linear-probe", start=trained)
    weights, encoder = redrawn(probe, "weights"), redrawn(probe, "pretraining")
    assert weights.start == redrawn(trained, "weights")
    assert encoder.start == redrawn(trained, "pretraining")
    assert (weights.start_trial, encoder.start_trial) == (None, None)
    assert len({one.key for one in (probe, weights, encoder)}) == 3


def shelf_of(values: Mapping[RunConfig, list[float]]) -> Shelf:
    shelf = Shelf()
    for config, trials in values.items():
        shelf.put(config, [[0.0, one] for one in trials])
    return shelf


def test_variances_and_shares_are_those_of_the_trials(tiny_paper: Callable[..., object]) -> None:
    plan = make_plan(tiny_paper({"a": {}}, trials=4), "smoke")
    planned = plan.cells[0]
    config = planned.config
    by_source = {
        "partition": [0.50, 0.60, 0.40, 0.55],
        "weights": [0.50, 0.52, 0.51, 0.49],
        "batches": [0.50, 0.50, 0.50, 0.50],
    }
    whole = [0.50, 0.70, 0.35, 0.60]
    runs = {redrawn(config, name): trials for name, trials in by_source.items()}
    store = shelf_of({config: whole, **runs})
    plans = {name: varied(plan, planned, name) for name in by_source}
    found = variance_by_source(plan, planned, plans, store)
    total = np.var(whole, ddof=1)
    assert found.everything.sd == pytest.approx(100 * math.sqrt(total))
    for one in found.sources:
        own = np.var(by_source[one.source], ddof=1)
        assert one.sd == pytest.approx(100 * math.sqrt(own))
        assert one.share == pytest.approx(own / total)
    expected = sum(np.var(trials, ddof=1) for trials in by_source.values()) / total
    assert found.together == pytest.approx(expected)
    assert "speaks against" in found.says


def test_sources_that_do_not_add_up_are_said(tiny_paper: Callable[..., object]) -> None:
    plan = make_plan(tiny_paper({"a": {}}, trials=30), "smoke")
    planned = plan.cells[0]
    rng = np.random.default_rng(0)
    spread = {"partition": 0.08, "weights": 0.08}
    for whole, word in ((0.02, "more"), (0.5, "less")):
        runs = {redrawn(planned.config, n): list(rng.normal(0.5, s, 30)) for n, s in spread.items()}
        store = shelf_of({planned.config: list(rng.normal(0.5, whole, 30)), **runs})
        plans = {name: varied(plan, planned, name) for name in spread}
        assert f"{word} than the whole" in variance_by_source(plan, planned, plans, store).says


def test_missing_trials_give_no_number(tiny_paper: Callable[..., object]) -> None:
    plan = make_plan(tiny_paper({"a": {}}, trials=3), "smoke")
    planned = plan.cells[0]
    plans = {"partition": varied(plan, planned, "partition")}
    found = variance_by_source(plan, planned, plans, shelf_of({planned.config: [0.1, 0.2, 0.3]}))
    (partition,) = found.sources
    assert (partition.sd, partition.share, found.together) == (None, None, None)
    assert found.everything.sd is not None


def test_all_runs_are_trained_in_one_go(tiny_paper: Callable[..., object]) -> None:
    plan = make_plan(tiny_paper({"a": SIMCLR}, trials=3), "smoke")
    planned = plan.cells[0]
    plans = {name: varied(plan, planned, name) for name in ("pretraining", "partition")}
    trials = joined(plans, plan).trials_to_run()
    assert len(trials) == 9  # three encoders, and three trials for each of two sources
    assert not {(planned.config, seed) for seed in range(3)} & set(trials)


def test_sources_are_those_that_trial_0_drew_from(tiny_paper: Callable[..., object]) -> None:
    plan = make_plan(tiny_paper({"a": SIMCLR}, trials=2), "smoke")
    planned = plan.cells[0]
    store = shelf_of({planned.config: [0.5, 0.6]})
    record = store.records[planned.config, 0]
    drawn = {**record.provenance, "drawn": ["weights", "partition"]}
    store.records[planned.config, 0] = replace(record, provenance=drawn)
    assert sources_of(plan, planned, store) == ["pretraining", "partition", "weights"]


def test_every_source_has_a_name_for_readers() -> None:
    assert set(NAMES) == {"everything", "pretraining", *SOURCES}


def variance(store: Path, *words: str) -> int:
    cell = ["--cell", "3", "FedAvg|None", "T = 25"]
    place = ["--store", str(store), "--jobs", "0", "--profile", "smoke"]
    return main(["variance", "cpcfl", *cell, "--draws", "2", *place, *words])


def test_the_command_trains_once_and_writes_three_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, out = tmp_path / "store", tmp_path / "out"
    assert variance(store, "--out", str(out)) == 0
    shown = capsys.readouterr().out
    assert shown == (out / "variance.md").read_text()
    assert {file.name for file in out.iterdir()} >= set(FILES)
    records = sorted(store.rglob("*-seed*.json"))
    assert variance(store, "--json") == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain == json.loads((out / "variance.json").read_text())
    assert sorted(store.rglob("*-seed*.json")) == records
    with (out / "variance.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [one["source"] for one in lines][-1] == "everything"
    assert [one["sd"] for one in lines] == [
        str(one["sd"]) for one in (*plain["sources"], plain["everything"])
    ]
    first = {one["trials"][0] for one in (*plain["sources"], plain["everything"])}
    assert len(first) == 1  # trial 0 is that of all runs


def test_an_unknown_row_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = ["--cell", "9", "7", "Accuracy", "--store", str(tmp_path)]
    assert main(["variance", "cpcfl", *cell]) == 2
    assert "--cell: no row '7'" in capsys.readouterr().err


def test_a_cell_without_trials_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for table, row, column in (
        ("3", "ResNet-18|MFCL", "α (bits)"),
        ("3", "ResNet-18|MFCL", "FL rounds"),
    ):
        cell = ["--cell", table, row, column, "--store", str(tmp_path)]
        assert main(["variance", "mfcl", *cell]) == 3
        assert capsys.readouterr().out.startswith("NOT RUN: ")
    assert list(tmp_path.iterdir()) == []
