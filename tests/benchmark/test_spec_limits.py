from pathlib import Path

import pytest

from fedrepro.benchmark.audit.findings import findings_for
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.planning.resolve import Resolver
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.commands._options import parse_sets
from tests.benchmark.test_spec_errors import PAPER, TABLE, complaints

CLAIM = "'CP-CFL|SimCLR' > 'FedAvg|None' at 'T = 25'"


@pytest.mark.parametrize(("old", "new", "said"), [
    ("divide = 4", "divide = 0", "must be more than 0"),
    ("divide = 4", "divide = 0.0001", "must be at least 0.001, not 0.0001"),
    ("divide = 4", "divide = 1e-400", "more than 30 digits"),
    ("trials = 2", "trials = 1_000_000_000", "must be at most 1000"),
    ("rounds = 100", "rounds = " + "1" * 5000, "more than 30 digits"),
    ("rounds = 100", "rounds = 10_000_000_000", "must lie between"),
    ("rounds = 100", "threshold = inf", "must be finite"),
    ("rounds = 100", "threshold = 1e400", "must be finite|more than 30 digits"),
    ("rounds = 100", "threshold = 2020-01-01", "is a date"),
    ("rounds = 100", "threshold = " + "[" * 200 + "]" * 200, "nested in more than 12"),
    ("rounds = 100", "a." * 900 + "b = 1", "nested in more than 12"),
    ("rounds = 100", '"' + "k" * 200 + '" = 1', "key of 200 characters"),
    ('"digits"', '"../../x"', "is no name"),
    ('"digits"', '".."', "is no name"),
    ("profiles.paper]\n", 'profiles."../../x"]\n', "is no name"),
    ("41.2", "1e400", "must be finite|more than 30 digits"),
    ("41.2", "1e99999999999999999999", "must be finite"),
    ("41.2", '"1e999999"', "is no number"),
    ("41.2", '"1e999"', "more than 30 digits"),
    ("41.2", "1" * 5000, "more than 30 digits"),
    ("41.2", '"' + "1" * 5000 + '"', "5000 characters"),
    ("41.2", "41." + "1" * 40, "more than 30 digits"),
    ('table = "3"', 'table = "../../x"', "is no name"),
    ('metric = "accuracy"', 'metric = "../x"', "is no name"),
    ("at = 25\n", 'formula = "../base"\n', "is no name"),
    (CLAIM, "(" * 300 + "'*'" + ")" * 300 + " > 'B'", "20 parentheses"),
    (CLAIM, "'*'" + " + 1" * 400 + " > 'B'", "50 operations"),
    (CLAIM, "'*' > " + "1" * 1_000_000, "1000006 characters"),
    (CLAIM, "'*' > " + "1" * 31, "more than 30 digits"),
    (CLAIM, " + ".join(["'*|*'"] * 24) + " > 'FedAvg|None' at 'T = 25'", "2,048 comparisons"),
    ('says = "more"', f"says = '''{'x' * 5000}'''", "5000 characters"),
    ("[41.2, 42.3]", "[" + "41.2," * 3000 + "]", "3000 entries"),
])  # fmt: skip
def test_what_is_beyond_a_limit_is_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    file, text = ("3.toml", TABLE) if old in TABLE else ("paper.toml", PAPER)
    line = text[: text.index(old)].count("\n") + 1
    changed = text.replace(old, new, 1)
    files = {"table": changed} if file == "3.toml" else {"paper": changed}
    found = complaints(tmp_path, **files)
    ours = [one for one in found if one.startswith(f"{file}:{line}: ")]
    assert len(ours) == 1, found
    assert file == "paper.toml" or found == ours
    assert any(part in ours[0] for part in said.split("|")), ours


def test_a_file_beyond_its_limit_and_one_that_is_no_file_are_named(tmp_path: Path) -> None:
    assert complaints(tmp_path, table="#" * 3_000_000) == ["3.toml: is larger than 2,000,000 bytes"]
    (tmp_path / "made-up" / "3.toml").unlink()
    (tmp_path / "made-up" / "3.toml").mkdir()
    with pytest.raises(FedreproError, match=r"3\.toml: is not a file"):
        load_paper("made-up", tmp_path)


def test_values_of_many_decimals_are_audited_without_their_grid(tmp_path: Path) -> None:
    assert complaints(tmp_path, table=TABLE.replace("41.2", "41.1234567890")) == []
    findings_for(load_paper("made-up", tmp_path))


def test_an_omission_compares_numbers_as_numbers(tmp_path: Path) -> None:
    omit = '[[profiles.paper.omit]]\npath = "training.learning_rate"\nvalue = 0.1\nwhy = "w"\n'
    paper = PAPER.replace("rounds = 100", "rounds = 100\ntraining.learning_rate = 0.1", 1)
    assert complaints(tmp_path, paper=paper + omit) == []
    loaded = load_paper("made-up", tmp_path)
    (cell, *_) = loaded.tables[0].cells
    assert Resolver(loaded.profiles["paper"]).resolve(cell, None).reason == "w"


@pytest.mark.parametrize(("text", "said"), [
    ("[" * 100_000, "100000 characters"),
    ("1" * 5000, "5000 characters"),
    ("1" * 400, "more than 30 digits"),
    ("1e400", "finite"),
    ("inf", "finite"),
    ("2020-01-01", "date"),
    ("[" * 30 + "]" * 30, "nested in more than 12"),
])  # fmt: skip
def test_set_refuses_what_a_spec_may_not_hold(text: str, said: str) -> None:
    with pytest.raises(FedreproError, match=said):
        parse_sets([f"training.threshold={text}"])
