from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.spec import authors
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Cell
from fedrepro.benchmark.spec.settings import get
from tests.benchmark.small_papers import write_made_up

PAPER = """\
id = "made-up"
title = "A paper"
authors = "N. N."
year = 2024

[experiment]
clients = { data = "cifar10", image_size = 32, channels = 3, partition = "iid", count = 5 }
encoder = { name = "cnn", widths = [4, 4], dim = 8 }
training.rounds = 7

[profiles.paper]
trials = 1

[profiles.reduced]
trials = 1
[[profiles.reduced.overrides]]
path = "training.batch_size"
divide = 4
why = "few images"
"""
TABLE = """\
table = "1"
title = "accuracy"
section = "1"
kind = "empirical"
metric = "accuracy"

[[columns]]
label = "accuracy"

[[rows]]
label = "one"
published = [""]
"""

Lend = Callable[..., None]


@pytest.fixture
def lend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lend:
    """Writes settings of authors for a name, in place of all that there are."""
    placed: dict[str, dict[str, Path]] = {"federated": {}, "objective": {}}
    monkeypatch.setattr(authors, "files", lambda kind: placed[kind])

    def write(kind: str, name: str, text: str) -> None:
        file = tmp_path / kind / f"{name}.toml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        placed[kind][name] = file

    return write


@pytest.fixture
def planned(tmp_path: Path) -> Callable[..., Plan]:
    def plan(row: str, profile: str = "paper", **changes: Any) -> Plan:
        write_made_up(tmp_path, PAPER, TABLE + row)
        return make_plan(load_paper("made-up", tmp_path), profile, **changes)

    return plan


def options(plan: Plan) -> Mapping[str, Any]:
    (cell,) = plan.cells
    assert cell.config is not None, cell.reason
    return {**cell.config.options, **(cell.config.objective or {})}


def from_authors(cell: Cell) -> dict[str, str]:
    return {path: one.text for path, one in cell.origin.items() if one.layer == "authors"}


def block(settings: str, source: str = "somebody", data: str | None = None) -> str:
    only = "" if data is None else f'data = "{data}"\n'
    return f'[[authors]]\nsource = "{source}"\n{only}[authors.settings]\n{settings}\n'


def test_a_paper_overrides_only_what_it_states(lend: Lend, planned: Callable[..., Plan]) -> None:
    lend("federated", "fedavg", block("training = { rounds = 50, optimizer = 'sgd' }", "theirs"))
    plan = planned('method = "fedavg"')
    assert options(plan)["rounds"] == 7
    assert options(plan)["optimizer"] == "sgd"
    assert from_authors(plan.cells[0].cell) == {"training.optimizer": "theirs"}
    assert options(planned('method = "fedprox"'))["optimizer"] == "adam"


def test_later_blocks_win_and_those_of_another_data_set_are_left_out(
    lend: Lend, planned: Callable[..., Plan]
) -> None:
    text = block("training = { learning_rate = 0.1, weight_decay = 0.2 }", "first")
    text += block("training.learning_rate = 0.3", "on MNIST", "mnist")
    text += block("training.learning_rate = 0.4", "on CIFAR-10", "cifar10")
    lend("federated", "fedavg", text)
    on_cifar = planned('method = "fedavg"')
    assert options(on_cifar)["learning_rate"] == 0.4
    assert options(on_cifar)["weight_decay"] == 0.2
    assert from_authors(on_cifar.cells[0].cell)["training.learning_rate"] == "on CIFAR-10"
    assert options(planned('method = "fedavg"\nclients.data = "stl10"'))["learning_rate"] == 0.1


def test_an_override_divides_what_the_authors_say_and_departs_from_it(
    lend: Lend, planned: Callable[..., Plan]
) -> None:
    lend("federated", "fedavg", block("training.batch_size = 128"))
    plan = planned('method = "fedavg"', "reduced", sets={"training.learning_rate": 0.5})
    assert options(plan)["batch_size"] == 32
    said = {one.setting: (one.paper, one.here) for one in plan.cells[0].departures}
    assert said == {
        "training.batch_size": ("128", "32"),
        "training.learning_rate": ("not given", "0.5"),
    }


@pytest.mark.parametrize(
    "row", ['method = "fedbyol"', 'method = "pfl-ssl"\ntraining.objective = "byol"']
)
def test_an_objective_of_clients_has_its_options_under_training(
    row: str, lend: Lend, planned: Callable[..., Plan]
) -> None:
    lend("objective", "byol", block("options.momentum = 0.996", "code of BYOL"))
    plan = planned(row)
    assert options(plan)["momentum"] == 0.996
    assert from_authors(plan.cells[0].cell) == {"training.momentum": "code of BYOL"}


def test_a_method_may_choose_the_objective_and_wins_over_it(
    lend: Lend, planned: Callable[..., Plan]
) -> None:
    lend("objective", "byol", block("options = { momentum = 0.996, predictor_width = 3 }"))
    lend("federated", "pfl-ssl", block("training = { objective = 'byol', momentum = 0.5 }"))
    found = options(planned('method = "pfl-ssl"'))
    assert (found["name"], found["momentum"], found["predictor_width"]) == ("byol", 0.5, 3)


