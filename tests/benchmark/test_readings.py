from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.judging.evidence import load_trials
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.spec.choices import Alternative, Unstated
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Claim, Margin, Paper
from fedrepro.benchmark.spec.problems import InvalidSpecError
from fedrepro.benchmark.spec.readings import readings_of, under
from fedrepro.benchmark.spec.settings import merge, nested
from fedrepro.benchmark.store.store import Store
from fedrepro.methods.outcome import Curve, Outcome
from tests.benchmark.small_papers import MakePaper, write_papers


def alternative(name: str, **changes: Any) -> Alternative:
    return Alternative(name, f"{name} is taken", "it may be", "a printed number", **changes)


def choice(name: str, *alternatives: Alternative) -> Unstated:
    return Unstated("a setting", "this", "usual", name, alternatives=alternatives)


ONE_EPOCH = choice("epochs", alternative("two-epochs", set={"training": {"local_epochs": 2}}))
ROUND = choice("round", alternative("best-round", at="best"))
METRIC = choice("metric", alternative("as-variance", metrics={"accuracy": "accuracy_variance"}))


@pytest.fixture
def paper(tiny_paper: MakePaper) -> Paper:
    rows = {"a": {}, "b": {"method": "ifca", "training": {"n_clusters": 2}}}
    made = tiny_paper(rows, trials=2)
    table = made.tables[0]
    claims = (Claim("a-wins", "a is above b", "'a' > 'b'"),)
    margin = Margin(1.0, "a test")
    return replace(
        made, tables=(replace(table, claims=claims, margin=margin),), unstated=(ONE_EPOCH, ROUND)
    )


def configs(plan: Plan) -> dict[str, RunConfig]:
    return {one.cell.row[0]: one.config for one in plan.cells if one.config is not None}


def test_a_reading_changes_the_runs_that_it_concerns_and_no_other_setting(paper: Paper) -> None:
    taken = configs(make_plan(paper, "smoke"))
    other = configs(make_plan(under(paper, ["two-epochs"]), "smoke"))
    for row, config in taken.items():
        assert config.options["local_epochs"] == 1
        assert other[row] == replace(config, options={**config.options, "local_epochs": 2})


@pytest.mark.parametrize(("section", "key", "option", "of", "other"), [
    ("method", None, "training.local_epochs", "fedavg", "ifca"),
    ("training", "objective", "training.temperature", "simclr", "moco"),
    ("evaluation", "protocol", "evaluation.epochs", "fine-tuning", "linear-probe"),
])  # fmt: skip
def test_a_reading_of_one_method_objective_or_protocol_leaves_the_others(
    section: str, key: str | None, option: str, of: str, other: str, tiny_paper: MakePaper
) -> None:
    only = {f"{key or section}s": (of,)}
    own = alternative("seven", set=nested(option, 7), **only)
    ssl = {"method": "pfl-ssl", "training": {"objective": "simclr"}}
    rows = {
        name: merge(ssl, {section: name if key is None else {key: name}}) for name in (of, other)
    }
    paper = replace(tiny_paper(rows), unstated=(choice("a choice", own),))
    taken = configs(make_plan(paper, "smoke"))
    changed = configs(make_plan(under(paper, ["seven"]), "smoke"))
    assert changed[other] == taken[other]
    options = {**changed[of].options, **(changed[of].objective or {})}
    assert options[option.partition(".")[2]] == 7


def test_a_reading_of_one_table_leaves_the_other_tables(paper: Paper) -> None:
    first = replace(paper.tables[0], unstated=(ONE_EPOCH,))
    cells = tuple(replace(cell, table="2") for cell in first.cells)
    second = replace(first, id="2", cells=cells, unstated=(), claims=())
    paper = replace(paper, tables=(first, second), unstated=())
    epochs = {
        one.cell.table: one.config.options["local_epochs"]
        for one in make_plan(under(paper, ["two-epochs"]), "smoke").cells
        if one.config is not None
    }
    assert epochs == {"1": 2, "2": 1}


def test_another_round_and_another_metric_are_read_from_the_same_runs(paper: Paper) -> None:
    paper = replace(paper, unstated=(ROUND, METRIC))
    taken, other = (
        make_plan(under(paper, names), "smoke") for names in ([], ["best-round", "as-variance"])
    )
    assert other.runs == taken.runs
    assert {one.read for one in other.cells} == {"best"}
    assert {one.cell.metric for one in other.cells} == {"accuracy_variance"}


def test_a_paper_goes_back_to_what_is_taken(paper: Paper) -> None:
    assert under(under(paper, ["two-epochs"]), []) == paper
    assert under(under(paper, ["two-epochs"]), ["best-round"]).readings == ("best-round",)


