import re
from pathlib import Path

import pytest

from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.folders import tables_root
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import TableProfile
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


def test_looks_are_those_declared_up_to_the_trials_that_are_asked_for(tmp_path: Path) -> None:
    paper = load_paper("made-up", with_profile(tmp_path, 5, "[5, 10, 20, 40]"))
    assert paper.profiles["looking"].looks == (5, 10, 20, 40)
    plans = {n: make_plan(paper, "looking", trials=n) for n in (None, 5, 20, 7)}
    looks = {n: (plan.looks, plan.is_protected) for n, plan in plans.items()}
    assert looks[None] == ((5, 10, 20, 40), True)
    assert looks[5] == ((5,), True)
    assert looks[20] == ((5, 10, 20), True)
    assert looks[7] == ((), False)
    assert plans[20].under(()).looks == (5, 10, 20)


def test_without_looks_the_trials_of_the_profile_alone_are_protected(tmp_path: Path) -> None:
    paper = load_paper("made-up", with_profile(tmp_path, 5, "[5, 10]"))
    other = next(one for name, one in paper.profiles.items() if name != "looking")
    for trials, protected in ((None, True), (other.trials, True), (other.trials + 1, False)):
        plan = make_plan(paper, other.name, trials=trials)
        assert (plan.looks, plan.is_protected) == ((), protected)


@pytest.mark.parametrize(
    ("trials", "looks", "said"),
    [
        (5, "[5]", "give two or more numbers of trials"),
        (5, "[5, 5]", "must rise, since each interim analysis"),
        (10, "[10, 5]", "must rise, since each interim analysis"),
        (7, "[5, 10]", "trials = 7 must be one of them"),
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


def with_more_trials(folder: Path, own: str, profile: str = "") -> Path:
    """The root of a paper whose table has its own trials under one more profile."""
    declared = f"\n[profiles.more]\ntrials = 5\n{profile}\n"
    first, rest = TABLE.split("\n[", 1)
    write_made_up(folder, PAPER + declared, f"{first}\n[profiles.more]\n{own}\n\n[{rest}")
    return folder


def test_a_table_may_have_more_trials_than_its_profile(tmp_path: Path) -> None:
    paper = load_paper("made-up", with_more_trials(tmp_path, 'trials = 9\nwhy = "close claims"'))
    assert paper.tables[0].profiles == {"more": TableProfile(trials=9, why="close claims")}


@pytest.mark.parametrize(
    ("own", "profile", "said"),
    [
        ('trials = 5\nwhy = "w"', "", "5 is not more than the profile's 5"),
        ("trials = 9", "", "`trials` and `why` go together"),
        ('why = "w"', "", "`trials` and `why` go together"),
        ('trials = 9\nwhy = "w"', "looks = [5, 10]", "leave it out: the profile's `looks`"),
        ('trials = "9"\nwhy = "w"', "", "trials"),
        ('trials = 1000000000\nwhy = "w"', "", "trials"),
    ],
)
def test_trials_of_a_table_that_cannot_be_are_refused_with_the_reason(
    tmp_path: Path, own: str, profile: str, said: str
) -> None:
    with pytest.raises(InvalidSpecError) as refused:
        load_paper("made-up", with_more_trials(tmp_path, own, profile))
    assert said in str(refused.value)
    assert "3.toml:" in str(refused.value)
