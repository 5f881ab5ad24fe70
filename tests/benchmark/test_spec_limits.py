"""Specs of enormous or hostile values end in one line each, and none hangs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedrepro.benchmark.audit.findings import findings_for
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.planning.check import check
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.cli import main
from fedrepro.commands._options import parse_sets
from tests.benchmark.small_papers import write_made_up

CLAIM = "'A' > 'B'"
PAPER = """
id = "made-up"
title = "A paper"
authors = "N. N."
year = 2023
vocabulary = ["training.threshold"]
[experiment]
method = "fedavg"
clients.data = "digits"
clients.partition = "class-groups"
clients.count = 3
clients.test_size = 10
training.rounds = 10
[profiles.smoke]
trials = 2
[[profiles.smoke.overrides]]
path = "training.rounds"
divide = 5
why = "w"
"""
TABLE = f"""
table = "3"
title = "t"
section = "4"
kind = "empirical"
metric = "accuracy"
unit = "%"
[[columns]]
label = "C"
[[rows]]
label = "A"
published = [41.2]
[[rows]]
label = "B"
published = [40.1]
[margin]
value = 2.0
reason = "r"
[[claims]]
id = "c"
says = "s"
holds = "{CLAIM}"
"""


def problems(root: Path, paper: str = PAPER, table: str = TABLE) -> list[str]:
    """What is wrong, a line each, as `fedrepro check` says it."""
    folder = write_made_up(root, paper, table)
    try:
        found = [str(problem) for problem in check([load_paper("made-up", root)])[0]]
    except FedreproError as error:
        found = str(error).splitlines()
    return [line.replace(f"{folder}/", "") for line in found]


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("divide = 5", "divide = 0", 18, "must lie between 0.001 and 1000000"),
        ("divide = 5", "divide = 1e-400", 18, "more than 30 digits"),
        ("trials = 2", "trials = 1_000_000_000", 15, "must be at most 1000"),
        ("rounds = 10", "rounds = " + "1" * 5000, 13, "more than 30 digits"),
        ("rounds = 10", "rounds = " + "1" * 400, 13, "more than 30 digits"),
        ("rounds = 10", "rounds = 10_000_000_000", 13, "must lie between"),
        ("rounds = 10", "threshold = inf", 13, "must be finite"),
        ("rounds = 10", "threshold = 1e400", 13, "must be finite|more than 30 digits"),
        ("rounds = 10", "threshold = 2020-01-01", 13, "is a date"),
        ("rounds = 10", "threshold = " + "[" * 200 + "]" * 200, 13, "deeper than 12"),
        ("rounds = 10", "a." * 900 + "b = 1", 13, "deeper than 12"),
        ("rounds = 10", '"' + "k" * 200 + '" = 1', 13, "key of 200 characters"),
        ('"digits"', '"../../x"', 9, "is no name"),
        ('"digits"', '"/etc"', 9, "is no name"),
        ('"digits"', '".."', 9, "is no name"),
        ("profiles.smoke]\n", 'profiles."../../x"]\n', 14, "is no name"),
    ],
)
def test_a_paper_beyond_a_limit_is_one_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    assert old in PAPER
    found = problems(tmp_path, paper=PAPER.replace(old, new))
    ours = [one for one in found if one.startswith(f"paper.toml:{line}: ")]
    assert len(ours) == 1, found
    assert any(part in ours[0] for part in said.split("|")), ours


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("41.2", "1e400", 12, "must be finite|more than 30 digits"),
        ("41.2", "1e99999999999999999999", 12, "must be finite"),
        ("41.2", '"1e999999"', 12, "is no number"),
        ("41.2", '"1e999"', 12, "more than 30 digits"),
        ("41.2", "1" * 5000, 12, "more than 30 digits"),
        ("41.2", "1" * 4000, 12, "more than 30 digits"),
        ("41.2", '"' + "1" * 5000 + '"', 12, "5000 characters"),
        ("41.2", "41." + "1" * 40, 12, "more than 30 digits"),
        ('table = "3"', 'table = "../../x"', 2, "is no name"),
        ('table = "3"', 'table = "a/b"', 2, "is no name"),
        ('metric = "accuracy"', 'metric = "../x"', 6, "is no name"),
        ('label = "C"', 'label = "C"\nkind = "analytic"\nformula = "../base"', 11, "is no name"),
        (CLAIM, "(" * 300 + "'A'" + ")" * 300 + " > 'B'", 22, "20 parentheses"),
        (CLAIM, "'A'" + " + 1" * 400 + " > 'B'", 22, "50 operations"),
        (CLAIM, "'A' > " + "1" * 1_000_000, 22, "1000006 characters"),
        (CLAIM, "'A' > " + "1" * 31, 22, "more than 30 digits"),
        (CLAIM, " + ".join(["'*'"] * 24) + " > 'A'", 22, "2,048 comparisons"),
        ('says = "s"', f"says = '''{'x' * 5000}'''", 21, "5000 characters"),
        ("[41.2]", "[" + "41.2," * 3000 + "]", 12, "3000 entries"),
    ],
)
def test_a_table_beyond_a_limit_is_one_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    assert old in TABLE
    found = problems(tmp_path, table=TABLE.replace(old, new))
    assert len(found) == 1, found
    assert found[0].startswith(f"3.toml:{line}: ")
    assert any(part in found[0] for part in said.split("|")), found


def test_a_file_beyond_its_limit_and_one_that_is_no_file_are_named(tmp_path: Path) -> None:
    assert problems(tmp_path, table="#" * 3_000_000) == ["3.toml: is larger than 2,000,000 bytes"]
    (tmp_path / "made-up" / "3.toml").unlink()
    (tmp_path / "made-up" / "3.toml").mkdir()
    with pytest.raises(FedreproError, match=r"3\.toml: is not a file"):
        load_paper("made-up", tmp_path)


def test_values_of_many_decimals_are_audited_without_their_grid(tmp_path: Path) -> None:
    assert problems(tmp_path, table=TABLE.replace("41.2", "41.1234567890")) == []
    findings_for(load_paper("made-up", tmp_path))


def test_an_omission_compares_numbers_as_numbers(tmp_path: Path) -> None:
    omit = '[[profiles.smoke.omit]]\npath = "training.learning_rate"\nvalue = 0.1\nwhy = "w"\n'
    paper = PAPER.replace("[profiles.smoke]", "training.learning_rate = 0.1\n[profiles.smoke]")
    assert problems(tmp_path, paper=paper + omit) == []
    loaded = load_paper("made-up", tmp_path)
    (cell, _) = loaded.tables[0].cells
    assert loaded.profiles["smoke"].omitted(cell.experiment) == "w"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "100000 characters"),
        ("1" * 5000, "5000 characters"),
        ("1" * 400, "more than 30 digits"),
        ("1e400", "finite"),
        ("inf", "finite"),
        ("2020-01-01", "date"),
        ("[" * 30 + "]" * 30, "deeper"),
    ],
)
def test_set_refuses_what_a_spec_may_not_hold(text: str, said: str) -> None:
    with pytest.raises(FedreproError, match=said):
        parse_sets([f"training.threshold={text}"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--series", "x"], "'x' is no whole number"),
        (["--trials", "1.5"], "'1.5' is no whole number"),
        (["--trials", "10000"], "'10000' is no whole number of at least 1 and at most 1000"),
        (["--series", "-1"], "'-1' is no whole number of at least 0 and at most 1000"),
        (["--checkpoint-every", "often"], "'often' is no time such as 15m, 900s or 2h"),
        (["--checkpoint-every=-1"], "'-1' is no time such as 15m, 900s or 2h"),
        (["--time-limit", "nan"], "'nan' is no time such as 15m, 900s or 2h"),
    ],
)
def test_a_number_that_is_none_is_told_in_words_of_the_reader(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["plan", "cpcfl", *words])
    assert f"argument {words[0].partition('=')[0]}: {said}" in capsys.readouterr().err


def test_the_unchanged_spec_passes(tmp_path: Path) -> None:
    assert problems(tmp_path) == []
