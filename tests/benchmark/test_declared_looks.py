"""The looks that a profile declares: read, checked with line and reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fedrepro.benchmark.spec.folders import tables_root
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.problems import InvalidSpecError
from tests.benchmark.small_papers import write_made_up

TABLE = (tables_root() / "fcl" / "1.toml").read_text(encoding="utf-8")
PAPER = (tables_root() / "fcl" / "paper.toml").read_text(encoding="utf-8")
PAPER = re.sub(r'(?m)^id *= "fcl"', 'id = "made-up"', PAPER)


def with_profile(folder: Path, trials: int, looks: str) -> Path:
    """The root of a paper with one more profile."""
    profile = f"\n[profiles.looking]\ntrials = {trials}\nlooks = {looks}\n"
    write_made_up(folder, PAPER + profile, TABLE)
    return folder


def test_declared_looks_are_read_and_the_last_is_what_the_level_is_spent_over(
    tmp_path: Path,
) -> None:
    paper = load_paper("made-up", with_profile(tmp_path, 5, "[5, 10, 20, 40]"))
    assert paper.profiles["looking"].looks == (5, 10, 20, 40)
    assert paper.profiles["looking"].declared == 40
    other = next(one for name, one in paper.profiles.items() if name != "looking")
    assert (other.looks, other.declared) == ((), other.trials)


@pytest.mark.parametrize(
    ("trials", "looks", "said"),
    [
        (5, "[5]", "one look needs no declaration"),
        (5, "[5, 5]", "does not rise"),
        (10, "[10, 5]", "does not rise"),
        (7, "[5, 10]", "trials = 7 is none of"),
        (1, "[1, 10]", "looks"),
        (5, "[5, 100000]", "looks"),
        (5, '"5, 10"', "looks"),
    ],
)
def test_looks_that_cannot_be_are_refused_with_line_and_reason(
    tmp_path: Path, trials: int, looks: str, said: str
) -> None:
    with pytest.raises(InvalidSpecError) as refused:
        load_paper("made-up", with_profile(tmp_path, trials, looks))
    text = str(refused.value)
    assert said in text
    line = (tmp_path / "made-up" / "paper.toml").read_text().splitlines().index(f"looks = {looks}")
    assert f"paper.toml:{line + 1}" in text
