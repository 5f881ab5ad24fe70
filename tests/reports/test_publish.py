import json
from dataclasses import replace
from pathlib import Path

import pytest

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.results import Report
from fedrepro.commands._judged import show
from fedrepro.reports import publish
from fedrepro.reports.publish import write_report
from fedrepro.reports.writers import latex


@pytest.fixture
def small(report: Report) -> Report:
    """A report whose files all name the paper, and that is quickly written."""
    table = replace(report.tables[0], panels=())
    return replace(report, tables=(table,), title="paper-x", paper="paper-x")


def test_a_format_that_fails_costs_no_other_and_is_one_line(
    small: Report,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_report([replace(small, title="earlier")], tmp_path)

    def fail(reports: object) -> str:
        raise RecursionError("too\ndeep")

    monkeypatch.setattr(latex, "render", fail)
    assert show([small], tmp_path) == 2
    error = capsys.readouterr().err.splitlines()
    assert error == ["fedrepro: report.tex could not be made: RecursionError: too deep"]
    left = {path.name for path in tmp_path.glob("[!.]*")}
    assert left == set(publish.names()) - {"report.tex"}
    assert "earlier" not in (tmp_path / "report.md").read_text("utf-8")
    with pytest.raises(FedreproError, match=r"report\.tex could not be made"):
        write_report([small], tmp_path)


def test_a_disk_that_refuses_leaves_the_earlier_report(
    small: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report([replace(small, title="paper-first")], tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in publish.names()}
    calls, write = iter(range(100)), publish.write_text

    def full(file: Path, text: str) -> None:
        if next(calls) > 4:
            raise OSError(28, "No space left on device")
        write(file, text)

    monkeypatch.setattr(publish, "write_text", full)
    with pytest.raises(FedreproError, match="No space left on device"):
        write_report([small], tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in publish.names()} == before
    assert {path.name for path in tmp_path.glob("[!.]*")} == set(publish.names())


def test_files_of_others_in_the_folder_stay(small: Report, tmp_path: Path) -> None:
    mine = tmp_path / "papers" / "notes.md"
    mine.parent.mkdir()
    mine.write_text("mine")
    (tmp_path / "target").write_text("mine")
    (tmp_path / "report.md").symlink_to(tmp_path / "target")
    write_report([small], tmp_path)
    assert mine.read_text() == (tmp_path / "target").read_text() == "mine"
    assert "paper-x" in (tmp_path / "report.md").read_text("utf-8")


def test_a_report_names_no_place_of_the_machine_where_it_was_made(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    home = Path.home()
    cell = report.tables[0].cells[0]
    reason = f"data set stl10 is not in {home}/my data/sets: get it, or see '{tmp_path}/store'"
    odd = replace(cell, note="in /srv/nas/run 1/5", verdict=replace(cell.verdict, reason=reason))
    run = replace(report.runs[0], errors=("cannot read /var/lib/jo/x.npz: no such file",))
    command = f"fedrepro run toy --store=/srv/jo/store --out {tmp_path}/out --data-dir '{home}/d'"
    provenance = replace(
        report.provenance, command=command, data={"digits": {"source": "/opt/jo/digits"}}
    )
    table = replace(report.tables[0], cells=(odd,), title="loss/accuracy and /bin/sh")
    report = replace(report, tables=(table,), runs=(run,), provenance=provenance)
    write_report([report], tmp_path / "out")
    for name in publish.names():
        text = (tmp_path / "out" / name).read_text("utf-8")
        assert "/jo/" not in text
        assert f"{tmp_path}/" not in text
        assert f"{home}/" not in text
    shown = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert shown["provenance"]["command"] == (
        "fedrepro run toy --store=store --out out --data-dir '~/d'"
    )
    assert shown["tables"][0]["title"] == table.title
    assert shown["tables"][0]["cells"][0]["verdict"]["reason"] == (
        "data set stl10 is not in ~/my data/sets: get it, or see 'store'"
    )


def test_a_name_that_is_not_utf8_is_written(small: Report, tmp_path: Path) -> None:
    command = "fedrepro run toy --out caf\udce9"
    write_report([replace(small, provenance=replace(small.provenance, command=command))], tmp_path)
    for name in publish.names():
        (tmp_path / name).read_text("utf-8")
    assert json.loads((tmp_path / "report.json").read_bytes())["provenance"]["command"].startswith(
        "fedrepro run toy --out caf"
    )
