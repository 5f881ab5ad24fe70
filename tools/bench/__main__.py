"""Ratios of medians as Markdown tables: `python -m tools.bench`.

The calls of a group are taken in turns, so that whatever else the machine does falls on all of
them; absolute seconds hold for one machine on one day. Times are those of the processor (all
threads of the process), which other processes disturb less than the clock on the wall.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator

import torch

from tools.bench import cases
from tools.bench.shapes import SHAPES

UNLIKE = ("8x8 digits", "28x28 LeNet")
TWO_CORES = {"8x8 digits": 60, "28x28 LeNet": 10, "32x32 four layers": 10}


def measured(group: cases.Group, turns: int) -> dict[str, float]:
    """Median seconds of every call, divided by how many things it handles; one turn to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in group.calls}
    for turn in range(turns + 1):
        for name, call in group.calls.items():
            begun = group.clock()
            call()
            if turn:
                seconds[name].append(group.clock() - begun)
    each = group.each or {}
    return {name: statistics.median(values) / each.get(name, 1) for name, values in seconds.items()}


def table(title: str, times: dict[str, float]) -> str:
    """A table of milliseconds, and the ratio to the first call's."""
    first = next(iter(times.values()))
    rows = [f"| {name} | {1e3 * t:.3g} | {t / first:.2f} |" for name, t in times.items()]
    return "\n".join([f"**{title}**", "", "| | ms | × first |", "|---|---|---|", *rows, ""])


def groups(shapes: list[str], clients: int | None) -> Iterator[Callable[[], cases.Group]]:
    """What is timed, each built when its turn comes."""
    for name in shapes:
        yield lambda name=name: cases.rounds(SHAPES[name], clients)
        yield lambda name=name: cases.precisions(SHAPES[name], clients)
    for name in UNLIKE:
        yield lambda name=name: cases.unlike_rounds(SHAPES[name])
    for name, n in TWO_CORES.items():
        yield lambda name=name, n=n: cases.rounds_on_two_cores(SHAPES[name], n)
    yield from (cases.views, cases.simclr_steps, cases.growth_with_clients)
    yield from (cases.growth_with_unlike_clients, cases.growth_with_images)
    yield cases.growth_with_models


def main() -> None:
    """Prints the tables."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--shapes", nargs="*", default=list(SHAPES), choices=list(SHAPES))
    options.add_argument("--clients", type=int, help="clients a round; by default the shape's own")
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    for build in groups(chosen.shapes, chosen.clients):
        group = build()
        print(table(group.title, measured(group, chosen.turns)), flush=True)


if __name__ == "__main__":
    main()
