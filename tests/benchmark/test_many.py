"""A report on more papers than one page holds, whoever makes its parts."""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
from pathlib import Path

import pytest

from fedrepro.benchmark.commands._judged import TOGETHER
from fedrepro.benchmark.commands._many import report_on
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.problems import InvalidSpecError
from fedrepro.benchmark.store.store import Store
from fedrepro.reports.parts import formats, write_parts
from tests.benchmark.small_papers import numbers, write_papers


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Papers of one small table each."""
    root = tmp_path / "specs"
    write_papers(root, (f"p{i:02}" for i in range(TOGETHER + 1)))
    return root


def given(tmp_path: Path, profile: str = "smoke", *papers: str) -> argparse.Namespace:
    return argparse.Namespace(
        profile=profile, trials=None, store=tmp_path / "store", papers=list(papers), anew=False
    )


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_paper_is_reported_in_order_as_alone(root: Path, tmp_path: Path, jobs: int) -> None:
    ids = sorted(path.name for path in root.iterdir())
    out = tmp_path / "out"
    boards = report_on(ids, given(tmp_path), out, command="x", root=root, jobs=jobs)
    assert [board.paper for board in boards] == ids
    alone = judge(make_plan(load_paper(ids[3], root), "smoke"), Store(tmp_path), command="x")
    assert boards[3].verdicts == alone.count_verdicts()
    found = numbers(out)
    assert [one["paper"] for one in found] == ids
    assert {path.name for path in (out / "papers").iterdir()} == {f"{id}.html" for id in ids}
    shown = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert shown == {"papers", *(writer.FILE for writer in formats().values())}


def test_garbage_is_seldom_looked_for_while_papers_are_reported_and_as_before_afterwards(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, seen = gc.get_threshold(), list[int]()
    write = write_parts
    monkeypatch.setattr(
        "fedrepro.reports.parts.write_parts",
        lambda *given: seen.append(gc.get_threshold()[0]) or write(*given),
    )
    report_on(["p00", "p01"], given(tmp_path), tmp_path / "out", command="x", root=root, jobs=1)
    assert len(seen) == 2
    assert min(seen) > before[0]
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_all_mistakes_of_all_papers_are_told_and_there_is_no_report(
    root: Path, tmp_path: Path
) -> None:
    for id in ("p01", "p11"):
        with (root / id / "paper.toml").open("a", encoding="utf-8") as file:
            file.write("\n[nonsense]\n")
    ids = sorted(path.name for path in root.iterdir())
    with pytest.raises(InvalidSpecError) as caught:
        report_on(ids, given(tmp_path), tmp_path / "out", command="x", root=root, jobs=1)
    assert [problem.file.parent.name for problem in caught.value.problems] == ["p01", "p11"]
    assert not [file for file in (tmp_path / "out").iterdir() if not file.name.startswith(".")]


def test_after_a_mistake_papers_are_only_read(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "p00" / "paper.toml").write_text("id = 1", "utf-8")
    monkeypatch.setattr(
        "fedrepro.benchmark.judging.judge.judge", lambda *_, **__: pytest.fail("judged for nothing")
    )
    ids = sorted(path.name for path in root.iterdir())
    with pytest.raises(InvalidSpecError):
        report_on(ids, given(tmp_path), tmp_path / "out", command="x", root=root, jobs=1)


def test_a_profile_that_no_paper_has_is_an_error(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = sorted(path.name for path in root.iterdir())
    with pytest.raises(FedreproError, match="no paper has a profile 'none'"):
        report_on(ids, given(tmp_path, "none"), tmp_path / "out", command="", root=root, jobs=1)
    assert capsys.readouterr().err.count("left out") == len(ids)


def in_fresh_process(code: str) -> str:
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return made.stdout


def test_a_process_that_only_drives_others_loads_neither_torch_nor_figures() -> None:
    code = "import sys, fedrepro.benchmark.commands._many, fedrepro.benchmark.spec.load; "
    code += "print(*sys.modules)"
    loaded = set(in_fresh_process(code).split())
    assert "fedrepro.benchmark.commands._many" in loaded
    assert not loaded & {"torch", "scipy", "sklearn", "matplotlib"}


@pytest.mark.slow
def test_workers_find_all_code_loaded_that_a_report_needs(tmp_path: Path) -> None:
    """What each of them imports by itself is held by each of them."""
    code = f"""
import sys
from pathlib import Path
import fedrepro.benchmark.commands._loaded
before = set(sys.modules)
from fedrepro.benchmark.commands._many import _judge, _Task
from fedrepro.benchmark.spec.load import tables_root
for id in ("calibre", "cpcfl", "fcl", "fedrlc", "mfcl"):
    place = Path({str(tmp_path)!r}, id)
    _judge(_Task(id, place, tables_root(), "smoke", None, Path("nowhere"), "x", "", 0.0, False))
    assert place.is_dir()
print(*set(sys.modules) - before)
"""
    late = {name.partition(".")[0] for name in in_fresh_process(code).split()}
    assert not late & {"methods", "reports", "torch", "scipy", "sklearn", "matplotlib", "sympy"}
