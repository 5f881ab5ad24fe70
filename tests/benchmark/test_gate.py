"""A gate against planted regressions: a project of `new-project`, its method and its data changed.
Each case changes a copy of the project and runs `fedrepro regress` in a process of its own, with
tolerances and with --exact. The unchanged project is held against seeds that were not recorded."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from fedrepro.benchmark.judging.baseline import recorded
from fedrepro.benchmark.judging.comparison import compare
from fedrepro.benchmark.judging.evidence import load_trials
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.store.store import Store
from fedrepro.cli import main

pytestmark = pytest.mark.slow
BASELINE = "results/baselines/mypaper-gate.json"
METHOD = '''"""FedProx whose server takes a share of what the clients learned."""

from dataclasses import dataclass

from fedrepro.methods.federated.supervised.fedprox import FedProx

SHARE = 1.0


@dataclass(frozen=True)
class MyMethod(FedProx):
    proximal_weight: float = 1.0

    def aggregate(self, now, server, upload):
        average = super().aggregate(now, server, upload)
        return {name: SHARE * average[name] + (1 - SHARE) * server[name] for name in average}
'''


def write_digits(root: Path, noise: float = 0.0, turned: bool = False) -> None:
    """The digits of scikit-learn as folders of MNIST: 1,300 to train and 497 to test."""
    found, random = load_digits(), np.random.default_rng(0)
    shutil.rmtree(root, ignore_errors=True)
    for i, (image, label) in enumerate(zip(found.images, found.target, strict=True)):
        train = i < 1300
        if train and random.random() < noise:
            label = random.integers(0, 10)
        pixels = (np.rot90(image) if train and turned else image) * 255 / 16
        path = root / "mnist" / ("train" if train else "test") / str(label) / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(path)


def call(project: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FEDREPRO_DATA": str(project / "data"), **more}
    return subprocess.run(
        [sys.executable, "-m", "fedrepro", *words],
        cwd=project, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def edit(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text("utf-8")
    for old, new in changes:
        assert old in text, (path, old)
        text = text.replace(old, new, 1)
    path.write_text(text, "utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with its baseline; six trials of three methods in two columns."""
    root = tmp_path_factory.mktemp("project")
    assert main(["new-project", str(root)]) == 0
    (root / "mypackage/my_method.py").write_text(METHOD, "utf-8")
    edit(
        root / "tables/mypaper/paper.toml",
        ('clients.data = "digits"', 'clients.data = "mnist/"'),
        ("value = 15", "value = 6"),
        ("clients.image_size = 8", "clients.image_size = 8\nclients.images = 1200"),
        ("[profiles.gate]\ntrials = 5", "[profiles.gate]\ntrials = 6"),
    )
    edit(root / "tables/mypaper/1.toml", ("training.keep = 0.5\n", ""))
    write_digits(root / "data")
    done = call(root, "regress", "mypaper", "--profile", "gate", "--record")
    assert done.returncode == 0, done.stderr
    return root


Plant = Callable[[Path], object]


def in_method(*changes: tuple[str, str]) -> Plant:
    return lambda root: edit(root / "mypackage/my_method.py", *changes)


def in_table(*changes: tuple[str, str]) -> Plant:
    return lambda root: edit(root / "tables/mypaper/1.toml", *changes)


def in_paper(*changes: tuple[str, str]) -> Plant:
    return lambda root: edit(root / "tables/mypaper/paper.toml", *changes)


