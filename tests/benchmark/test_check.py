from __future__ import annotations

from pathlib import Path

import pytest

from fedrepro.benchmark.planning.check import check
from fedrepro.benchmark.spec.load import load_papers
from fedrepro.cli import main

PAPER = """\
id = "made-up"
title = "A paper"
authors = "N. N."
year = 2023

[experiment]
method = "fedavg"
clients.data = "unheard-of-set"
clients.partition = "class-groups"
clients.count = 60
clients.image_size = 8
clients.channels = 1
encoder.name = "cnn"
encoder.widths = [64, 128]
pretraining.method = "none"
training.rounds = 100

[profiles.paper]
trials = 5

[profiles.reduced]
trials = 2
[[profiles.reduced.overrides]]
path = "training.rounds"
divide = 5
why = "time"
[[profiles.reduced.overrides]]
path = "at"
divide = 5
why = "time"
"""

TABLE = """\
table = "3"
title = "accuracy"
section = "4.2"
kind = "empirical"
metric = "accuracy"
unit = "%"
[[columns]]
label = "T = 25"
at = 25

[[rows]]
label = "FedAvg"
published = [41.2]

[[rows]]
label = "Other"
method = "fedsomething"
published = [72.3]

[margin]
value = 2.0
reason = "two SDs"

[[claims]]
id = "better"
says = "more"
holds = "'Other' > 'FedAvg' at 'T = 25'"
"""

MORE = """\
[[profiles.reduced.overrides]]
path = "{path}"
{way}
why = "w"
"""


def checked(root: Path, paper: str = PAPER, table: str = TABLE) -> tuple[list[str], list[str]]:
    folder = root / "made-up"
    folder.mkdir()
    (folder / "paper.toml").write_text(paper, encoding="utf-8")
    (folder / "3.toml").write_text(table, encoding="utf-8")
    problems, unimplemented, _ = check(load_papers(root))
    return [str(p).replace(f"{folder}/", "") for p in problems], list(unimplemented)


def test_a_name_that_nobody_declared_ends_the_check_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "made-up"
    checked(tmp_path)
    monkeypatch.setenv("FEDREPRO_TABLES", str(tmp_path))
    assert main(["check", "made-up"]) == 1
    assert "NOT IMPLEMENTED: method 'fedsomething' (made-up 3)" in capsys.readouterr().out

    declared = 'vocabulary = ["fedsomething", "unheard-of-set"]\n' + PAPER
    (folder / "paper.toml").write_text(declared, encoding="utf-8")
    assert main(["check", "made-up"]) == 0
    said = capsys.readouterr().out
    assert "declared, not implemented yet: method 'fedsomething'" in said
    assert "NOT IMPLEMENTED" not in said


def test_a_problem_is_one_line_even_where_a_label_is_not(tmp_path: Path) -> None:
    label = '"T = \\n25"'
    table = TABLE.replace('"T = 25"', label).replace("at 'T = 25'", "at 'T = 2'")
    problems, _ = checked(tmp_path, table=table)
    assert problems == [
        "3.toml:27: claims[1].holds: claim 'better': 'T = 2' matches no column of table 3 "
        "(nearest: 'T = 25')"
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'method = "fedsomething"',
            "clients.count = 2",
            "3.toml:15: rows[2]: partition 'class-groups': count = 2",
        ),
        (
            "'Other' > 'FedAvg'",
            "'Other' > 'FedAvgs'",
            "3.toml:27: claims[1].holds: claim 'better': 'FedAvgs' matches no row",
        ),
        (
            "'Other' > 'FedAvg' at",
            "'Other' > > 'FedAvg' at",
            "3.toml:27: claims[1].holds: claim 'better': ",
        ),
    ],
)
def test_a_mistake_in_a_table_is_placed(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in TABLE
    problems, _ = checked(tmp_path, table=TABLE.replace(old, new))
    assert problems
    assert problems[0].startswith(said)


@pytest.mark.parametrize(
    ("path", "way", "said"),
    [
        (
            "at",
            "value = 21",
            "3.toml:11: rows[1]: profile reduced: round 21 is read, but the run ends at round 20",
        ),
        (
            "clients.count",
            "divide = 30",
            "3.toml:11: rows[1]: profile reduced: partition 'class-groups': count = 2",
        ),
        (
            "pretraining.epochs",
            "divide = 2",
            "paper.toml:31: profiles.reduced.overrides[3]: 'pretraining.epochs' changes no cell; "
            "is the setting given anywhere?",
        ),
        (
            "clients.data",
            'replace = { mnist = "digits" }',
            "paper.toml:31: profiles.reduced.overrides[3]: 'clients.data' changes no cell; "
            "is the setting given anywhere?",
        ),
    ],
)
def test_a_profile_is_tried_on_every_cell(tmp_path: Path, path: str, way: str, said: str) -> None:
    problems, _ = checked(tmp_path, paper=PAPER + MORE.format(path=path, way=way))
    assert problems
    assert problems[0].startswith(said)


def test_what_is_wrong_without_a_profile_is_told_of_each_one(tmp_path: Path) -> None:
    """Also of profile paper, which changes nothing."""
    problems, _ = checked(tmp_path, paper=PAPER.replace("count = 60", "count = 1"))
    first = [said.partition("rows[1]: ")[2] for said in problems if "rows[1]" in said]
    under = [said.partition("partition 'class-groups'")[0] for said in first]
    assert under == ["", "profile paper: ", "profile reduced: "]
