"""A device's speed is measured once and kept; what is damaged, old or another's is not taken."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.planning import calibration as calibrating
from fedrepro.benchmark.planning import kept
from fedrepro.benchmark.planning.calibration import FILE, MAX_AGE_DAYS, USUAL, calibration, key_of
from fedrepro.benchmark.planning.work import Work

SLOW = replace(USUAL, operator=1.0)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The devices that were measured, in a cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    devices: list[str] = []

    def measure(device: str, precision: str) -> tuple[calibrating.Calibration, bool]:
        devices.append(device)
        return SLOW, True

    monkeypatch.setattr(calibrating, "_measured", measure)
    return devices


def test_a_device_is_measured_once(measured: list[str]) -> None:
    assert calibration("cpu", "here") == calibration("cpu", "here") == SLOW
    assert measured == ["cpu"]


def test_devices_and_precisions_are_measured_apart(measured: list[str]) -> None:
    for name, precision in (("here", "float32"), ("here", "bf16"), ("there", "float32")) * 2:
        calibration("cpu", name, precision)
    assert len(measured) == 3


@pytest.mark.parametrize(
    "damage",
    [
        "{", "[]", "null", '{"KEY": 3}', '{"KEY": {"measured": 1}}',
        '{"KEY": {"measured": NOW, "seconds": {"operator": 1}}}',
        '{"KEY": {"measured": NOW, "seconds": {"operator": "x"}}}',
        '{"KEY": {"measured": "x", "seconds": ALL}}',
    ],
)  # fmt: skip
def test_a_damaged_file_is_measured_anew(measured: list[str], damage: str) -> None:
    content = damage.replace("KEY", key_of("here", "float32")).replace("NOW", str(time.time()))
    content = content.replace("ALL", str(asdict(USUAL)).replace("'", '"'))
    kept.folder().mkdir(parents=True)
    (kept.folder() / FILE).write_text(content)
    assert calibration("cpu", "here") == SLOW
    assert calibration("cpu", "here") == SLOW
    assert measured == ["cpu"]


@pytest.mark.parametrize(
    ("change", "age_days"),
    [({"operator": -1.0}, 0), ({"byte": float("nan")}, 0), ({}, MAX_AGE_DAYS + 1), ({}, -1)],
)
def test_what_cannot_be_true_or_is_too_old_is_measured_anew(
    measured: list[str], change: dict[str, Any], age_days: int
) -> None:
    entry = {
        "measured": time.time() - age_days * 86_400,
        "seconds": {**asdict(USUAL), **change},
    }
    kept.write(FILE, {key_of("here", "float32"): entry})
    assert calibration("cpu", "here") == SLOW


def test_a_folder_that_cannot_be_written_leaves_the_measurement(
    measured: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert calibration("cpu", "here") == SLOW


def test_memory_that_runs_out_leaves_a_usual_speed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(device: str) -> calibrating.Calibration:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(calibrating, "_fitted", full)
    assert calibration("cpu", "here") == USUAL
    assert kept.read(FILE) is None


def test_seconds_are_the_sum_of_what_each_part_takes() -> None:
    work = Work(*(10.0**k for k in range(7)))
    parts = asdict(USUAL).values()
    assert USUAL.seconds(work) == pytest.approx(sum(each * 10.0**k for k, each in enumerate(parts)))


@pytest.mark.slow
def test_this_device_is_measured_to_be_no_miracle() -> None:
    found, whole = calibrating._measured("cpu", "float32")
    assert whole
    # From an old processor to a fast one; timing decides nothing finer here.
    assert 1e-7 < found.operator < 1e-3
    assert 1e-13 < found.multiply_add < 1e-8
