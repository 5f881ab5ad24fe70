"""Readers for the fuzz campaign of what trials leave: stores, checkpoints, records, results.

A seal finds damage, but whoever writes a file can seal it too. So values are changed under seals
that fit, and what is read goes all the way to a report.
"""

from __future__ import annotations

import importlib
import json
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import StoreError
from fedrepro.benchmark.external.mapping import read_files
from fedrepro.benchmark.judging import comparison
from fedrepro.benchmark.judging.external import judge_external
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.judging.trials import load_trials
from fedrepro.benchmark.planning.estimate import TrialTimes
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.store import fingerprint
from fedrepro.benchmark.store.checkpoints import TrialFile
from fedrepro.benchmark.store.files import seal_of, sha256_of
from fedrepro.benchmark.store.folder import RECORD, RUN, trial_name
from fedrepro.benchmark.store.store import Store, read_encoder
from fedrepro.methods.outcome import Curve, Outcome
from tests.benchmark.damage import changed, damaged, sealed_again

Reader = Callable[[random.Random], None]
PROVENANCE = {
    "device": "d", "wall_s": 1.0, "started": "2026-01-01T00:00:00+00:00", "commit": "0a1b2c3d4e",
    "versions": {"fedrepro": "0.1.0", "torch": "2"}, "interrupted": 0,
    "data": {"digits/train": {"checksum": "ab", "source": "s", "is_release": True, "note": None}},
}  # fmt: skip


def source_of(config: RunConfig) -> dict[str, str]:
    return {"methods/a.py": "1"}


def filled(root: Path, plan: Plan, outcome: Outcome) -> Store:
    """A store of every trial of a plan, with one that failed."""
    store = Store(root, source_of)
    with store.writing():
        for config, seed in plan.trials_to_run():
            store.save(config, seed, outcome, PROVENANCE)
        store.save_error(plan.runs[0], 99, "diverged at round 1", "")
    return store


def shown(report: Report, draw: random.Random) -> None:
    """Now and then, a report in one of all formats."""
    formats = importlib.import_module("fedrepro.reports.publish").formats()
    if draw.random() < 0.1:
        draw.choice(list(formats.values())).render([report])


def judged(plan: Plan, store: Store, draw: random.Random) -> Report:
    report = judge(plan, load_trials(plan, store), command="fedrepro", audit=False)
    shown(report, draw)
    return report


def reseated(content: bytes, draw: random.Random) -> tuple[str, str, bytes]:
    """A record with one value changed, sealed, as run and file name under which it is looked for.

    Its run is that of its config, so that every changed record is read to its end.
    """
    plain = json.loads(content)
    del plain["sha256"]
    plain = changed(plain, draw)
    if isinstance(plain, dict) and draw.random() < 0.5:
        plain["run"] = seal_of(plain.get("config"))[:16]
    sealed = sealed_again(plain, draw)
    try:
        name = f"{fingerprint.digest(plain['source'])}-seed{plain['seed']}"
        run = str(plain["run"])
    except (KeyError, TypeError, ValueError, AttributeError):
        name, run = "0123456789ab-seed0", "0123456789abcdef"
    if RUN.fullmatch(run) and RECORD.fullmatch(f"{name}.json"):
        return run, name, sealed
    return "0123456789abcdef", "0123456789ab-seed0", sealed


def stores(inside: Path, plan: Plan, outcome: Outcome) -> Reader:
    """A store, one of its files damaged, or changed under a seal that fits; then a report on it."""
    whole = filled(inside / "whole", plan, outcome)
    files = {
        path.relative_to(whole.root): path.read_bytes()
        for path in sorted(whole.root.rglob("*"))
        if path.is_file() and path.name != "lock"
    }
    records = [name for name in files if name.parts[0] == "trials" and name.suffix == ".json"]
    root = inside / "store"

    def a_store(draw: random.Random) -> None:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(whole.root, root)
        if draw.random() < 0.6:
            run, name, sealed = reseated(files[draw.choice(records)], draw)
            (root / "trials" / run).mkdir(exist_ok=True)
            (root / "trials" / run / f"{name}.json").write_bytes(sealed)
        else:
            name = draw.choice(list(files))
            (root / name).write_bytes(damaged(files[name], draw))
        said: list[str] = []
        store = Store(root, source_of, warn=said.append)
        for config, seed in plan.trials_to_run():
            store.error(config, seed)
            store.stale(config, seed)
        for found in store.records():
            store.load_arrays(found)
            if (encoder := store.encoder_path(found)) is not None:
                read_encoder(encoder)
        judged(plan, store, draw)
        estimator = TrialTimes("d", store.records())
        for config in plan.runs:
            estimator.seconds(config)
        if draw.random() < 0.1:
            writer = Store(root, source_of)
            with writer.writing():
                for config, seed in plan.trials_to_run():
                    writer.find(config, seed)
        if said:
            raise StoreError(said[0])

    return a_store