_STEP = "        average = super()"
PLANTED: dict[str, Plant] = {
    "code: the server takes half a step": in_method(("SHARE = 1.0", "SHARE = 0.5")),
    "code: the proximal term is ten times as strong": in_method(
        ("weight: float = 1.0", "weight: float = 10.0")
    ),
    "settings: another learning rate": in_paper(("learning_rate = 0.05", "learning_rate = 0.01")),
    "settings: half the rounds": in_paper(("value = 6", "value = 3")),
    "data: a third of the labels are wrong": lambda root: write_digits(root / "data", noise=0.33),
    "data: images to train are turned": lambda root: write_digits(root / "data", turned=True),
    "removed: a row": in_table(
        ('[[rows]]\nlabel     = "FedProx"\nmethod    = "fedprox"\npublished = [71.5, 75.0]\n', ""),
        ("holds = \"'FedProx' > 'FedAvg'\"", "holds = \"'My method' > 'FedAvg'\""),
    ),
    "removed: a row has another name": in_table(('label     = "My method"', 'label     = "Ours"')),
    "spread: trials no longer differ": in_method(
        (
            _STEP,
            "        server = {k: v * 0 for k, v in server.items()}\n        return server\n"
            + _STEP,
        )
    ),
    "spread: some trials fall": in_method(
        (
            _STEP,
            "        if float(sum(v.sum() for v in server.values())) * 1e4 % 2 < 1:\n"
            "            return {k: v * 0 for k, v in server.items()}\n" + _STEP,
        )
    ),
    "exit code: the module leaves with 0": in_method(("SHARE = 1.0", "raise SystemExit(0)")),
    "exit code: trials fail": in_method((_STEP, "        raise ValueError('planted')\n" + _STEP)),
}


@pytest.mark.parametrize("plant", PLANTED)
def test_a_planted_regression_is_caught(plant: str, project: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    shutil.copytree(project, root)
    if plant.startswith("data"):
        shutil.rmtree(root / "results/store")
    PLANTED[plant](root)
    line = ("regress", "mypaper", "--profile", "gate")
    tolerant, exact = call(root, *line), call(root, *line, "--exact")
    assert exact.returncode in (1, 2), exact.stdout
    assert tolerant.returncode in (1, 2), tolerant.stdout
    assert "Traceback" not in tolerant.stderr


@pytest.mark.parametrize(
    ("instructions", "said"),
    [
        (None, "0 regressed, 0 moved"),
        ("default", "held to tolerances, not to be equal: instructions was"),
        ("default", "stored trials are not of this process: instructions was"),
    ],
)
def test_unchanged_code_passes_exactly_or_says_why_not(
    instructions: str | None, said: str, project: Path, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    shutil.copytree(project, root)
    if "stored" not in said:
        shutil.rmtree(root / "results/store")
    more = {} if instructions is None else {"ATEN_CPU_CAPABILITY": instructions}
    done = call(root, "regress", "mypaper", "--profile", "gate", "--exact", **more)
    assert done.returncode == 0, done.stdout
    assert said in done.stdout


def test_unchanged_code_passes_on_seeds_that_were_not_recorded(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of ten seed blocks is the baseline of the nine others: one baseline may be lucky."""
    monkeypatch.setenv("FEDREPRO_DATA", str(project / "data"))
    monkeypatch.syspath_prepend(project)
    paper, reports = load_paper("mypaper", [project / "tables"]), []
    for block in range(1, 11):
        words = ["run", "mypaper", "--profile", "gate", "--series", str(block), "--jobs", "2"]
        assert call(project, *words).returncode in (0, 1)
        plan = make_plan(paper, "gate", series=block)
        reports.append(judge(plan, load_trials(plan, Store(project / "results/store")), command=""))
    passed = 0
    for before, after in permutations(reports, 2):
        found = compare(recorded(before), recorded(after), after)
        values = [one for one in found if one.what in ("value", "spread", "method", "trials")]
        assert len(values) >= 6
        passed += not any(one.regression for one in values)
    assert passed >= 81


def test_the_baseline_holds_all_that_the_gate_compares(project: Path) -> None:
    plain = json.loads((project / BASELINE).read_text("utf-8"))
    assert len(plain["cells"]) == 6
    assert all(len(cell["trials"]) == 6 for cell in plain["cells"].values())
    assert {"torch", "instructions"} <= plain["versions"].keys()
