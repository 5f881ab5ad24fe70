import importlib
import json
import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import fedrepro
from fedrepro.benchmark.data import own
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.execution.data_availability import DataAvailability
from fedrepro.benchmark.metrics import metric
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.spec import names
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.store import fingerprint
from fedrepro.cli import main
from fedrepro.commands.new_project import template
from fedrepro.methods import registry

Said = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch

GUIDE = (Path(__file__).parents[2] / "docs/own-data.md").read_text("utf-8")
CLASSES = [
    code for code in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL) if "class " in code
]
FILES = dict(zip(("stripes.py", "brier.py", "blocks.py"), CLASSES, strict=True))
"""The guide's data set `MyData`, its metric and its partition."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("lab")
    (made / "ownlab").mkdir()
    for name, text in ({"__init__.py": ""} | FILES).items():
        (made / "ownlab" / name).write_text(text)
    write_images(made / "own.npz", 10)
    write_images(made / "five.npz", 5)
    return made


@pytest.fixture(autouse=True)
def stand_there(place: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "path", [*sys.path])
    importlib.invalidate_caches()


def write_images(file: Path, n_classes: int, seed: int = 0) -> None:
    """600 coloured images of 12x12 for training, 200 for tests."""
    images = np.random.default_rng(seed).integers(0, 256, (800, 12, 12, 3), dtype=np.uint8)
    split = np.where(np.arange(800) < 600, "train", "test")
    np.savez(file, images=images, labels=np.arange(800) % n_classes, split=split)


def planned(paper: str, on: str, profile: str = "reduced") -> Plan:
    return make_plan(load_paper(paper), profile, on=on)


@pytest.mark.parametrize("paper", ["cpcfl", "fcl", "calibre", "fedrlc", "mfcl"])
def test_every_paper_runs_on_data_of_ones_own_and_reproduces_nothing_by_that(paper: str) -> None:
    plan = planned(paper, "own.npz", "smoke")
    runs = [run for run in plan.runs if run.stage == "federated"]
    assert {run.data["name"] for run in runs} == {plan.on}
    assert {(run.data["channels"], run.data["image_size"] <= 12) for run in runs} == {(3, True)}
    measured = [one for one in plan.cells if one.config and one.config.stage != "costs"]
    assert measured
    for one in measured:
        assert "clients.data" in {departure.setting for departure in one.departures}


def test_encoders_are_pre_trained_on_images_that_no_client_holds() -> None:
    plan = planned("cpcfl", "own.npz")
    started = [run for run in plan.runs if run.init_from is not None and run.stage == "federated"]
    pairs = {(run.data["part"], run.init_from.data["part"]) for run in started if run.init_from}
    assert ("train-a", "train-b") in pairs
    assert ("train", "train") not in pairs
    pretrained = [run.data for run in plan.runs if run.stage == "pretraining"]
    images = {(data["name"], data["images"]) for data in pretrained}
    assert images == {(plan.on, 300), ("glyphs-colour-100", 2000), ("glyphs-letters", 2000)}
    other = planned("fcl", "own.npz", "paper").runs  # pre-trained on STL-10
    assert {run.data["part"] for run in other if run.stage == "federated"} == {"train"}


def test_images_are_made_smaller_by_a_reduced_profile_and_larger_by_the_paper_s_own() -> None:
    small, whole = (planned("cpcfl", "own.npz", name).runs for name in ("reduced", "paper"))
    assert {run.data["image_size"] for run in small if run.stage != "costs"} == {12}
    assert {run.data["image_size"] for run in whole if run.stage != "costs"} == {96}
    assert {run.data["image_size"] for run in planned("fcl", "own.npz", "smoke").runs} == {8}


def test_data_are_read_once_for_a_plan(monkeypatch: Patch) -> None:
    read, real = list[str](), own._read

    def counted(name: str, folder: Path, download: bool) -> own.RawParts:
        read.append(name)
        return real(name, folder, download)

    monkeypatch.setattr(own, "_read", counted)
    plan = planned("cpcfl", "own.npz", "smoke")
    assert DataAvailability(None, False).problem(plan.runs[-1]) is None
    assert read == ["own.npz"]


def test_other_data_under_the_same_name_are_other_runs(place: Path) -> None:
    before = planned("fcl", "own.npz")
    assert planned("fcl", str(before.on)).runs == before.runs
    assert before.under(()).runs == before.runs
    write_images(place / "own.npz", 10, seed=1)
    try:
        after = planned("fcl", "own.npz")
    finally:
        write_images(place / "own.npz", 10)
    of_before, of_after = (
        {run.key for run in plan.runs if run.data["name"] == plan.on} for plan in (before, after)
    )
    assert of_before
    assert not of_before & of_after


def test_clients_for_whom_the_data_have_too_few_classes_are_not_run() -> None:
    plan = planned("cpcfl", "five.npz", "smoke")
    run = next(run for run in plan.runs if run.stage == "federated")
    said = str(DataAvailability(None, False).problem(run))
    assert said.startswith(f"{plan.on} does not suit the paper's clients: groups: class 9")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("dtype=torch.uint8", "dtype=torch.int32", r"ownlab\.broken: images must be uint8"),
        ("% 2", "/ 2", r"ownlab\.broken: labels must be whole numbers"),
        ("labels == 0", "label == 0", r"NameError: .*\(ownlab/broken\.py:13, in read\)"),
    ],
)
def test_a_data_set_of_a_package_that_is_none_is_named_with_its_line(
    place: Path, old: str, new: str, said: str
) -> None:
    (place / "ownlab" / "broken.py").write_text(FILES["stripes.py"].replace(old, new))
    for name in [name for name in sys.modules if name == "ownlab.broken"]:
        del sys.modules[name]
    registry.class_in.cache_clear()
    with pytest.raises(FedreproError, match=said):
        planned("fcl", "ownlab.broken", "smoke")


@pytest.mark.parametrize(
    "on", ["/own.npz", "../own.npz", "own", "ownlab.brier", "own.npz#12", "ownlab"]
)
def test_what_cannot_be_data_is_said_with_what_can(on: str, capsys: Said) -> None:
    assert main(["plan", "fcl", "--on", on]) == 2
    said = capsys.readouterr().err
    assert f"unknown data set '{on}'" in said
    near = ("give --data-dir / --on own.npz", "give --data-dir .. --on own.npz")
    assert any(way in said for way in near) == ("/" in on)
    ways = ("a path ending in .npz, .csv or /", "exactly one DataSet", *near)
    assert any(way in said for way in ways) != (on == "ownlab")
    assert ("write ownlab/ for the folder" in said) == (on == "ownlab")


TABLE = """
table = "1"
title = "made up"
section = "none"
kind = "empirical"
metric = "{metric}"
columns = [{{ label = "value" }}]
rows = [{{ label = "FedAvg", method = "fedavg", published = [0.7] }}]
margin = {{ value = 0.1, reason = "made up" }}
"""


def write_paper(data: str, partition: str = '"iid"', metric: str = "accuracy") -> None:
    folder = Path("tables/mine")
    folder.mkdir(parents=True, exist_ok=True)
    draft = template("paper.toml", id="mine", published="[profiles.paper]\ntrials = 1")
    spec = draft.replace('"digits"', f'"{data}"').replace('"iid"', partition)
    (folder / "paper.toml").write_text(spec, "utf-8")
    (folder / "1.toml").write_text(TABLE.format(metric=metric), "utf-8")


def followed() -> set[str]:
    records = (json.loads(one.read_text("utf-8")) for one in Path("results/store").rglob("*.json"))
    return {file for record in records for file in record.get("source", ())}


def test_data_partition_and_metric_of_a_package_come_to_a_report(capsys: Said) -> None:
    write_paper("ownlab.stripes", '"ownlab.blocks"\nclients.first = 4', "ownlab.brier")
    assert main(["check", "mine"]) == 0, capsys.readouterr()
    assert main(["run", "mine", "--profile", "smoke", "--jobs", "0", "--out", "told"]) == 0
    said = capsys.readouterr()
    assert "2 trained" in said.err
    assert "cells: 1 NOT COMPARED" in said.out
    told = json.loads(Path("told/report.json").read_text("utf-8"))
    (cell,) = told["tables"][0]["cells"]
    assert 0 < cell["mean"] < 2
    (run,) = told["runs"]
    assert run["config"]["data"]["name"].startswith("ownlab.stripes#")
    assert {f"ownlab/{name}" for name in FILES} | {"benchmark/data/own.py"} <= followed()
    facts = metric("ownlab.brier")
    assert facts is not None
    assert (facts.low, facts.high, facts.lower_is_better) == (0.0, 2.0, True)


def test_images_that_a_partition_leaves_out_are_said(capsys: Said) -> None:
    for name, left in (("whole", ""), ("fewer", " - 7")):
        text = FILES["blocks.py"].replace("len(train))", f"len(train){left})")
        Path(f"ownlab/{name}.py").write_text(text)
        write_paper("digits", f'"ownlab.{name}"')
        assert main(["run", "mine", "--profile", "smoke", "--jobs", "0", "--trials", "1"]) == 0
        said = f"ownlab.{name} gives 593 of 600 training images of digits\n"
        assert (said in capsys.readouterr().err) == bool(left)


@pytest.mark.parametrize(
    ("learnt", "tested", "said"),
    [
        ("both", "test", "gives 500 images both for training and as test images"),
        ("part(both, 0, 700)", "part(both, 690, 1000)", "gives 10 images both for"),
        ("part(both, 0, 700)", "part(both, 700, 900)", None),  # pooled, and parted anew
    ],
)
def test_an_own_partition_that_trains_on_test_images_is_not_run(
    capsys: Said, learnt: str, tested: str, said: str | None
) -> None:
    text = FILES["blocks.py"]
    first = "seeds):\n" if "seeds):\n" in text else "Federation:\n"
    at = text.index(first, text.index("def deal")) + len(first)
    name = f"mixed{len(learnt + tested)}"
    Path(f"ownlab/{name}.py").write_text(
        f"""import torch
