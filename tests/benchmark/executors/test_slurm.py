import io
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fedrepro.benchmark.execution.display import Display
from fedrepro.benchmark.execution.run import execute
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.store import Store
from tests.benchmark.runs import carry_out

PATIENCE_S = 60
"""For a job that was cancelled to leave the queue."""

pytest.importorskip("fedrepro.benchmark.execution.executors.parsl")


def _nodes() -> str:
    if shutil.which("sinfo") is None:
        return ""
    asked = ["sinfo", "--noheader", "--states=idle,mixed,allocated", "--format=%n"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


pytestmark = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.skipif(not _nodes(), reason="no SLURM with a usable node"),
]


@pytest.fixture
def slurm(tmp_path: Path) -> Path:
    """Two workers in a batch job of the default partition."""
    file = tmp_path / "cluster.toml"
    checkout = Path(__file__).parents[3]
    file.write_text(
        f'provider = "slurm"\nworkers_per_node = 2\nfolder = "{tmp_path / "cluster"}"\n'
        f'heartbeat_s = 8\n[options]\nwalltime = "00:10:00"\nexclusive = false\n'
        f"worker_init = \"export PYTHONPATH='{checkout}'\"\n"
    )
    return file


def test_a_batch_job_that_is_cancelled_costs_nothing_and_the_store_is_the_same(
    tiny_paper: Callable[..., Paper],
    tmp_path: Path,
    slurm: Path,
    contents_of: Callable[[Path], dict[str, Any]],
) -> None:
    plan = make_plan(tiny_paper({"a": {"training": {"rounds": 300}}}, trials=6), "smoke")
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    carry_out(plan, here, jobs=2)
    cancelled: list[str] = []

    class Cancelling(Display):
        """Cancels the batch job as soon as a trial has come back from it."""

        def ended(self, name: tuple[str, int], failed: bool) -> None:
            super().ended(name, failed)
            if not cancelled:
                cancelled.extend(_jobs())
                subprocess.run(["scancel", *cancelled], check=True)

    progress = Cancelling(Console(file=io.StringIO()))
    done = execute(plan, there, device="cpu", progress=progress, executor="parsl", cluster=slurm)
    assert len(cancelled) == 1
    assert done.trained == 6
    assert contents_of(there.root) == contents_of(here.root)
    deadline = time.monotonic() + PATIENCE_S
    while _jobs() and time.monotonic() < deadline:
        time.sleep(0.5)
    assert _jobs() == []


def _jobs() -> list[str]:
    asked = ["squeue", "--me", "--noheader", "--format=%i %j"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    jobs = map(str.split, found.splitlines())
    return [id for id, name in jobs if name.startswith("parsl.fedrepro")]
