"""Positive controls: what a spec may name as one, when they are planned, and what they decide."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.check import check
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.planning.summary import Summary
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.store.store import Store
from tests.benchmark.small_papers import write_made_up

PAPER = """\
id = "made-up"
title = "A paper"
authors = "N. N."
year = 2023
own = ["Ours|*"]
baselines = ["FedAvg"]

[experiment]
method = "fedavg"
training = { rounds = 4, local_epochs = 1 }
head.widths = []
clients = { data = "digits", partition = "class-groups", count = 3, test_size = 10, image_size = 8, channels = 1 }
encoder = { name = "cnn", widths = [4, 4], dim = 8, padding = 1 }

[profiles.reduced]
trials = 3
[profiles.again]
trials = 3
series = 1
like = "reduced"
[profiles.paper]
trials = 2
"""  # noqa: E501
TABLE = """\
table = "3"
title = "accuracy"
section = "4"
kind = "empirical"
metric = "accuracy"
unit = "%"
margin = { value = 2.0, reason = "two SDs" }
[[columns]]
label = "end"
[[rows]]
label = "FedAvg"
published = [60.0]
[[rows]]
label = "FedProx"
training.learning_rate = 0.2
published = [62.0]
[[rows]]
label = "IFCA"
method = "ifca"
published = [66.0]
[[rows]]
label = "Ours|none"
method = "cpcfl"
published = [70.0]
[[claims]]
id = "better"
says = "ours is better"
holds = "'Ours|none' > 'FedAvg', 'IFCA'"
[[claims]]
id = "worse"
says = "FedAvg is last"
holds = "'FedAvg' < 'FedProx'"
""".replace('"Ours|none"\nm', '["Ours", "none"]\nm')
CONTROLS = """\
table = "controls"
title = "what is known"
section = "4"
kind = "control"
metric = "accuracy"
unit = "%"
profiles = ["reduced"]
[[columns]]
label = "end"
[[rows]]
label = "even"
training.learning_rate = 0.07
published = [""]
[[rows]]
label = "uneven"
training.learning_rate = 0.08
published = [""]
[[claims]]
id = "even-beats-uneven"
says = "even data beat uneven ones"
holds = "'even' > 'uneven'"
control = { least = 3.0, source = "McMahan et al. 2017" }
"""


def written(root: Path, controls: str | None = CONTROLS, table: str = TABLE) -> Path:
    folder = write_made_up(root, PAPER, table)
    if controls is not None:
        (folder / "controls.toml").write_text(controls, "utf-8")
    return folder


def planned(root: Path, profile: str = "reduced", **given: object) -> Plan:
    return make_plan(load_paper("made-up", root), profile, **given)  # type: ignore[arg-type]


def complaints(root: Path, controls: str = CONTROLS, table: str = TABLE) -> str:
    written(root, controls, table)
    try:
        return "\n".join(map(str, check([load_paper("made-up", root)])[0]))
    except SpecError as error:
        return str(error)


def test_controls_are_planned_under_their_profiles_alone(tmp_path: Path) -> None:
    written(tmp_path, None)
    without = planned(tmp_path, "paper")
    written(tmp_path)
    plan = planned(tmp_path, "paper")
    assert (plan.cells, plan.runs, plan.tables) == (without.cells, without.runs, without.tables)
    assert not plan.controls
    for profile in ("reduced", "again"):
        assert len(planned(tmp_path, profile).controls) == 2
    # Whatever is selected, a table is not judged without its controls.
    for part in (planned(tmp_path, tables=["3"]), planned(tmp_path, rows="FedAvg")):
        assert part.tables == {"3", "controls"}
    with pytest.raises(SpecError, match="no row of these tables"):
        planned(tmp_path, rows="even")


def test_a_plan_says_what_controls_cost(tmp_path: Path) -> None:
    written(tmp_path)
    store = Store(tmp_path / "store")
    summary = Summary(planned(tmp_path), store, Mock())
    line = "1 control on digits: 2 cells, with 2 runs of their own (6 trials)"
    assert summary.controls == [line] == summary.as_plain()["controls"]
    assert summary.as_plain()["cells"] == summary.as_plain()["measured"] == 4
    assert Summary(planned(tmp_path, "paper"), store, Mock()).controls == []


MISTAKES = {
    'profiles = ["reduced"]\n => ': "a control table needs 'profiles'",
    'profiles = ["reduced"] => profiles = ["reduce"]': "unknown profile 'reduce'",
    'profiles = ["reduced"] => profiles = ["again"]': "it runs what 'reduced' runs",
    'control = { least = 3.0, source = "McMahan et al. 2017" } => ': "needs 'control'",
    '[[claims]] => headline = "x"': "a control table needs [[claims]]",
    'kind = "control" => kind = "empirical"': "stands in tables of the kind 'control' alone",
    "least = 3.0 => least = 100": "no difference can exceed 100",
    "least = 3.0 => least = 0": "must be more than 0",
    "'even' > => 'even' ~ 2": "a control is '>' or '<' between trained cells",
    'published = [""] => published = [3.0]': "a control table prints nothing",
    "'uneven'\" => 'IFCA' in '3'\"": "reads the run of table 3, IFCA @ end",
    "training.learning_rate = 0.07 => training.learning_rate = 0.2": "reads the run of table 3",
    "'uneven'\" => 'Ours|none' in '3'\"": "is of the paper's own method",
    'training.learning_rate = 0.07 => method = "cpcfl"': "is of the paper's own method",
    'control = => headline = "it works"\ncontrol =': "is said of claims",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_can_be_no_control_is_refused(tmp_path: Path, mistake: str) -> None:
    old, new = mistake.split(" => ")
    assert old in CONTROLS
    text = CONTROLS.replace(old, new)
    if "needs [[claims]]" in MISTAKES[mistake]:
        text = CONTROLS[: CONTROLS.index(old)]
    assert complaints(tmp_path) == ""
    assert MISTAKES[mistake] in complaints(tmp_path, text)


def test_a_run_that_a_table_shows_is_refused_where_it_is_planned(tmp_path: Path) -> None:
    written(tmp_path, CONTROLS.replace("0.07", "0.2"))
    with pytest.raises(SpecError, match="reads the run of table 3, FedProx @ end"):
        planned(tmp_path)
