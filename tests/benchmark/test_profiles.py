import re
from pathlib import Path

import pytest

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.folders import tables_root
from fedrepro.benchmark.spec.load import load_paper, load_papers
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.spec.problems import InvalidSpecError
from tests.benchmark.small_papers import write_made_up

TABLE = (tables_root() / "fcl" / "1.toml").read_text(encoding="utf-8")
PAPER = (tables_root() / "fcl" / "paper.toml").read_text(encoding="utf-8")
PAPER = re.sub(r'(?m)^id *= "fcl"', 'id = "made-up"', PAPER)
LOOKS = "[profiles.other]\ntrials = {}\nlooks = {}"
LIKE = '[profiles.other]\ntrials = 5\nlike = "reduced"\n'
LOCAL = """
[[rows.profiles.reduced.overrides]]
path  = "training.rounds"
value = 2
why   = "this row alone"
"""


def with_profile(folder: Path, profile: str, table: str = TABLE) -> Paper:
    """FCL under another name, with one table and one more profile."""
    write_made_up(folder, f"{PAPER}\n{profile}\n", table)
    return load_paper("made-up", folder)


def test_looks_are_those_declared_up_to_the_trials_that_are_asked_for(tmp_path: Path) -> None:
    paper = with_profile(tmp_path, LOOKS.format(5, "[5, 10, 20, 40]"))
    assert paper.profiles["other"].looks == (5, 10, 20, 40)
    plans = {n: make_plan(paper, "other", trials=n) for n in (None, 5, 20, 7)}
    looks = {n: (plan.looks, plan.is_protected) for n, plan in plans.items()}
    assert looks[None] == ((5, 10, 20, 40), True)
    assert looks[5] == ((5,), True)
    assert looks[20] == ((5, 10, 20), True)
    assert looks[7] == ((), False)
    assert plans[20].under(()).looks == (5, 10, 20)


def test_without_looks_the_trials_of_the_profile_alone_are_protected() -> None:
    paper = load_paper("fcl")
    declared = paper.profiles["reduced"].trials
    for trials, protected in ((None, True), (declared, True), (declared + 1, False)):
        plan = make_plan(paper, "reduced", trials=trials)
        assert (plan.looks, plan.is_protected) == ((), protected)
    assert not make_plan(paper, "reduced", series=9).is_protected


@pytest.mark.parametrize(
    ("profile", "line", "said"),
    [
        (LOOKS.format(5, "[5]"), 3, "give two or more numbers of trials"),
        (LOOKS.format(5, "[5, 5]"), 3, "must rise, since each interim analysis"),
        (LOOKS.format(10, "[10, 5]"), 3, "must rise, since each interim analysis"),
        (LOOKS.format(7, "[5, 10]"), 3, "trials = 7 must be one of them"),
        (LOOKS.format(1, "[1, 10]"), 3, "looks"),
        (LOOKS.format(5, "[5, 100000]"), 3, "looks"),
        (LOOKS.format(5, '"5, 10"'), 3, "looks"),
        ('[profiles.other]\ntrials = 5\nlike = "reducd"\nseries = 9', 3,
         "unknown profile 'reducd'; did you mean 'reduced'"),
        ('[profiles.other]\ntrials = 5\nlike = "other"', 3, "'other' is itself like another"),
        ('[profiles.other]\ntrials = 5\nlike = "smoke"', 1, "profile 'smoke' trains the same"),
        ("[profiles.other]\ntrials = 5\nlike = 3\nseries = 9", 3, "like"),
        ("[profiles.other]\ntrials = 5\nseries = 9\nwhole = true", 4,
         "is for a profile that is `like` another one"),
        (LIKE + "series = 4", 1, "profile 'reduced' trains the same trials"),
        (LIKE + "series = 10", 1, "profile 'patient' trains the same trials"),
        *((LIKE + f'series = 9\n[[profiles.other.{kind}]]\npath = "training.rounds"\nvalue = 2\n'
           'why = "w"', line, "runs what 'reduced' runs")
          for kind, line in (("overrides", 5), ("on.mnist", 1), ("omit", 5))),
    ],
)  # fmt: skip
def test_a_profile_that_cannot_be_is_refused_with_line_and_reason(
    tmp_path: Path, profile: str, line: int, said: str
) -> None:
    with pytest.raises(InvalidSpecError) as refused:
        with_profile(tmp_path, profile)
    (told,) = (one for one in str(refused.value).splitlines() if said in one)
    first = f"{PAPER}\n".count("\n")
    assert f"paper.toml:{first + line}:" in told


def test_a_profile_like_another_runs_its_experiments_on_every_data_set_and_shares_no_trial(
    tmp_path: Path,
) -> None:
    first, rest = TABLE.split("\n[[rows]]", 1)
    row, *others = rest.split("\n[[rows]]")
    table = "\n[[rows]]".join([first, f"{row}{LOCAL}", *others])
    paper = with_profile(tmp_path, LIKE + "series = 9", table)
    assert paper.profiles["other"].on.keys() == paper.profiles["reduced"].on.keys()
    for on in (None, *paper.profiles["reduced"].on):
        other = make_plan(paper, "other", on=on, trials=5)
        plan = make_plan(paper, "reduced", on=on, trials=5)
        assert any(run.options.get("rounds") == 2 for run in plan.runs)
        assert len(other.runs) == len(plan.runs)
        assert not {run.key for run in other.runs} & {run.key for run in plan.runs}
        assert [run.key for run in other.runs] == [run.in_seed_block(9).key for run in plan.runs]


def test_a_row_is_left_out_by_a_profile_and_those_like_it_but_not_by_one_that_is_whole(
    tmp_path: Path,
) -> None:
    table = TABLE.replace("\n[[rows]]\n", '\n[[rows]]\nprofiles.reduced.omit = "time"\n', 1)
    whole = LIKE.replace("other", "all") + "series = 8\nwhole = true"
    paper = with_profile(tmp_path, f"{LIKE}series = 9\n{whole}", table)
    left_out = {
        profile: [one.cell.row for one in make_plan(paper, profile).cells if one.reason == "time"]
        for profile in ("reduced", "other", "all")
    }
    assert left_out["reduced"] == left_out["other"] != []
    assert left_out["all"] == []


def test_no_profile_takes_the_series_of_another_one_of_the_same_runs() -> None:
    paper = load_paper("fcl")
    for profile, series in (("reduced", 10), ("patient", 4)):
        with pytest.raises(SpecError, match=f"--series {series} gives the trials of the profile"):
            make_plan(paper, profile, series=series)
        own = paper.profiles[profile].series
        assert make_plan(paper, profile, series=own).runs == make_plan(paper, profile).runs
    assert make_plan(paper, "smoke", series=10).profile.series == 10


def test_the_patient_profile_of_every_paper_is_the_reduced_one_with_declared_looks() -> None:
    for paper in load_papers():
        patient = paper.profiles["patient"]
        assert (patient.like, patient.looks) == ("reduced", (5, 10, 20, 40))
        assert patient.overrides == paper.profiles["reduced"].overrides
        assert len({one.series for one in paper.profiles.values()}) > 1
