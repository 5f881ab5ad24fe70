"""For every test: one torch thread, no verdict from a clock, a cache of its own, counts told."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

import pytest
import torch
from hypothesis import HealthCheck, settings

from fedrepro.benchmark.execution.here import processor
from fedrepro.benchmark.planning import calibration, kept

torch.set_num_threads(1)
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=False
)
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def _usual_speed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache folder of the tests' own, in which a usual speed of this device is known."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        entry = {"measured": time.time(), "seconds": asdict(calibration.USUAL)}
        kept.write(calibration.FILE, {calibration.key_of(processor(), "float32"): entry})
        yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line for every test that recorded properties, and the sums of those that are counts."""
    sums = Counter[str]()
    for report in terminalreporter.getreports("passed"):
        if report.user_properties:
            told = ", ".join(f"{value} {name}" for name, value in report.user_properties)
            terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {told}")
            sums.update({name: n for name, n in report.user_properties if isinstance(n, int)})
    if sums:
        told = ", ".join(f"{n} {name}" for name, n in sums.items())
        terminalreporter.write_line(f"in all: {told}")
