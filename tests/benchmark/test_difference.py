import copy
import json
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.judging.report_diff import Change, differences, read_reports
from fedrepro.cli import main

CELL: dict[str, Any] = {
    "row": ["A"], "column": ["last"], "mean": 50.0, "interval": [48.0, 52.0],
    "verdict": {"word": "SCALED"},
}  # fmt: skip
REPORT: dict[str, Any] = {
    "paper": "toy",
    "profile": "reduced",
    "on": None,
    "tables": [{"id": "3", "cells": [CELL], "claims": [{"id": "c", "word": "HOLDS"}]}],
}


def differing(folder: Path, *sides: dict[str, Any]) -> list[Change]:
    """What differs between two reports in files."""
    for i, side in enumerate(sides):
        (folder / f"{i}.json").write_text(json.dumps(side), "utf-8")
    return differences(*(read_reports(folder / f"{i}.json") for i in range(2)))


def changed(**changes: Any) -> dict[str, Any]:
    report = copy.deepcopy(REPORT)
    report["tables"][0]["cells"][0] |= changes
    return report


def test_a_report_does_not_differ_from_itself(tmp_path: Path) -> None:
    assert differing(tmp_path, REPORT, REPORT) == []


@pytest.mark.parametrize(
    ("mean", "interval", "moved"),
    [
        (53.0, [51.0, 55.0], True),  # each mean outside the other's interval
        (51.0, [50.5, 51.5], False),  # inside the earlier interval
        (53.0, [45.0, 61.0], False),  # the later interval still holds the earlier mean
        (53.0, None, True),  # a single trial has no interval
        (50.0, None, False),
    ],
)
def test_a_value_has_moved_if_each_mean_lies_outside_the_others_interval(
    mean: float, interval: list[float] | None, moved: bool, tmp_path: Path
) -> None:
    found = differing(tmp_path, REPORT, changed(mean=mean, interval=interval))
    assert [one.what for one in found] == (["value"] if moved else [])


def test_words_cells_and_claims_that_change_are_told(tmp_path: Path) -> None:
    after = changed(verdict={"word": "ERROR"}, mean=None, interval=None)
    after["tables"][0]["claims"] = [{"id": "d", "word": "HOLDS"}]
    extra = copy.deepcopy(CELL) | {"row": ["B"]}
    after["tables"][0]["cells"].append(extra)
    found = differing(tmp_path, REPORT, after)
    assert [(one.what, one.where, one.before, one.after) for one in found] == [
        ("verdict", "toy reduced 3: A @ last", "SCALED", "ERROR"),
        ("verdict", "toy reduced 3: B @ last", "absent", "SCALED"),
        ("claim", "toy reduced 3: c", "HOLDS", "absent"),
        ("claim", "toy reduced 3: d", "absent", "HOLDS"),
    ]


def test_the_command_reads_files_folders_and_lists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "report.json").write_text(json.dumps([REPORT]))
    later = tmp_path / "later.json"
    later.write_text(json.dumps(changed(mean=60.0, interval=[59.0, 61.0])))
    assert main(["diff", str(tmp_path), str(tmp_path)]) == 0
    assert main(["diff", str(tmp_path), str(later)]) == 1
    assert "50 -> 60 (+10, beyond both 95 % intervals)" in capsys.readouterr().out
    assert main(["diff", str(tmp_path), str(later), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["difference"] == 10.0


def test_stores_are_judged_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "store.json").write_text('{"schema": 1}')
    sides = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert main(["diff", *sides, "--papers", "fcl", "--profile", "paper"]) == 0
    assert "0 differences" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--papers", "cpcfk"], ["--profile", "nonesuch"]])
def test_options_of_stores_are_refused_where_no_side_is_one(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "report.json").write_text(json.dumps(REPORT))
    assert main(["diff", str(tmp_path), str(tmp_path), *words]) == 2
    assert "neither side is one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (None, "no fedrepro report"),
        ("{", "Invalid JSON"),
        ("{}", "no fedrepro report"),
        ("[]", "share no table"),
        ("[" * 100_000, "recursion limit"),
        ('{"tables": ' * 100_000, "recursion limit"),
        (json.dumps(REPORT).replace("50.0", "NaN"), "finite"),
        (json.dumps(REPORT).replace("50.0", "1e999"), "finite"),
        (json.dumps(REPORT).replace("50.0", '"50"'), "mean"),
        (json.dumps(REPORT).replace('"row": ["A"]', '"row": "A"'), "row"),
        (json.dumps(changed(interval=[1.0])), "interval"),
        (json.dumps({**REPORT, "tables": 5}), "tables"),
        (json.dumps({**REPORT, "on": ["x"]}), "on"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    text: str | None, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(REPORT))
    if text is not None:
        bad.write_text(text)
    assert main(["diff", str(good), str(bad)]) == 2
    error = capsys.readouterr().err.strip()
    assert named in error
    assert len(error.splitlines()) == 1
    assert len(error) < 500