def test_a_central_objective_has_its_options_under_pretraining_on_the_data_of_that(
    lend: Lend, planned: Callable[..., Plan]
) -> None:
    text = block("options.temperature = 0.25")
    text += block("options.temperature = 0.75", data="cifar10")
    lend("objective", "simclr", text)
    plan = planned('method = "fedavg"\npretraining = { method = "simclr", data = "stl10" }')
    assert plan.runs[0].stage == "pretraining"
    assert plan.runs[0].options["temperature"] == 0.25
    assert set(from_authors(plan.cells[0].cell)) == {"pretraining.temperature"}


ELSEWHERE = "settings of authors stand under training and augmentation"
SETTINGS = [
    ("fedavg", "training.rouns = 3", "training.rouns: no option of fedavg; did you mean 'rounds'"),
    ("fedavg", "training.autoscaler_tau = 0.7", "training.autoscaler_tau: no option of fedavg"),
    ("fedavg", "training.rounds = 'many'", "training.rounds: must be a whole number"),
    ("fedavg", "training.rounds = 10000000000", "training.rounds: must lie between"),
    ("fedavg", "augmentation.hues = 0.1", "augmentation.hues: unknown key; did you mean"),
    ("fedavg", "clients.count = 3", f"clients: {ELSEWHERE}"),
    ("fedavg", "training = 3", f"training: {ELSEWHERE}"),
    ("byol", "training.momentum = 0.9", "training: settings of authors stand under options"),
    ("byol", "options.rounds = 3", "options.rounds: no option of byol"),
]
SHAPES = [
    ("[[authors]]\n[authors.settings]\n", "1: authors[1]: 'source' is missing"),
    (block("") + "[[authors]]\nsource = 3\nsettings = {}\n", "6: authors[2].source: must be text"),
    ('[[authors]]\nsource = "a"\ndate = "b"\nsettings = {}\n', "3: authors[1].date: unknown key"),
    (block("", data="cifar11"), "3: authors[1].data: unknown data set 'cifar11'; did you mean 'c"),
    ("authors = []", "1: authors: is empty"),
    ("[[authors]", "1: not valid TOML"),
]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        *((name, block(text), f"4: authors[1].settings.{said}") for name, text, said in SETTINGS),
        *(("fedavg", text, said) for text, said in SHAPES),
    ],
)
def test_a_paper_whose_method_has_a_wrong_file_is_refused_in_a_line_with_file_and_key(
    name: str, text: str, said: str, lend: Lend, planned: Callable[..., Plan]
) -> None:
    lend("objective" if name == "byol" else "federated", name, text)
    with pytest.raises(SpecError) as refused:
        planned(f'method = "{"fedbyol" if name == "byol" else name}"')
    (line,) = str(refused.value).splitlines()
    assert f"{name}.toml:{said}" in line


def test_all_files_of_the_suite_are_sound_and_one_without_a_module_is_found(lend: Lend) -> None:
    lend("federated", "fedavg", block("training.rounds = 3"))
    assert list(authors.check_all()) == []
    stray = authors.files("federated")["fedavg"].with_name("nobody.toml")
    stray.write_text("")
    assert [str(one).split("/")[-1] for one in authors.check_all()] == [
        "nobody.toml: has no module nobody.py next to it"
    ]


# Table 12 of MFCL, by hand: rounds, batch, optimiser, rate; epochs, optimiser and rate of phase 2.
TABLE_12 = {
    "cifar10": (15, 64, "adam", 0.05, 150, "lars", 1.0, "cosine"),
    "cifar100": (15, 64, "adam", 0.05, 150, "lars", 1.0, "cosine"),
    "tiny-imagenet": (15, 64, "adam", 0.001, 200, "lars", 1.0, "cosine"),
}
MFCL = authors.files("federated")["mfcl"]
NAMES = ("rounds", "batch_size", "optimizer", "learning_rate", "server_epochs")
NAMES += ("server_optimizer", "server_learning_rate", "server_schedule")


def test_mfcl_runs_as_its_table_12_says_and_no_baseline_inherits_that() -> None:
    plan = make_plan(load_paper("mfcl"), "paper", tables=["2"])
    seen = set()
    for run in (run for run in plan.runs if run.stage == "federated"):
        if run.method == "mfcl":
            seen.add(run.data["name"])
            assert tuple(run.options[name] for name in NAMES) == TABLE_12[run.data["name"]]
        else:
            assert run.options["learning_rate"] != TABLE_12["cifar10"][3]
    assert seen == set(TABLE_12)
    own = {block.source for block in authors.read("federated", "mfcl", MFCL)}
    for cell in (one.cell for one in plan.cells):
        method = get(cell.experiment, "method")
        assert own.isdisjoint(from_authors(cell).values()) == (method != "mfcl")
