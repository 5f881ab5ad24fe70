"""A report on more papers than one page holds, whoever judges them."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.problems import InvalidSpecError
from fedrepro.benchmark.store.store import Store
from fedrepro.commands.report import TOGETHER, report_on_many
from fedrepro.reports.publish import names
from tests.benchmark.small_papers import numbers, write_papers


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Papers of one small table each."""
    root = tmp_path / "specs"
    write_papers(root, (f"p{i:02}" for i in range(TOGETHER + 1)))
    return root


def given(tmp_path: Path, profile: str = "smoke", *papers: str) -> argparse.Namespace:
    return argparse.Namespace(
        profile=profile,
        trials=None,
        series=None,
        store=tmp_path / "store",
        stale=False,
        papers=list(papers),
    )


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_paper_is_reported_in_order_as_alone(root: Path, tmp_path: Path, jobs: int) -> None:
    ids = sorted(path.name for path in root.iterdir())
    out = tmp_path / "out"
    boards, failed = report_on_many(given(tmp_path), out, root=root, jobs=jobs)
    assert failed == []
    assert [board.paper for board in boards] == ids
    alone = judge(make_plan(load_paper(ids[3], root), "smoke"), Store(tmp_path), command="x")
    assert boards[3].verdicts == alone.count_verdicts()
    assert [one["paper"] for one in numbers(out)] == ids
    for folder in (out, *(out / "papers" / id for id in ids)):
        shown = {path.name for path in folder.glob("[!.]*")}
        assert shown - {"papers"} == set(names())


def test_all_mistakes_of_all_papers_are_told_and_there_is_no_report(
    root: Path, tmp_path: Path
) -> None:
    for id in ("p01", "p11"):
        with (root / id / "paper.toml").open("a", encoding="utf-8") as file:
            file.write("\n[nonsense]\n")
    with pytest.raises(InvalidSpecError) as caught:
        report_on_many(given(tmp_path), tmp_path / "out", root=root, jobs=1)
    assert [problem.file.parent.name for problem in caught.value.problems] == ["p01", "p11"]
    assert not (tmp_path / "out").exists()


def test_a_profile_that_no_paper_has_is_an_error(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(FedreproError, match="no paper has a profile 'none'"):
        report_on_many(given(tmp_path, "none"), tmp_path / "out", root=root, jobs=1)
    assert capsys.readouterr().err.count("left out") == TOGETHER + 1


def test_a_process_that_only_drives_others_loads_neither_torch_nor_figures() -> None:
    code = "import sys, fedrepro.commands.report, fedrepro.benchmark.spec.load; "
    code += "print(*sys.modules)"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    loaded = set(made.stdout.split())
    assert "fedrepro.commands.report" in loaded
    assert not loaded & {"torch", "scipy", "sklearn", "matplotlib"}
