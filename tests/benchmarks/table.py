"""Ratios of medians as a Markdown table and a plot: `python -m tests.benchmarks.table docs`.

The calls of a group are taken in turns, so that whatever else the machine does falls on all of
them; absolute seconds hold for one machine on one day. Times are those of the processor (all
threads of the process), which other processes disturb less than the clock on the wall.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from tests.benchmarks import cases, where
from tests.benchmarks.peak import memory_table
from tests.benchmarks.shapes import SHAPES

UNLIKE = ("8x8 digits", "28x28 LeNet")
TWO_CORES = {"8x8 digits": 60, "28x28 LeNet": 10, "32x32 four layers": 10}
LIMITS = ("oneDNN", "channels last", "unfold and matrix product")
Times = dict[str, float]


def measured(group: cases.Group, turns: int) -> Times:
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


def table(title: str, times: Times, unit: float, what: str) -> list[str]:
    """Lines of Markdown: milliseconds and the ratio to `unit` seconds."""
    rows = [f"| {name} | {1e3 * t:.3g} | {t / unit:.2f} |" for name, t in times.items()]
    return [f"**{title}**", "", f"| | ms | × {what} |", "|---|---|---|", *rows, ""]


def plot(rounds: dict[str, Times], path: Path) -> None:
    """Bars of how many times the limit a round takes, for every shape."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "fedrepro"
    from matplotlib import pyplot as plt

    names = [name for name in next(iter(rounds.values())) if name not in LIMITS]
    figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
    for i, name in enumerate(names):
        ratios = [times[name] / limit(times) for times in rounds.values()]
        places = [
            shape + (i - (len(names) - 1) / 2) * 0.8 / len(names) for shape in range(len(rounds))
        ]
        bars = axes.bar(places, ratios, 0.8 / len(names), label=name)
        axes.bar_label(bars, fmt="%.1f", fontsize=7)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks(range(len(rounds)), list(rounds))
    axes.set_ylabel("times the limit")
    axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def limit(times: Times) -> float:
    """The fastest central training."""
    return min(times[name] for name in LIMITS)


def main(argv: list[str] | None = None) -> int:
    """Writes `benchmarks.md` and `benchmarks.svg` into the folder that is asked for."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--shapes", nargs="*", default=list(SHAPES), choices=list(SHAPES))
    options.add_argument("--clients", type=int, help="clients a round; by default the shape's own")
    chosen = options.parse_args(argv)
    torch.set_num_threads(chosen.threads)
    lines = [
        "# How fast",
        "",
        "Written by `nox -s bench`. Medians of calls in turns, processor time, "
        f"{chosen.threads} thread(s), {chosen.turns} turns, torch {torch.__version__}, "
        f"{platform.machine()}, {os.cpu_count()} cores. When it began, "
        f"{os.getloadavg()[0]:.0f} processes wanted a core, and caches were shared with them. "
        "Only ratios mean something elsewhere. No GPU was used. "
        "Other simulators are run by `nox -s bench-peers`.",
        "",
        "![Rounds against the limit](benchmarks.svg)",
        "",
        "## A round of FedAvg",
        "",
        "Clients of 50 images, 3 local epochs, batches of 32, Adam. The limit is the same number "
        "of images in central training, batches of 256, by the fastest of three convolutions.",
        "",
    ]
    rounds: dict[str, Times] = {}
    for name in chosen.shapes:
        group = cases.rounds(SHAPES[name], chosen.clients)
        rounds[name] = measured(group, chosen.turns)
        lines += table(group.title, rounds[name], limit(rounds[name]), "limit")
        print(f"{name}: done", file=sys.stderr)
    lines += [
        "## Where the time goes",
        "",
        "A round under torch's profiler, by kinds of operators, as times of the limit's whole "
        "round (here by convolutions with the channels last).",
        "",
    ]
    for name in chosen.shapes:
        found = where.shares(SHAPES[name], chosen.clients, chosen.turns)
        lines += where.table(name, found)
        print(f"{name}: profiled", file=sys.stderr)
    growths: list[Callable[[], cases.Group]] = [
        cases.growth_with_clients,
        cases.growth_with_unlike_clients,
        cases.growth_with_images,
        cases.growth_with_models,
    ]
    unlike = [partial(cases.unlike_rounds, SHAPES[name]) for name in UNLIKE]
    precisions = [partial(cases.precisions, SHAPES[name], chosen.clients) for name in chosen.shapes]
    spread = [
        partial(cases.rounds_on_two_cores, SHAPES[name], clients)
        for name, clients in TWO_CORES.items()
    ]
    others: list[tuple[str, list[Callable[[], cases.Group]]]] = [
        ("Precision", list(precisions)),
        ("Unlike clients", list(unlike)),
        ("Two cores", list(spread)),
        ("Self-supervised steps", [cases.views, cases.parts_of_views, cases.simclr_steps]),
        ("Growth", growths),
    ]
    for heading, groups in others:
        lines += [f"## {heading}", ""]
        for build in groups:
            group = build()
            times = measured(group, chosen.turns)
            first = next(iter(times))
            lines += table(group.title, times, times[first], f"'{first}'")
            print(f"{group.title}: done", file=sys.stderr)
    lines += memory_table()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    (chosen.folder / "benchmarks.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    plot(rounds, chosen.folder / "benchmarks.svg")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
