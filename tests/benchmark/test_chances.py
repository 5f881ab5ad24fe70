"""What `plan` says before a run: how likely each judged cell is REPRODUCED at best."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fedrepro.benchmark.judging.chances import chances, lines
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Margin, Paper
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.stats.reach import chance_of_reproduced
from fedrepro.benchmark.store.store import Store
from fedrepro.cli import main
from fedrepro.methods.outcome import Curve, Outcome

MakePaper = Callable[..., Paper]


def test_printed_spreads_give_chances_before_anything_is_trained(tmp_path: Path) -> None:
    plan = make_plan(load_paper("cpcfl"), "paper", tables=["3", "11"])
    found = {(one.cell.table, one.cell.label): one for one in chances(plan, Store(tmp_path))}
    assert len(found) == 28 + 30
    own = found["11", "CP-CFL|SimCLR @ Mean ± SD"]
    assert (own.sd_from, own.never) == ("printed", False)
    assert own.chance is not None
    assert own.chance > 0.99
    assert found["11", "FedAvg|SimCLR @ Trial 2"].never
    lent = found["3", "CP-CFL|SimCLR @ T = 100"]
    assert lent.sd_from == "borrowed"
    assert lent.chance is not None
    assert lent.limit is not None
    assert 0.5 < lent.chance < lent.limit < 1
    assert found["3", "CP-CFL|SimCLR @ T = 25"].chance is None


def test_lines_are_one_a_table_and_one_for_what_is_open(tmp_path: Path) -> None:
    plan = make_plan(load_paper("cpcfl"), "paper", tables=["3", "8", "9"])
    head, *shown = lines(chances(plan, Store(tmp_path)))
    assert "chance of REPRODUCED with 5 trials" in head
    assert [line.split(":")[0].strip() for line in shown[:2]] == ["3", "9"]
    assert "none with any number of trials: 'FedAvg|SimCLR @ T = 100'" in shown[0]
    assert shown[2].endswith("needs trials")
    assert len(shown) == 3


def test_a_scaled_run_judges_no_cell_and_says_so(tmp_path: Path) -> None:
    plan = make_plan(load_paper("cpcfl"), "reduced", tables=["3"])
    found = chances(plan, Store(tmp_path))
    assert found == ()
    assert next(lines(found)).startswith("no cell is held against its print here")


def test_the_plan_as_json_has_every_judged_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["plan", "fcl", "--profile", "paper", "--tables", "1", "--store", str(tmp_path)]
    main([*command, "--json"])
    plain = json.loads(capsys.readouterr().out)
    assert plain["judged"]
    assert {one["chance"] for one in plain["judged"]} == {None}
    assert {one["table"] for one in plain["judged"]} == {"1"}


def test_stored_trials_say_how_far_ours_spread(tiny_paper: MakePaper, store: Store) -> None:
    paper = tiny_paper({"a": {}}, trials=5)
    table = replace(paper.tables[0], margin=Margin(4.0, "why"))
    plan = make_plan(replace(paper, tables=(table,)), "smoke")
    (before,) = chances(plan, store)
    assert (before.sd, before.chance, before.limit) == (None, None, None)
    with store.writing():
        for seed, value in enumerate((0.49, 0.50, 0.53)):
            run = Outcome(metrics={"accuracy": Curve((1, 2), (0.1, value))})
            store.save(plan.runs[0], seed, run, {"device": "d", "wall_s": 1.0})
    (found,) = chances(plan, store)
    assert found.sd_from == "stored trials"
    assert found.sd == pytest.approx(statistics.stdev((49, 50, 53)))
    expected = chance_of_reproduced(4.0, 0.005, 5, found.sd or 0, None)
    assert found.chance == pytest.approx(expected)
    assert found.as_plain()["row"] == ("a",)


def test_a_report_says_that_a_spread_is_borrowed_and_else_how_the_word_hangs_on_it(
    tiny_paper: MakePaper, store: Store
) -> None:
    paper = tiny_paper({"single": {}, "mean": {}}, trials=3)
    single, mean = paper.tables[0].cells
    lending = replace(mean, printed=Printed.parse("50.00 ± 1.00"))
    table = replace(paper.tables[0], cells=(single, lending), margin=Margin(9.0, "why"), sd_runs=5)
    alone = replace(paper.tables[0], cells=(single,), margin=Margin(9.0, "why"))
    plan, other = (make_plan(replace(paper, tables=(one,)), "smoke") for one in (table, alone))
    with store.writing():
        for seed, value in enumerate((0.49, 0.50, 0.51)):
            run = Outcome(metrics={"accuracy": Curve((1, 2), (0.1, value))})
            store.save(plan.runs[0], seed, run, {"device": "d", "wall_s": 1.0})
    (lent, own), (without,) = (
        judge(one, store, command="c").tables[0].cells for one in (plan, other)
    )
    assert "Table 1 prints ± 1.00 for the same experiment" in lent.verdict.reason
    assert (lent.verdict.if_noisier, own.verdict.if_noisier) == ((), ())
    assert "borrow" not in own.verdict.reason
    assert without.verdict.word == "REPRODUCED"
    assert "as long as the paper's spread" in without.verdict.reason
    assert without.verdict.stands_to is not None
    assert without.verdict.stands_to > 1
    assert [ratio for ratio, _ in without.verdict.if_noisier] == [1.5, 2.0, 3.0]
