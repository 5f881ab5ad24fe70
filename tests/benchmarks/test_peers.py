"""The table of other simulators, without any of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.peers.table import joined, table
from tests.benchmarks.peers.work import Work, processor_seconds


def test_the_table_gives_ratios_of_medians_and_says_who_did_not_run_and_who_did_other_work() -> (
    None
):
    lines = table(
        "a round",
        {
            "fedrepro": ([2.0, 1.0, 9.0], 0.9),
            "fedlab": ([4.0, 5.0, 3.0], 0.85),
            "flower": ([8.0], 0.5),
            "pfl_research": "ModuleNotFoundError: No module named 'pfl'",
        },
    )
    assert "| FedLab | 4 | 2.00 | 85.0 % |" in lines
    assert "| Flower (Ray) | 8 | 4.00 | 50.0 %, not the same |" in lines
    assert any("did not run: ModuleNotFoundError" in line for line in lines)


def test_turns_are_joined_and_one_failure_is_a_failure() -> None:
    assert joined([([1.0], 0.5), ([2.0, 3.0], 0.7)]) == ([1.0, 2.0, 3.0], pytest.approx(0.6))
    assert joined([([1.0], 0.5), "not done in 9 s"]) == "not done in 9 s"


def test_every_client_of_the_work_has_fifty_images_and_the_network_one_start() -> None:
    work = Work("28x28 LeNet", 3, 1)
    images, labels = work.client(2)
    assert images.shape == (50, 1, 28, 28)
    assert labels.shape == (50,)
    for one, other in zip(work.module().parameters(), work.module().parameters(), strict=True):
        assert (one == other).all()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="read from Linux's /proc")
def test_processor_time_counts_what_other_processes_did_for_this_one() -> None:
    before = processor_seconds()
    busy = "import time\nwhile time.process_time() < 0.5: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert processor_seconds() - before >= 0.45
