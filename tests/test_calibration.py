"""Files of calibrations name what there is, and the profile is what was chosen."""

import json

import pytest

import fedrepro
from fedrepro.benchmark.spec.load import load_paper
from tools.calibrate import FOLDER, candidates
from tools.found import PAPERS, calibration, conditioned, place


@pytest.mark.parametrize("paper", PAPERS)
def test_the_profile_is_the_chosen_candidate_and_conditions_name_cells(paper: str) -> None:
    rule, spec = calibration(paper), load_paper(paper)
    chosen = json.loads((FOLDER / f"{paper}.json").read_text("utf-8"))["chosen"]
    data, _, size = chosen.partition(", ")
    assert rule["sizes"][size] == {}
    assert spec.profiles["reduced"].data == data
    cells = {place(one.id, cell) for one in spec.tables for cell in one.cells}
    assert conditioned(rule).keys() <= cells


@pytest.mark.parametrize("paper", ["cpcfl", "calibre", "fedrlc"])
def test_a_size_that_is_named_by_its_rounds_has_them(paper: str) -> None:
    rule = calibration(paper)
    for one in candidates(paper, rule | {"data": rule["data"][:1]}):
        runs = fedrepro.plan(one.paper, "reduced", on=one.data).runs
        assert one.size == f"{max(run.options.get('rounds', 0) for run in runs)} rounds"
