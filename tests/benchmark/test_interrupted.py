"""Whether a trial that is stopped anywhere goes on to the same outcome, bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedrepro.methods import checkpoint
from tests.benchmark.interruptions import TIMES, assert_same, disturbed, one_of_each, undisturbed

RUNS = one_of_each()


@pytest.fixture(autouse=True)
def costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_SHARE", 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS, ids="-".join)
def test_stopped_at_every_place(name: tuple[str, str], tmp_path: Path) -> None:
    config = RUNS[name]
    expected, known = undisturbed(config, 0)
    found, provenance, stops = disturbed(config, 0, tmp_path)
    assert_same(found, expected)
    assert provenance["interrupted"] == stops
    assert {k: v for k, v in provenance.items() if k not in (*TIMES, "interrupted")} == {
        k: v for k, v in known.items() if k not in (*TIMES, "interrupted")
    }