def checkpoints(inside: Path) -> Reader:
    """A trial's checkpoint, damaged, or with what it says of its numbers changed and sealed."""
    name, cpu = trial_name("0123456789abcdef", 3), torch.device("cpu")
    identity = {"run": "0123456789abcdef", "seed": 3, "source": "a", "versions": {"torch": "2"}}
    state = {
        "at": "round 2", "weights": {"w": torch.arange(6.0).reshape(2, 3).t()}, "seen": (1, None),
        "chosen": np.arange(4), "curve": Curve((1, 2), (0.25, 0.5)), "by": {0: [True], 1: [0.5]},
    }  # fmt: skip

    def opened(said: list[str]) -> TrialFile:
        return TrialFile(inside, name, identity, ["fedrepro.methods"], cpu, said.append, 0.2)

    with opened([]) as file:
        file.write(state)
    sound = file.path.read_bytes()
    magic = sound.index(b"\n") + 1
    length = int(sound[magic : magic + 20])
    head = json.loads(sound[magic + 20 : magic + 20 + length])
    numbers = sound[magic + 20 + length : -64]

    def a_checkpoint(draw: random.Random) -> None:
        if draw.random() < 0.4:
            content = damaged(sound, draw)
        else:
            plain = json.dumps(changed(head, draw)).encode()
            if draw.random() < 0.1:
                plain = damaged(plain, draw)
            content = sound[:magic] + f"{len(plain):20d}".encode() + plain + numbers
            content += sha256_of(content).encode()
        file.path.write_bytes(content)
        said: list[str] = []
        with opened(said) as again:
            found = again.read()
            assert found is None or not said  # what is set aside is never used
            again.write(state)
        with opened(said) as again:
            assert again.read()["at"] == "round 2"
        if said:
            raise StoreError(said[0])

    return a_checkpoint


def results(inside: Path, plan: Plan) -> Reader:
    """Results of somebody else's as CSV or JSON lines, damaged; then a report on them."""
    paper = plan.paper
    lines = [
        {
            "table": one.cell.table,
            "row": "|".join(one.cell.row),
            "column": "|".join(one.cell.column),
            "seed": seed,
            "value": 40.5 + seed,
        }
        for one in plan.cells
        for seed in range(3)
    ]
    table = "\n".join(",".join(map(str, one.values())) for one in lines)
    sound = {
        "own.csv": ",".join(lines[0]) + "\n" + table + "\n",
        "own.jsonl": "\n".join(map(json.dumps, lines)) + "\n",
    }

    def some_results(draw: random.Random) -> None:
        name = draw.choice(list(sound))
        content = damaged(sound[name].encode(), draw)
        if name == "own.jsonl" and draw.random() < 0.6:
            content = "\n".join(json.dumps(changed(one, draw)) for one in lines[:3]).encode()
        (inside / name).write_bytes(content)
        protocol: Any = draw.choice(("full", "scaled"))
        rows = read_files([inside / name], paper)
        shown(judge_external(paper, rows, command="", protocol=protocol, audit=False), draw)

    return some_results


def baselines(inside: Path, plan: Plan, outcome: Outcome) -> Reader:
    """A baseline and a report, damaged or with one value changed; then a comparison with each."""
    store = filled(inside / "store", plan, outcome)
    report = judge(plan, load_trials(plan, store), command="fedrepro", audit=False)
    recorded = comparison.recorded(report)
    comparison.save(inside / "b.json", recorded)
    writer = importlib.import_module("fedrepro.reports.publish").formats()["json"]
    sound: Mapping[str, bytes] = {
        "b.json": (inside / "b.json").read_bytes(),
        "report.json": writer.render([report]).encode(),
    }

    def a_baseline(draw: random.Random) -> None:
        name = draw.choice(list(sound))
        content = sound[name]
        if draw.random() < 0.6:
            content = json.dumps(changed(json.loads(content), draw)).encode()
        else:
            content = damaged(content, draw)
        (inside / name).write_bytes(content)
        if name == "report.json":
            for read in comparison.read_reports(inside / name):
                comparison.compare(read, recorded)
        else:
            then = comparison.load(inside / name)
            other = replace(report, paper=then.paper, profile=then.profile)
            for moved in comparison.check(then, other).movements:
                assert moved.sentence

    return a_baseline
