"""A tiny experiment on real digits as config and paper, and stores of it."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.spec.model import Paper, Profile, Table
from fedrepro.benchmark.spec.settings import merge
from fedrepro.benchmark.store.store import Store
from fedrepro.methods.outcome import Curve, Outcome
from tests.benchmark.audit.small_paper import cell
from tests.benchmark.small_papers import TINY, Make, MakePaper, as_published

torch.set_num_threads(1)


@pytest.fixture
def tiny() -> dict[str, Any]:
    """The experiment as a spec gives it."""
    return copy.deepcopy(TINY)


@pytest.fixture
def tiny_config() -> Make:
    """Makes the tiny experiment's config, changed by nested mappings."""

    def make(*changes: dict[str, Any], metric: str = "accuracy") -> RunConfig:
        resolved = as_published(merge(TINY, *changes), metric)
        assert resolved.config is not None, resolved.reason
        return resolved.config

    return make


@pytest.fixture
def tiny_paper() -> MakePaper:
    """Makes a paper of one table: a row per (label, changes), a column per reading."""

    def make(
        rows: dict[str, dict[str, Any]], at: tuple[Any, ...] = ("final",), trials: int = 1
    ) -> Paper:
        cells = tuple(
            cell("50.00", label, f"at {a}", at=a, experiment=merge(TINY, changes))
            for label, changes in rows.items()
            for a in at
        )
        table = Table("1", "t", "1", "empirical", "accuracy", "%", paper="p", cells=cells)
        profile = Profile(trials, name="smoke")
        return Paper("p", "P", "A", 2020, {"smoke": profile}, tables=(table,))

    return make


@pytest.fixture
def outcome() -> Outcome:
    """A finished training with every part that can be stored."""
    return Outcome(
        metrics={"accuracy": Curve((1, 2), (0.25, 0.5))},
        counts={"parameters": 7.0},
        arrays={"choice": np.arange(6).reshape(2, 3)},
        encoder={"encoder.conv0.weight": torch.arange(4.0).reshape(1, 4)},
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store whose sources never change."""
    return Store(tmp_path / "store", source_of=lambda config: {"methods/a.py": "1"})
