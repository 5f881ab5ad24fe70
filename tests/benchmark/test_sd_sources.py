import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedrepro.benchmark.judging import published_value
from fedrepro.benchmark.judging.verdicts import JudgedCell, judge_table
from fedrepro.benchmark.spec.folders import tables_root
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Paper, Sd, Table
from fedrepro.benchmark.spec.problems import InvalidSpecError
from fedrepro.benchmark.spec.readings import under
from fedrepro.benchmark.stats.spread import Spread
from fedrepro.cli import main


@pytest.fixture(scope="module")
def cpcfl() -> Paper:
    return load_paper("cpcfl")


def lent(paper: Paper, table: Table) -> dict[str, str]:
    """Labels of the cells that borrow, with `table: what it prints`."""
    return {
        table.by_place[key[1:]].label: f"{cell.table}: {cell.printed}"
        for key, cell in published_value.sd_sources(paper, table).items()
    }


def test_the_last_round_of_table_3_borrows_from_table_11_and_no_other_does(cpcfl: Paper) -> None:
    assert lent(cpcfl, cpcfl.table("3")) == {
        "FedAvg|None @ T = 100": "11: 42.73 ± 0.69",
        "FedAvg|SimCLR @ T = 100": "11: 55.98 ± 1.97",
        "IFCA|None @ T = 100": "11: 65.79 ± 0.74",
        "IFCA|FedAvg @ T = 100": "11: 68.61 ± 1.14",
        "CP-CFL|SimCLR @ T = 100": "11: 76.69 ± 0.47",
    }


def test_each_metric_of_table_4_borrows_from_the_table_of_that_metric(cpcfl: Paper) -> None:
    found = lent(cpcfl, cpcfl.table("4"))
    assert len(found) == 30
    assert found["CP-CFL|SimCLR @ F1 score|Macro"] == "B.14: 0.7664 ± 0.0057"
    assert found["CP-CFL|SimCLR @ AUROC|OvO Weighted"] == "B.19: 0.9751 ± 0.0005"


def test_a_table_that_names_no_other_one_borrows_nothing(cpcfl: Paper) -> None:
    assert published_value.sd_sources(cpcfl, cpcfl.table("8")) == {}
    alone = replace(cpcfl.table("3"), sd=Sd(0, None))
    paper = replace(cpcfl, tables=tuple(alone if t.id == "3" else t for t in cpcfl.tables))
    assert published_value.sd_sources(paper, alone) == {}


def test_another_reading_changes_nothing_of_what_is_published(cpcfl: Paper) -> None:
    choice = next(one for one in cpcfl.unstated if one.alternatives)
    other = under(cpcfl, [choice.alternatives[0].name])
    assert lent(other, other.table("3")) == lent(cpcfl, cpcfl.table("3"))


def test_a_borrowed_spread_is_that_of_one_run_and_says_where_it_is_from(cpcfl: Paper) -> None:
    sides = published_value.published_values_of(cpcfl, cpcfl.table("3"))
    side = sides["3", ("CP-CFL", "SimCLR"), ("T = 100",)]
    assert side.spread is not None
    assert side.spread.runs == 1
    assert side.spread.sd == pytest.approx(0.475 * (5 / 4) ** 0.5)  # ddof 0, rounded up
    assert "Table 11 prints ± 0.47" in side.note
    assert sides["3", ("CP-CFL", "SimCLR"), ("T = 25",)].spread is None


@pytest.mark.parametrize(("sd", "said"), [
    ('from = ["11"]', "needs 'why'"),
    ('why = "so"', "is the reason for 'from', which is missing"),
    ('from = ["12a"]\nwhy = "so"', "no table '12a' with spreads"),
    ('from = ["3"]\nwhy = "so"', "no table '3' with spreads"),
    ('from = ["1"]\nwhy = "so"', "no table '1' with spreads"),
    ('form = ["11"]\nwhy = "so"', "unknown key; did you mean 'from'?"),
])  # fmt: skip
def test_a_wrong_lender_is_one_line(tmp_path: Path, sd: str, said: str) -> None:
    shutil.copytree(tables_root() / "cpcfl", tmp_path / "cpcfl")
    file = tmp_path / "cpcfl" / "3.toml"
    text = file.read_text("utf-8")
    begin, end = text.index('from = ["11"]'), text.index("\n\n[[columns]]")
    file.write_text(text[:begin] + sd + text[end:], "utf-8")
    with pytest.raises(InvalidSpecError) as raised:
        load_paper("cpcfl", tmp_path)
    assert any(said in str(problem) for problem in raised.value.problems)


def test_check_warns_of_margins_that_can_never_give_reproduced(
    cpcfl: Paper, capsys: pytest.CaptureFixture[str]
) -> None:
    # 1.97 with ddof 0 is at most 1.975 * sqrt(5/4) = 2.21, and 1.645 times that is above 2.0.
    (warning,) = published_value.narrow_margins([replace(cpcfl, tables=(cpcfl.table("11"),))])
    assert warning.line == 76
    assert "too narrow for REPRODUCED in 10 of 30 cells" in str(warning)
    assert main(["check", "cpcfl", "-v"]) == 0
    assert f"warning: {warning}" in capsys.readouterr().out
    assert main(["check", "cpcfl"]) == 0
    told, _ = capsys.readouterr().out.splitlines()  # the other line counts what was checked
    assert told.startswith("warning: margins are too narrow for REPRODUCED in some cells of 13 ")


@pytest.mark.parametrize("runs", [1, 3, 5])
@pytest.mark.parametrize("half", [0.005, 0.5])
@pytest.mark.parametrize("sd", [0.2, 1.1, 4.0])
def test_what_is_out_of_reach_is_never_reproduced(sd: float, half: float, runs: int) -> None:
    spread = Spread(sd, 40.0, runs)
    edge = half + 1.6448536 * sd / math.sqrt(runs)
    assert published_value.is_out_of_reach(edge * 0.999, half, spread)
    assert not published_value.is_out_of_reach(edge * 1.001, half, spread)
    for n in (2, 5, 200):
        # Trials that hardly spread and agree with the print: no result could be better.
        trials = tuple(70 + 1e-6 * np.arange(n))
        side = published_value.PublishedValue(70.0, 70.0 - half, 70.0 + half, spread)
        (found,) = judge_table([JudgedCell(side, trials, edge * 0.999)])
        assert found.word != "REPRODUCED"
