"""`import fedrepro` in a script or a notebook: what docs/python.md shows, and that it is light."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fedrepro

ROOT = Path(__file__).parents[2]
CELL = {"table": "11", "row": "CP-CFL|SimCLR", "column": "Mean ± SD"}


def test_the_page_on_python_runs_as_one_unguarded_script(tmp_path: Path) -> None:
    page = (ROOT / "docs/python.md").read_text("utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    assert "__main__" not in code
    assert "jobs=2" in code
    code = code.replace("jobs=2", "jobs=1")  # a worker takes seconds to start
    script = tmp_path / "script.py"
    script.write_text("print('begins')\n" + code, "utf-8")
    env, told = os.environ | {"OMP_NUM_THREADS": "1"}, {"capture_output": True, "text": True}
    done = subprocess.run([sys.executable, script], cwd=tmp_path, env=env, timeout=300, **told)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("begins") == 1  # no worker has run the script again
    assert "best-on-average  HOLDS" in re.sub(" +", "  ", done.stdout)
    assert "cannot vouch" in done.stdout
    assert {one.name for one in (tmp_path / "my-report").iterdir()} >= {
        "report.html", "report.json", "report.csv", "report.md", "report.tex", "report.junit.xml",
    }  # fmt: skip


def test_papers_are_a_frame_by_id() -> None:
    found = fedrepro.papers()
    assert {"cpcfl", "fcl", "calibre", "fedrlc", "mfcl"} <= set(found.index)
    tables = [one for one in fedrepro.load_paper("cpcfl").tables if not one.is_control]
    assert found.loc["cpcfl", "tables"] == len(tables)


def test_a_plan_takes_what_a_run_takes() -> None:
    chosen = fedrepro.plan("cpcfl", "smoke", tables=["11"], rows="FedAvg|None", trials=3)
    assert (len(chosen.cells), len(chosen.runs), chosen.trials) == (6, 1, 3)
    with pytest.raises(fedrepro.FedreproError, match="did you mean 'cpcfl'"):
        fedrepro.plan("cpcfk")
    # Tables are named as on the command line, too.
    for given in ("11,3", ["11", "3"], (11, 3)):
        assert set(fedrepro.plan("cpcfl", "smoke", tables=given).tables) == {"3", "11"}  # type: ignore[arg-type]


@pytest.mark.parametrize(("given", "said"), [
    ({"paper": 5}, "paper must be an id such as 'cpcfl', not 5"),
    ({"profile": 5}, "profile must be a name such as 'reduced', not 5"),
    (
        {"profile": "smok"},
        "--profile: paper cpcfl: unknown profile 'smok'; did you mean 'smoke'?",
    ),
    ({"tables": 5}, "tables must be ids such as ['3', 'A.13'], not 5"),
    ({"rows": ["CP-CFL|*"]}, "rows must be one pattern such as 'CP-CFL|*', not ['CP-CFL|*']"),
    ({"sets": ["training.rounds=3"]}, "sets must be such as {'training.rounds': 3}, not ["),
    ({"sets": {1: 2}}, "sets must be such as {'training.rounds': 3}, not {1: 2}"),
    ({"trials": "3"}, "trials must be a whole number from 1 to 1000, not '3'"),
    ({"trials": 0}, "trials must be a whole number from 1 to 1000, not 0"),
    ({"trials": True}, "trials must be a whole number from 1 to 1000, not True"),
    ({"series": -1}, "series must be a whole number from 0 to 1000, not -1"),
    ({"readings": "no-restart"}, "did you mean 'no-restarts'?"),
    ({"on": Path("own.npz")}, "on must be a name such as 'mnist' or 'own.npz', not "),
    ({"store": 5}, "store must be a path, not 5"),
    ({"jobs": -1}, "jobs must be a whole number of at least 0, not -1"),
])  # fmt: skip
def test_an_argument_of_another_kind_is_said_with_what_is_expected(given: Any, said: str) -> None:
    with pytest.raises(fedrepro.FedreproError, match=re.escape(said)):
        fedrepro.run(**{"paper": "cpcfl", "profile": "smoke", **given})


@pytest.mark.parametrize("what", [5, [], ["cpcfl"]])
def test_a_report_on_no_results_is_refused(what: Any, tmp_path: Path) -> None:
    with pytest.raises(fedrepro.FedreproError, match="what must be judged results"):
        fedrepro.report(what, tmp_path)
    with pytest.raises(fedrepro.FedreproError, match="out must be a path, not None"):
        fedrepro.report(what, None)  # type: ignore[arg-type]


def test_frames_are_long_and_can_be_judged_again(tmp_path: Path) -> None:
    mine = pd.DataFrame(
        {**CELL, "seed": seed, "value": value}
        for seed, value in enumerate([76.0, 77.0, float("nan"), 75.5])
    )
    found = fedrepro.judge("cpcfl", mine, protocol="full", note="n", audit=False)
    assert len(found.trials) == 3 + 3  # of the mean, and of the printed trials of these seeds
    of_mean = found.trials[found.trials["column"] == "Mean ± SD"]
    assert dict(zip(of_mean["seed"], of_mean["value"], strict=True)) == {0: 76.0, 1: 77.0, 3: 75.5}
    cell = found.cells.set_index(["row", "column"]).loc["CP-CFL|SimCLR", "Mean ± SD"]
    assert (cell["published"], cell["trials"]) == (76.69, 3)
    assert cell["mean"] == pytest.approx((76.0 + 77.0 + 75.5) / 3)
    assert (found.cells["verdict"] == "NOT RUN").sum() == 24
    assert set(found.claims["word"]) == {"NOT RUN"}
    with pytest.raises(fedrepro.FedreproError, match=r"'11' can be drawn: .* no two rows have"):
        found.plot("11")
    file = tmp_path / "again.csv"
    found.trials.drop(columns=["paper", "profile"]).to_csv(file, index=False)
    written = fedrepro.report(found, tmp_path / "report").with_name("report.trials.csv")
    for again in (found.trials, pd.read_csv(written), written, file, [str(file)]):
        judged = fedrepro.judge("cpcfl", again, protocol="full", note="n", audit=False)
        pd.testing.assert_frame_equal(judged.cells, found.cells)
    assert "cannot vouch" in repr(found)
    assert "<table" in found._repr_html_()


def in_table_11(paper: fedrepro.Paper, **changed: object) -> fedrepro.Paper:
    tables = (replace(one, **changed) if one.id == "11" else one for one in paper.tables)
    return replace(paper, tables=tuple(tables))


def test_a_paper_that_was_changed_in_python_is_told_and_no_other(tmp_path: Path) -> None:
    mine = pd.DataFrame({**CELL, "seed": seed, "value": 76.0 + seed} for seed in range(3))
    paper = fedrepro.load_paper("cpcfl")
    first, *others = paper.table("11").cells
    lower = replace(first, printed=replace(first.printed, value=first.printed.value - 1))
    changed = [
        in_table_11(paper, claims=()),
        in_table_11(paper, margin=replace(paper.table("11").margin, value=40.0)),
        in_table_11(paper, cells=(lower, *others)),
    ]
    same = [in_table_11(paper), "cpcfl", fedrepro.load_paper("cpcfl")]
    for one in same + changed:
        report = fedrepro.judge(one, mine, audit=False).report
        told = any("specs: others than" in each for each in report.first.totals)
        assert told == (one in changed)
    shutil.copytree(paper.file.parent, tmp_path / "cpcfl")
    copied = fedrepro.load_paper("cpcfl", tmp_path)
    for one, is_found in ((copied, True), (in_table_11(copied, claims=()), False)):
        found = fedrepro.stored(one, "smoke", tables="11", store=tmp_path / "store").report
        assert ("--specs" in found.tables[0].command) == is_found
        assert any("specs: others than" in each for each in found.first.totals) != is_found


@pytest.mark.parametrize(("results", "said"), [
    (pd.DataFrame([{**CELL, "seed": 0}]), "row 0: column 'value' is missing"),
    (pd.DataFrame([{**CELL, "seed": 0.5, "value": 1}]), "row 0: seed '0.5'"),
    (pd.DataFrame([{**CELL, "seed": 0, "value": float("inf")}]), "not finite"),
    (pd.DataFrame([{**CELL, "paper": "fcl", "seed": 0, "value": 5}]), "cpcfl is judged"),
    (3, "a data frame, not int"),
    ([3], "a data frame, not list"),
])  # fmt: skip
def test_a_frame_that_holds_no_results_is_refused(results: object, said: str) -> None:
    with pytest.raises(fedrepro.FedreproError, match=re.escape(said)):
        fedrepro.judge("cpcfl", results)  # type: ignore[arg-type]
    with pytest.raises(fedrepro.FedreproError, match="must be 'full' or 'scaled'"):
        fedrepro.judge("cpcfl", results, protocol="half")  # type: ignore[arg-type]


HEAVY = {"torch", "scipy", "sklearn", "pandas", "matplotlib"}
OTHERS = {"numpy", "fedrepro.commands.report", "fedrepro.commands.regress"}
MAIN = "from fedrepro.cli import main; main"
NAMED = """
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.methods import registry
load_paper("cpcfl")
print(*(one for one in registry.names("federated") if registry.is_imported("federated", one)))
"""


def last_line(script: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize(("script", "unwanted"), [
    ("import fedrepro", HEAVY),
    ("import fedrepro; fedrepro.plan", HEAVY),
    (f"{MAIN}(['list'])", HEAVY | OTHERS),
])  # fmt: skip
def test_nothing_is_imported_that_is_not_needed(script: str, unwanted: set[str]) -> None:
    assert last_line(f"import sys\n{script}\nprint({unwanted!r} & set(sys.modules))") == ["set()"]


def test_of_methods_those_are_imported_that_a_paper_names() -> None:
    assert last_line(NAMED) == ["centralized", "cpcfl", "fedavg", "fedavg-ft", "ifca"]
