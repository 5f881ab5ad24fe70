"""For every test: one torch thread, random numbers of its own, no clock, nothing of the user's."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)
torch.manual_seed(0)
settings.register_profile(
    "explore", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=False
)
settings.register_profile("repeat", settings.get_profile("explore"), derandomize=True)
settings.load_profile("repeat")

DATA = Path(os.environ.get("FEDREPRO_DATA", "data")).absolute()
"""The user's data sets, for tests that are marked `data` alone."""


@pytest.fixture(scope="session", autouse=True)
def _nothing_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests stand in an empty folder, with an empty home, and without `FEDREPRO_*`. So they read no
    results or tables of the checkout, no cache and no configuration; nor how wide and coloured a
    terminal is."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("FEDREPRO_", "XDG_"))]:
            patch.delenv(name)
        for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR"):
            patch.delenv(name, raising=False)
        for name in ("HOME", "USERPROFILE"):
            patch.setenv(name, str(tmp_path_factory.mktemp("home")))
        patch.chdir(tmp_path_factory.mktemp("stands-here"))
        yield


@pytest.fixture(autouse=True)
def _same_random_numbers() -> None:
    """What a test draws does not hang on the tests that ran before it in the same process."""
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _data_of_the_user(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("data"):
        monkeypatch.setenv("FEDREPRO_DATA", str(DATA))


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
