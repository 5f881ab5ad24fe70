"""For every test: one torch thread, no verdict from a clock, and what was counted is told."""

from collections import Counter

import pytest
import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=False
)
settings.load_profile("untimed")


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
