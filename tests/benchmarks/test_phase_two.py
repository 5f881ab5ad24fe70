"""MFCL's phase 2 on the whole of CIFAR-10 fits a small machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.data
def test_full_size_mini_batches_stay_within_8_gb() -> None:
    if "FEDREPRO_DATA" not in os.environ:
        pytest.skip("needs CIFAR-10 under FEDREPRO_DATA")
    command = [sys.executable, "-m", "tests.benchmarks.phase_two", "--steps", "1"]
    ran = subprocess.run(command, capture_output=True, check=True, text=True)
    found = json.loads(ran.stdout)
    assert found["images"] == 50_000
    assert found["representations_bytes"] == 50_000 * 16 * 64 * 16 * 16 * 4
    assert found["peak"] < 8e9
