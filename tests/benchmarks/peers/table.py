"""Simulators side by side: `python -m tests.benchmarks.peers.table docs` writes `peers.md`.

Every simulator is a process of its own, one after the other, in turns; a round's time is the median
of all turns' rounds but each turn's first, in processor time of the process and all that it
started. One thread each, one core for Ray.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

SIMULATORS = {
    "fedrepro": "this engine",
    "fedrepro_bf16": "this engine, bf16",
    "pfl_research": "apple/pfl-research",
    "fedlab": "FedLab",
    "flower": "Flower (Ray)",
}
SHAPES = ("28x28 LeNet", "32x32 four layers")
TOLERANCE = 0.1
QUIET = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}

Outcome = tuple[list[float], float] | str
"""Seconds of rounds and the accuracy reached, or why there are none."""


def outcome(simulator: str, shape: str, clients: int, rounds: int, limit: int) -> Outcome:
    """One process of a simulator; its first round, which warms up, is left out."""
    command = [sys.executable, "-m", "tests.benchmarks.peers.run", simulator, shape]
    try:
        done = subprocess.run(
            [*command, str(clients), str(rounds)],
            capture_output=True,
            text=True,
            timeout=limit,
            env={**os.environ, **QUIET},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"not done in {limit} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return found["seconds"][1:], found["accuracy"]


def joined(turns: Sequence[Outcome]) -> Outcome:
    """All turns of a simulator; the first failure if there is one."""
    seconds: list[float] = []
    for turn in turns:
        if isinstance(turn, str):
            return turn
        seconds += turn[0]
    return seconds, statistics.mean(turn[1] for turn in turns if not isinstance(turn, str))


def table(title: str, outcomes: dict[str, Outcome]) -> list[str]:
    """Lines of Markdown: seconds a round, the ratio to the engine, the accuracy reached."""
    lines = [f"**{title}**", "", "| | s a round | × engine | accuracy |", "|---|---|---|---|"]
    own = outcomes["fedrepro"]
    for name, found in outcomes.items():
        if isinstance(found, str) or isinstance(own, str):
            why = found if isinstance(found, str) else "nothing to compare with"
            lines.append(f"| {SIMULATORS[name]} | did not run: {why.replace('|', '/')} | | |")
            continue
        round_, accuracy = statistics.median(found[0]), found[1]
        ratio = round_ / statistics.median(own[0])
        apart = "" if abs(accuracy - own[1]) <= TOLERANCE else ", not the same"
        lines.append(
            f"| {SIMULATORS[name]} | {round_:.3g} | {ratio:.2f} | {100 * accuracy:.1f} %{apart} |"
        )
    return [*lines, ""]


def main(argv: list[str] | None = None) -> int:
    """Writes `peers.md` into the folder that is asked for."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--clients", type=int, default=10)
    options.add_argument("--rounds", type=int, default=12)
    options.add_argument("--turns", type=int, default=2)
    options.add_argument("--limit", type=int, default=900, help="seconds for one process")
    options.add_argument("--only", nargs="*", default=list(SIMULATORS), choices=list(SIMULATORS))
    chosen = options.parse_args(argv)
    lines = [
        "# Other simulators",
        "",
        f"Written by `nox -s bench-peers`. FedAvg: {chosen.clients} clients of 50 images, "
        "3 local epochs, batches of 32, Adam 1e-3; the same images and initial weights. Medians of "
        f"{chosen.turns} turn(s) of {chosen.rounds - 1} rounds, processor time, after a first "
        f"round and start-up that are not counted; one thread. torch {torch.__version__}, "
        f"{platform.machine()}, {os.cpu_count()} cores; when it began, {os.getloadavg()[0]:.0f} "
        "processes wanted a core. Only ratios mean something elsewhere. Accuracy: the last "
        "model's on all training images. All work in float32 but where bf16 is said. Simulators "
        "draw batches from streams of their own, so it "
        f"is called the same within {100 * TOLERANCE:.0f} points.",
        "",
    ]
    for shape in SHAPES:
        turns: dict[str, list[Outcome]] = {name: [] for name in chosen.only}
        for turn in range(chosen.turns):
            for name in chosen.only:
                found = outcome(name, shape, chosen.clients, chosen.rounds, chosen.limit)
                turns[name].append(found)
                print(f"{shape}, {name}, turn {turn + 1}: {found}", file=sys.stderr)
        outcomes = {name: joined(found) for name, found in turns.items()}
        lines += table(f"{chosen.clients} clients, {shape}", outcomes)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    (chosen.folder / "peers.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