from fedrepro.methods.data.federation import ImageSet
{text[:at]}        images, labels = (train.images, test.images), (train.labels, test.labels)
        both = ImageSet(torch.cat(images), torch.cat(labels))
        part = lambda of, a, b: ImageSet(of.images[a:b], of.labels[a:b])
        train, test = {learnt}, {tested}
{text[at:]}"""
    )
    write_paper("digits", f'"ownlab.{name}"')
    main(["run", "mine", "--profile", "smoke", "--jobs", "0", "--trials", "1"])
    told = capsys.readouterr().err
    assert (f"NOT RUN: ownlab.{name} " in told) == (said is not None)
    assert (said or "1 trained") in told


def test_of_several_classes_in_a_module_a_name_chooses_one(place: Path, capsys: Said) -> None:
    (place / "ownlab" / "both.py").write_text(FILES["stripes.py"] + FILES["brier.py"])
    with (place / "ownlab" / "both.py").open("a") as file:
        file.write("\n\nclass Half(Brier):\n    high = 1.0\n\n    def measure(self, p, y):\n")
        file.write("        return super().measure(p, y) / 2\n")
    write_paper("ownlab.both:MyData", metric="ownlab.both")
    assert main(["check", "mine"]) == 2
    assert "exactly one Metric, has 2; ownlab.both:NAME chooses one" in capsys.readouterr().err
    write_paper("ownlab.both:MyData", metric="ownlab.both:Half")
    run = ["run", "mine", "--profile", "smoke", "--jobs", "0", "--trials", "1", "--out", "half"]
    assert main(run) == 0, capsys.readouterr()
    told = json.loads(Path("half/report.json").read_text("utf-8"))
    assert 0 < told["tables"][0]["cells"][0]["mean"] < 1
    assert "ownlab/both.py" in followed()
    half = metric("ownlab.both:Half")
    assert half is not None
    assert half.high == 1.0


def test_a_name_in_results_imports_nothing(place: Path) -> None:
    (place / "ownlab" / "trap.py").write_text("raise SystemExit('imported')")
    assert metric("ownlab.trap") is None
    assert metric("numpy.linalg") is None


def test_a_spec_that_names_data_by_their_checksum_departs_from_nothing() -> None:
    name = str(planned("fcl", "own.npz").on)
    write_paper("own.npz")
    loose = make_plan(load_paper("mine", Path("tables")), "paper")
    write_paper(name)
    exact = make_plan(load_paper("mine", Path("tables")), "paper")
    assert exact.runs == loose.runs
    assert not any(one.departures for one in exact.cells)
    for one in loose.cells:
        assert [(each.setting, each.here) for each in one.departures] == [("clients.data", name)]


def test_entry_points_give_short_names_and_those_that_are_taken_are_said(
    monkeypatch: Patch, place: Path, capsys: Said
) -> None:
    brier = "ownlab.brier", "fedrepro.metrics"
    points = [EntryPoint(name, *brier) for name in ("brier", "accuracy")]
    sets = dict.fromkeys(("stripes", "mnist", "glyphs-digits"), "stripes")
    for name, module in (sets | {one: one for one in ("gone", "leaves", "lacks")}).items():
        points.append(EntryPoint(name, f"ownlab.{module}", "fedrepro.sets"))
    for name, error in {"leaves": "SystemExit(0)", "lacks": "AttributeError('planted')"}.items():
        broken = FILES["stripes.py"].replace("draw =", f"raise {error}\n        draw =", 1)
        (place / "ownlab" / f"{name}.py").write_text(broken)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [p for p in points if p.group == group]
    )
    registry._installed.cache_clear()
    names.known.cache_clear()
    try:
        plan = planned("mfcl", "stripes", "smoke")
        assert str(plan.on).startswith("stripes#")
        assert "ownlab/stripes.py" in fingerprint.source_of(plan.runs[0])
        assert main(["plan", "mfcl", "--on", "gone", "--profile", "smoke"]) == 2
        said = capsys.readouterr().err
        for taken in ("data set 'mnist'", "data set 'glyphs-digits'", "metric 'accuracy'"):
            assert f"{taken} is left out: ownlab." in said
        assert "data set 'gone' cannot be used: ownlab.gone: ModuleNotFoundError" in said
        assert "brier" not in said.replace("ownlab.brier", "")
        assert main(["methods", "brier"]) == 0
        assert capsys.readouterr().out.startswith("metric brier (ownlab/brier.py)")
        assert main(["doctor"]) == 2
        found = " ".join(capsys.readouterr().out.split())
        assert "stripes/test ok: 200 images, stripes " in found
        for name, error in (("leaves", "SystemExit: 0"), ("lacks", "AttributeError: planted")):
            why = f"{name} cannot be read: {error} (ownlab/{name}.py:"
            assert f"{name}/train damaged: {why}" in found
        with pytest.warns(UserWarning, match="is left out") as warned:
            fedrepro.plan("mfcl", "smoke")
        assert {str(one.message) in said for one in warned} == {True}
    finally:
        registry._installed.cache_clear()
        names.known.cache_clear()