@pytest.mark.parametrize(("names", "said"), [
    (["two-epoch"], "no interpretation 'two-epoch'; did you mean 'two-epochs'"),
    (["nothing"], r"no interpretation 'nothing' \(known: best-round, two-epochs\)"),
])  # fmt: skip
def test_a_name_that_is_no_reading_is_refused(paper: Paper, names: list[str], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        under(paper, names)


def test_two_readings_of_one_choice_are_refused(paper: Paper) -> None:
    both = choice("epochs", *ONE_EPOCH.alternatives, alternative("last", at="final"))
    with pytest.raises(SpecError, match="'two-epochs' and 'last' settle one choice"):
        under(replace(paper, unstated=(both,)), ["two-epochs", "last"])


CURVES = {"fedavg": [(0.50, 0.20), (0.52, 0.25)], "ifca": [(0.40, 0.35), (0.41, 0.30)]}
"""Accuracy by method and trial: of round 1, which is the best, and of round 2."""


@pytest.fixture
def stored(paper: Paper, store: Store) -> Store:
    for config in make_plan(paper, "smoke").runs:
        for seed, values in enumerate(CURVES[config.method]):
            with store.writing():
                store.save(config, seed, Outcome({"accuracy": Curve((1, 2), values)}), {})
    return store


def test_a_reading_that_only_evaluates_has_the_same_trials(paper: Paper, stored: Store) -> None:
    plans = [make_plan(under(paper, names), "smoke") for names in ([], ["best-round"])]
    reports = [judge(one, load_trials(one, stored), command="", audit=False) for one in plans]
    means = [report.tables[0].cells[0].mean for report in reports]
    assert means == pytest.approx([22.5, 51.0])
    differences = [report.tables[0].claims[0].answer.ours.mean for report in reports]
    assert differences == pytest.approx([22.5 - 32.5, 51.0 - 40.5])


def test_a_report_says_which_readings_it_is_under(paper: Paper, stored: Store) -> None:
    plan = make_plan(under(paper, ["best-round"]), "smoke")
    report = judge(plan, load_trials(plan, stored), command="test", audit=False)
    assert report.readings == ("best-round",)
    assert report.tables[0].cells[0].mean == pytest.approx(51.0)
    assert "--reading best-round" in report.tables[0].command
    assert [one.reading for one in report.choices] == [None, "best-round"]
    assert report.universes == ()


def test_a_reading_over_which_a_setting_wins_is_without_effect(paper: Paper, store: Store) -> None:
    def effect(**sets: int) -> bool:
        plan = make_plan(
            under(paper, ["two-epochs"]),
            "smoke",
            sets={f"training.{key}": value for key, value in sets.items()},
        )
        choices = judge(plan, load_trials(plan, store), command="test", audit=False).choices
        return all(one.has_effect for one in choices)

    assert effect()
    assert not effect(local_epochs=3)


HEAD = """
[[unstated]]
setting = "s"
taken   = "t"
why     = "w"
{more}
[[unstated.alternatives]]
name   = "a"
taken  = "u"
why    = "v"
speaks = "x"
{changes}
"""


def with_choice(root: Path, more: str, changes: str) -> Path:
    """The root of a paper with one more choice, whose alternative makes these changes."""
    write_papers(root, ["p"])
    with (root / "p" / "1.toml").open("a") as file:
        file.write(HEAD.format(more=more, changes=changes))
    return root


@pytest.mark.parametrize(("more", "changes", "said"), [
    ("", "at = 'best'", "alternatives need a 'name'"),
    ("name = 'n'", "", "changes nothing"),
    ("name = 'n'", "set.training.round = 3", "unknown key; did you mean 'training.rounds'"),
    ("name = 'n'", "at = 'best'\nmethods = ['fedavgg']", "unknown method 'fedavgg'; did you"),
    (
        "name = 'n'\nsettings = ['training.round']",
        "at = 'best'",
        "unknown path 'training.round'",
    ),
    (
        "name = 'n'\nsettings = ['training.rounds']",
        "set.training.local_epochs = 3",
        "sets training.local_epochs, which is not among the 'settings'",
    ),
    ("name = 'n'", "set = { 'training.rounds' = 3 }", "has a dot inside its quotes"),
    ("name = 'n'", "at = 'best'\nmethods = ['nowhere']", "unknown method 'nowhere'"),
    ("name = 'n'", "metrics = { accuracy = 'nowhere' }", "unknown metric 'nowhere'"),
    ("name = 'a'", "at = 'best'", "the interpretation 'a' is also"),
])  # fmt: skip
def test_a_reading_that_says_nothing_or_something_wrong_is_a_problem(
    tmp_path: Path, more: str, changes: str, said: str
) -> None:
    with pytest.raises(InvalidSpecError, match=said):
        load_paper("p", with_choice(tmp_path, more, changes))


def test_readings_of_a_spec_are_read(tmp_path: Path) -> None:
    changes = "set.training.local_epochs = 2\nmethods = ['fedavg']"
    paper = load_paper("p", with_choice(tmp_path, "name = 'n'", changes))
    (reading,) = (one for one in readings_of(paper) if one.name == "a")
    assert reading.table == "1"
    assert reading.alternative.set == {"training": {"local_epochs": 2}}
