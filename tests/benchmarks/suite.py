"""A suite of any size: copies of the five papers' specs, and a store with a made-up trial of each.

The specs of a copy are those of the paper, read from files like them, but for the numbers of images
that its runs are given, so that no copy shares a run with another.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.spec.folders import tables_root
from fedrepro.benchmark.spec.load import paper_ids
from fedrepro.benchmark.store import files
from fedrepro.benchmark.store.store import Store
from fedrepro.methods.outcome import Curve, Outcome

IMAGES = 100_000
"""Of a run of the first copy; each further copy has one more."""
_RELEASE: Mapping[str, Any] = {"is_release": True, "source": "made up", "note": None}


def write_copies(folder: Path, copies: int) -> None:
    """Specs of `copies` times as many papers as there are, in folders like those of `tables/`."""
    for paper in paper_ids():
        for copy in range(copies):
            target = folder / f"{paper}-{copy}"
            shutil.copytree(tables_root() / paper, target)
            spec = target / "paper.toml"
            spec.write_text(_renamed(spec.read_text(encoding="utf-8"), paper, copy), "utf-8")


def _renamed(spec: str, paper: str, copy: int) -> str:
    spec = spec.replace(f'"{paper}"', f'"{paper}-{copy}"', 1)
    for section in ("clients", "pretraining"):
        head = f"[experiment.{section}]\n"
        if head not in spec:
            spec = f"{spec}\n{head}"
        spec = spec.replace(head, f"{head}images = {IMAGES + copy}\n", 1)
    return spec


def fill(store: Store, plan: Plan) -> int:
    """Stores a trial of every run of a plan, for every seed; how many trials that is.

    The values are near the printed ones, so that all verdicts occur; they show nothing else.
    """
    metrics = _wanted(plan)
    trials = plan.trials_to_run()
    # Not waiting for the disk: what is measured is the reading.
    with patch.object(files.os, "fsync"), store.writing():
        for config, seed in trials:
            store.save(config, seed, _outcome(config, seed, metrics.get(config, {})), _MADE)
    return len(trials)


_MADE: Mapping[str, Any] = {
    "device": "made up",
    "versions": {"python": "3", "torch": "2", "numpy": "2", "scipy": "1", "scikit-learn": "1"},
    "commit": "0" * 40,
    "started": "2026-01-01T00:00:00+00:00",
    "wall_s": 1.5,
    "threads": 1,
    "data": {"clients train": _RELEASE, "clients test": _RELEASE},
}


def _wanted(plan: Plan) -> dict[RunConfig, dict[str, float]]:
    """By run, the metrics that its cells and figures read, with a value near what is printed."""
    wanted: dict[RunConfig, dict[str, float]] = {}
    for one in plan.cells:
        if one.config is not None and one.cell.metric is not None:
            printed = one.cell.printed.value
            scale = 0.01 if one.cell.unit == "%" else 1.0
            value = 0.5 if printed is None else scale * float(printed)
            wanted.setdefault(one.config, {})[one.cell.metric] = value
    for drawn in plan.drawings:
        if drawn.config is not None:
            wanted.setdefault(drawn.config, {}).setdefault(drawn.run.metric or "accuracy", 0.5)
    return wanted


def _outcome(config: RunConfig, seed: int, metrics: Mapping[str, float]) -> Outcome:
    draw = random.Random(f"{config.key} {seed}")
    rounds = tuple(range(1, 1 + int(config.options.get("rounds") or 1)))
    shift = draw.choice([0.0, 0.0, 0.02, 0.1])
    return Outcome(
        metrics={
            name: Curve(rounds, tuple(abs(value + shift + draw.gauss(0, 0.005)) for _ in rounds))
            for name, value in (metrics or {"loss": 1.0}).items()
        },
        counts={"parameters": 12345.0, "uploaded_bytes": 1e6, "downloaded_bytes": 1e6},
        arrays=_arrays() if config.stage != "pretraining" else {},
    )


@cache
def _arrays() -> Mapping[str, NDArray[Any]]:
    """Arrays that every kind of figure finds its own in."""
    draw = np.random.default_rng(0)
    return {
        "choice": draw.integers(0, 3, (10, 12)),
        "class_counts": draw.integers(0, 20, (12, 10)),
        "group": np.arange(12) // 4,
        "xy": draw.normal(size=(120, 2)),
        "label": np.arange(120) % 10,
        "client": np.arange(120) % 3,
    }
