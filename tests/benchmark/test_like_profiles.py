from pathlib import Path

import pytest

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper, load_papers
from fedrepro.benchmark.spec.problems import InvalidSpecError
from tests.benchmark.small_papers import write_made_up
from tests.benchmark.test_declared_looks import PAPER, TABLE

LOCAL = """
[[rows.profiles.reduced.overrides]]
path  = "training.rounds"
value = 2
why   = "this row alone"
"""


def with_profile(folder: Path, profile: str, table: str = TABLE) -> Path:
    write_made_up(folder, f"{PAPER}\n[profiles.longer]\ntrials = 5\n{profile}\n", table)
    return folder


def test_it_runs_the_same_experiments_on_every_data_set_and_shares_no_trial(tmp_path: Path) -> None:
    first, rest = TABLE.split("\n[[rows]]", 1)
    row, *others = rest.split("\n[[rows]]")
    table = "\n[[rows]]".join([first, f"{row}{LOCAL}", *others])
    paper = load_paper("made-up", with_profile(tmp_path, 'like = "reduced"\nseries = 9', table))
    assert paper.profiles["longer"].on.keys() == paper.profiles["reduced"].on.keys()
    for on in (None, *paper.profiles["reduced"].on):
        longer = make_plan(paper, "longer", on=on, trials=5)
        plan = make_plan(paper, "reduced", on=on, trials=5)
        assert any(run.options.get("rounds") == 2 for run in plan.runs)
        assert len(longer.runs) == len(plan.runs)
        assert not {run.key for run in longer.runs} & {run.key for run in plan.runs}
        assert [run.key for run in longer.runs] == [run.in_series(9).key for run in plan.runs]


def test_a_row_is_left_out_by_a_profile_and_those_like_it_but_not_by_one_that_is_whole(
    tmp_path: Path,
) -> None:
    table = TABLE.replace("\n[[rows]]\n", '\n[[rows]]\nprofiles.reduced.omit = "time"\n', 1)
    both = 'like = "reduced"\nseries = 9\n[profiles.all]\nlike = "reduced"\ntrials = 5\nseries = 8'
    paper = load_paper("made-up", with_profile(tmp_path, f"{both}\nwhole = true", table))
    left_out = {
        profile: [one.cell.row for one in make_plan(paper, profile).cells if one.reason == "time"]
        for profile in ("reduced", "longer", "all")
    }
    assert left_out["reduced"] == left_out["longer"] != []
    assert left_out["all"] == []


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ('like = "reducd"\nseries = 9', "unknown profile 'reducd'; did you mean 'reduced'"),
        ('like = "longer"', "'longer' is itself like another"),
        ('like = "reduced"\nseries = 4', "profile 'reduced' trains the same trials"),
        ('like = "reduced"\nseries = 10', "profile 'patient' trains the same trials"),
        ('like = "smoke"', "profile 'smoke' trains the same trials"),
        ("like = 3\nseries = 9", "like"),
        ("series = 9\nwhole = true", "is for a profile that is `like` another one"),
        (
            'like = "reduced"\nseries = 9\n[[profiles.longer.overrides]]\npath = "training.rounds"'
            '\nvalue = 2\nwhy = "w"',
            "runs what 'reduced' runs",
        ),
        (
            'like = "reduced"\nseries = 9\n[[profiles.longer.on.mnist]]\npath = "clients.data"'
            '\nvalue = "mnist"\nwhy = "w"',
            "runs what 'reduced' runs",
        ),
        (
            'like = "reduced"\nseries = 9\n[[profiles.longer.omit]]\npath = "method"'
            '\nvalue = "fedavg"\nwhy = "w"',
            "runs what 'reduced' runs",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_line_and_reason(
    tmp_path: Path, profile: str, said: str
) -> None:
    with pytest.raises(InvalidSpecError) as refused:
        load_paper("made-up", with_profile(tmp_path, profile))
    assert said in str(refused.value)
    assert "paper.toml:" in str(refused.value)


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
