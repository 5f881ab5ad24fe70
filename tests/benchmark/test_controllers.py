"""What the report says of controllers at their bounds, from trials made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedrepro.benchmark.judging.controllers import BOUNDS, at_bounds
from fedrepro.benchmark.judging.evidence import Evidence
from fedrepro.benchmark.planning.plan import PlannedCell
from fedrepro.benchmark.spec.model import Readout
from fedrepro.methods import registry
from fedrepro.methods.registry import names
from tests.benchmark.test_judge import Shelf, cell, config, judged, plan_of, table

NAN = float("nan")


def said(method, **arrays):
    """The sentences for a run of `method` whose two trials have these arrays each."""
    run = config(method)
    stored = {name: np.array(rows, dtype=float) for name, rows in arrays.items()}
    shelf = Shelf(arrays=stored).put(run, [[0.5, 0.5]] * 2)
    planned = PlannedCell(run, None, Readout(), (), cell=cell("A", "50.0"))
    return at_bounds(run, Evidence(plan_of([table([planned.cell])], [planned], trials=2), shelf))


def test_a_gamma_of_one_in_most_client_rounds_is_said_with_its_share():
    found = said("fedema", gamma=[[NAN, NAN], [1.0, 0.7], [1.0, 1.0]])
    assert "kept their own models" in found
    assert "75 %" in found


def test_first_rounds_and_halves_are_not_counted():
    assert said("fedema", gamma=[[NAN, NAN], [1.0, 0.7], [0.2, 1.0]]) == ""
    assert said("fedema", gamma=[[NAN, NAN]]) == ""


def test_nothing_is_said_of_trials_without_the_log_or_of_methods_without_a_controller():
    assert said("fedema") == ""
    assert said("fedavg", gamma=[[1.0, 1.0]]) == ""
    assert said("gone-since", gamma=[[1.0, 1.0]]) == ""


def test_a_decision_is_said_only_where_it_is_always_the_same():
    assert said("fedu", own_predictor=[[NAN, NAN], [1, 1], [1, 0]]) == ""
    assert "global predictor" in said("fedu", own_predictor=[[NAN, NAN], [0, 0]])


def test_no_selected_pair_and_empty_pools_are_said():
    found = said("fedrlc", gamma=[[0.5]], epsilon=[[0.1]], selected_pairs=[[0.0]])
    assert "no pair of views was selected" in found
    assert "every pool" in said("fedpnp", empty_pools=[[1.0, 1.0], [1.0, 0.3]])


def test_the_reason_of_a_cell_says_it_also_where_another_run_evaluates_the_weights():
    trained = config("fedema")
    run = replace(config("linear-probe", start=trained), stage="measurement")
    shelf = Shelf(arrays={"gamma": np.ones((2, 3))})
    shelf.put(trained, [[0.5]] * 3).put(run, [[0.7], [0.7], [0.7]])
    one = cell("A|B", "70.00")
    planned = PlannedCell(run, None, Readout(), (), cell=one)
    report = judged(plan_of([table([one])], [planned]), shelf)
    reason = report.tables[0].cells[0].verdict.reason
    assert "100 % of client-rounds" in reason


@pytest.mark.parametrize("method", names("federated"))
def test_every_controller_of_a_method_has_bounds(method):
    controllers = getattr(registry.find("federated", method), "controllers", ())
    assert set(controllers) <= BOUNDS.keys()
