import dataclasses
import shlex
from pathlib import Path
from typing import get_args

import pytest

from fedrepro.benchmark.config import FULL_PRECISION, RunConfig, chain
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.judging.evidence import load_trials
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.planning.resolve import Resolver
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import AS_PUBLISHED
from fedrepro.benchmark.spec.settings import FIXED, PRECISION, merge
from fedrepro.benchmark.store.store import Store
from fedrepro.cli import main
from fedrepro.methods.nn.precision import PRECISIONS


def planned(*precision: str, profile: str = "smoke") -> Plan:
    sets = [(PRECISION, one) for one in precision]
    return make_plan(load_paper("cpcfl"), profile, tables=["3"], sets=sets)


def test_keys_of_float32_are_those_of_before_there_was_a_choice() -> None:
    for run in planned().runs:
        assert "precision" not in run.canonical
        assert RunConfig.from_dict(run.as_dict()).key == run.key
    assert planned("float32").runs == planned().runs


def test_other_precisions_have_keys_of_their_own_from_the_start_on() -> None:
    runs, others = planned().runs, planned("bf16").runs
    assert len(runs) == len(others)
    assert not {run.key for run in runs} & {run.key for run in others}
    assert len({run.key for run in (*others, *planned("tf32").runs)}) == 2 * len(runs)
    for run in others:
        assert {one.precision for one in chain(run)} == {"bf16"}
        assert RunConfig.from_dict(run.as_dict()) == run
        assert run.description.endswith(", in bf16")


def test_what_the_paper_does_not_state_is_no_departure() -> None:
    plan, usual = planned("bf16", profile="paper"), planned(profile="paper")
    assert [one.departures for one in plan.cells] == [one.departures for one in usual.cells]


def test_what_a_paper_states_is_departed_from() -> None:
    cell = load_paper("cpcfl").table("3").cells[0]
    stated = dataclasses.replace(
        cell, experiment=merge(cell.experiment, {"training": {"precision": "bf16"}})
    )
    profile = AS_PUBLISHED
    kept = Resolver(profile).resolve(stated, "accuracy")
    assert kept.config is not None
    assert kept.config.precision == "bf16"
    changed = Resolver(profile, sets={PRECISION: "float32"}).resolve(stated, "accuracy")
    assert [(one.setting, one.paper, one.here) for one in changed.departures] == [
        (PRECISION, "bf16", "float32")
    ]


def test_a_report_says_which_precision_and_how_to_run_it_again(tmp_path: Path) -> None:
    plan, store = planned("bf16"), Store(tmp_path)
    report = judge(plan, load_trials(plan, store), command="", wall_s=0)
    stated = {one.here for one in report.tables[0].unstated if one.setting == PRECISION}
    assert stated == {"bf16"}
    commands = {cell.command for table in report.tables for cell in table.cells if cell.command}
    assert commands
    for command in commands:
        words = shlex.split(command)
        assert words[words.index("--precision") + 1] == "bf16"
        assert "--set" not in words


def test_costs_are_counted_by_formula_in_whatever_precision() -> None:
    def counted(*precision: str) -> set[str]:
        sets = [(PRECISION, one) for one in precision]
        runs = make_plan(load_paper("mfcl"), "smoke", sets=sets).runs
        return {run.key for run in runs if run.stage == "costs"}

    assert counted()
    assert counted() == counted("bf16")


def test_specs_and_networks_know_the_same_precisions() -> None:
    assert get_args(FIXED[PRECISION]) == PRECISIONS
    assert PRECISIONS[0] == FULL_PRECISION
    with pytest.raises(SpecError, match=r"training\.precision.*must be 'float32', 'bf16'"):
        planned("fp8")


def test_tf32_is_refused_on_a_processor_before_anything_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "run cpcfl --profile smoke --tables 3 --jobs 0 --device cpu --precision tf32"
    status = main([*words.split(), "--store", str(tmp_path / "s"), "--out", str(tmp_path / "o")])
    said = capsys.readouterr().err
    assert status == 2
    assert "precision tf32 is one of NVIDIA's cards; the device is 'cpu'" in said
    assert not (tmp_path / "o").exists()
