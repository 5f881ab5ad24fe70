"""Peak memory of a round against what the engine should need at most.

Bound, without data and libraries: every client's model before, after and for the average (three
stacks, of which the average is in double precision), and for the clients of one step weights,
gradients and two moments, and twice `step_bytes` of activations and their gradients.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import torch

from fedrepro.methods.state import n_bytes
from fedrepro.methods.training.probing import step_bytes
from tests.benchmarks.rounds import engine_round
from tests.benchmarks.shapes import IMAGES, SHAPES, federation

MEASURED = (
    ("8x8 digits", 10),
    ("8x8 digits", 100),
    ("8x8 digits", 1000),
    ("28x28 LeNet", 10),
    ("28x28 LeNet", 60),
    ("32x32 four layers", 10),
)


def bound(shape_name: str, clients: int) -> int:
    """Bytes that a round may add to the process."""
    model = n_bytes(SHAPES[shape_name].model().new(torch.Generator()))
    step = step_bytes(torch.device("cpu"))
    return 4 * clients * model + 4 * max(model, step) + 2 * step


def peak(shape_name: str, clients: int) -> int:
    """Bytes that a round added to the peak of this process; for a fresh process only."""
    torch.set_num_threads(1)
    shape = SHAPES[shape_name]
    small = engine_round(shape, federation(shape, [IMAGES] * 1))
    data = federation(shape, [IMAGES] * clients)
    small()
    before = most_resident()
    engine_round(shape, data)()
    return most_resident() - before


def most_resident() -> int:
    """Bytes; from Linux's own count, since `ru_maxrss` begins with what the parent process used."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None
    return 1024 * int(found[1])


def memory_table() -> list[str]:
    """Lines of Markdown: peak and bound for growing numbers of clients, each in a fresh process."""
    lines = [
        "## Memory",
        "",
        "What a round adds to the peak of the process (over a round of one client), and the bound "
        "that `tests/benchmarks/peak.py` states.",
        "",
        "| | clients | MiB | bound, MiB |",
        "|---|---|---|---|",
    ]
    for name, clients in MEASURED:
        command = [sys.executable, "-m", "tests.benchmarks.peak", name, str(clients)]
        found = int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        lines.append(f"| {name} | {clients} | {found >> 20} | {bound(name, clients) >> 20} |")
    return [*lines, ""]


if __name__ == "__main__":
    print(peak(sys.argv[1], int(sys.argv[2])))
