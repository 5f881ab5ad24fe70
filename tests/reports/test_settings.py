"""`docs/settings.md` is what the plans of the published protocol say, setting by setting."""

import dataclasses
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.planning.setting_origin import Unit, units
from fedrepro.benchmark.spec.choices import Unstated
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.benchmark.spec.model import Origin, Paper
from fedrepro.benchmark.spec.readings import choices_of
from fedrepro.benchmark.spec.settings import leaves
from fedrepro.cli import main
from fedrepro.reports.settings import render

PAGE = Path(__file__).parents[2] / "docs/settings.md"
Told = dict[str, set[str]]  # by path, the values that a table tells


@cache
def paper(id: str) -> Paper:
    return load_paper(id)


@cache
def plan_of(id: str) -> Plan:
    return make_plan(paper(id), "paper")


@cache
def sections() -> dict[str, dict[str, Told]]:
    """What the page tells, by paper and heading, read without the code that wrote it."""
    found: dict[str, dict[str, Told]] = {}
    told: Told = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            tables = found.setdefault(line[3:].partition(":")[0], {})
        elif line.startswith("### "):
            told = tables.setdefault(re.sub(r" \((Table|figure).*", "", line[4:]), {})
        elif line.startswith("| ") and "`" in line:
            for path, first, also in re.findall(
                r"`([a-z_]+\.[a-z_]+)(?: = ([^`]+))?`((?: also `[^`]+`)*)", line
            ):
                values = told.setdefault(path, set())
                values |= {first} - {""} | set(re.findall(r"also `([^`]+)`", also))
    return found


def resolved(run: RunConfig) -> Iterator[tuple[str, Any]]:
    """Path and value of everything that a run is made with."""
    section = {"federated": "training", "pretraining": "pretraining"}.get(run.stage, "evaluation")
    yield from ((f"{section}.{name}", value) for name, value in run.options.items())
    objective = {name: value for name, value in (run.objective or {}).items() if name != "name"}
    yield from ((f"training.{name}", value) for name, value in objective.items())
    yield from ((f"augmentation.{name}", value) for name, value in (run.augmentation or {}).items())
    if run.stage == "federated":
        for name, part in (("clients", run.clients), ("encoder", run.encoder), ("head", run.head)):
            yield from ((f"{name}.{key}", value) for key, value in (part or {}).items())
        yield "clients.data", run.data["name"]
        yield "clients.image_size", run.data["image_size"]
    if run.stage == "pretraining":
        yield "pretraining.data", run.data["name"]


def test_the_page_is_what_the_command_makes() -> None:
    made = render([plan_of(id) for id in paper_ids()])
    renew = "fedrepro settings > docs/settings.md"
    assert PAGE.read_text(encoding="utf-8") == made, f"renew it: {renew}"


@pytest.mark.parametrize("id", paper_ids())
def test_every_run_of_the_published_protocol_is_on_the_page_with_its_settings(id: str) -> None:
    tables = sections()[id]
    shared = tables["All methods, where nothing else is said"]
    words = {"federated": "Method", "pretraining": "Pre-training", "measurement": "Protocol"}
    for run in plan_of(id).runs:
        if run.stage == "costs":
            continue
        heading = f"{words[run.stage]} `{run.method}`"
        if run.objective is not None:
            heading += f", clients minimise `{run.objective['name']}`"
        own = tables[heading]
        for path, value in resolved(run):
            told = own.get(path, set()) | (shared.get(path, set()) if path not in own else set())
            assert json.dumps(value, ensure_ascii=False) in told, (heading, path)


def unit(found: list[Unit], name: str) -> Unit:
    return next(one for one in found if one.name == name)


def test_every_value_says_whose_it_is() -> None:
    fedema = unit(units(plan_of("mfcl")), "fedema").main
    assert fedema["training.participation"][1:] == ("1.0", Origin("paper"))
    assert fedema["training.sgd_momentum"].origin.layer == "authors"
    assert "EasyFL" in fedema["training.sgd_momentum"].origin.text
    mfcl = unit(units(plan_of("mfcl")), "mfcl")
    assert mfcl.main["training.server_epochs"].origin.layer == "authors"
    assert mfcl.main["encoder.modular"][1:] == ("true", Origin("method"))
    assert mfcl.main["encoder.norm_momentum"].origin == Origin(
        "default", "methods.encoders._client_layers"
    )
    elsewhere = {(one.path, one.value): one.origin for one in mfcl.elsewhere}
    assert "column of Tiny-ImageNet" in elsewhere["training.server_epochs", "200"].text


def test_a_setting_that_an_entry_of_unstated_names_is_open_in_the_runs_that_it_is_about() -> None:
    def entry(name: str, *settings: str, **only: tuple[str, ...]) -> Unstated:
        return Unstated(name, "128", "usual", name, settings, **only)

    entries = (
        entry("batch", "training.batch_size", "head", methods=("fedavg",)),
        entry("objective", "training.rounds", objectives=("rotation",)),
        entry("probe", "evaluation.epochs", protocols=("linear-probe",)),
        entry("other", "evaluation.epochs", protocols=("fine-tuning",)),
    )
    opened = dataclasses.replace(paper("fcl"), unstated=entries)
    found = units(make_plan(opened, "paper", tables=["1"]))
    fedavg, fedrot, probe = (unit(found, one).main for one in ("fedavg", "fedrot", "linear-probe"))
    assert fedavg["training.batch_size"].origin == Origin("unstated", "batch")
    assert fedavg["head.widths"].origin == Origin("unstated", "batch")
    assert fedavg["training.rounds"].origin == fedrot["head.widths"].origin == Origin("paper")
    assert fedrot["training.rounds"].origin == Origin("unstated", "objective")
    assert probe["evaluation.epochs"].origin == Origin("unstated", "probe")


@pytest.mark.parametrize("id", paper_ids())
def test_every_open_choice_names_settings_that_are_there_or_what_decides_instead(id: str) -> None:
    plan = plan_of(id)
    told: dict[str | None, set[str]] = {None: set()}
    for one in (*plan.cells, *plan.drawings):
        told.setdefault(one.cell.table, set()).update(one.cell.origin)
    for one in units(plan):
        for table, seen in one.seen.items():
            told[table] |= {setting.path for setting in seen}
    told[None] = set().union(*told.values())
    for choice, table in choices_of(plan.paper):
        assert choice.settings or choice.no_setting, choice.setting
        changed = {path for one in choice.alternatives for path, _ in leaves(one.set)}
        assert (told[table] | changed).issuperset(choice.settings), (choice.setting, table)


def test_an_encoder_pretrained_in_federation_has_the_settings_of_that_run() -> None:
    """IFCA's encoder comes from FedAvg's own run, so one table tells of both."""
    plan = plan_of("cpcfl")
    starts = {run.init_from for run in plan.runs if run.method == "ifca"}
    federated = {run for run in starts if run is not None and run.stage == "federated"}
    assert federated <= set(plan.runs)
    assert [one.name for one in units(plan)].count("fedavg") == 1


def test_the_command_prints_the_page_of_papers_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "fcl"]) == 0
    assert capsys.readouterr().out == render([plan_of("fcl")])
