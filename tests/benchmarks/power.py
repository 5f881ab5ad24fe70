"""How often a true difference is shown, by its size and the trials: fixed, or looked at on the way.

    python -m tests.benchmarks.power docs

Writes claims-power.svg, and prints the tables of `docs/verdicts.md`: power, and how often methods
are called better that are not.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from fedrepro.benchmark.stats.looks import sequential_p, shares
from fedrepro.benchmark.stats.paired import Floats, p_above, p_t
from tests.benchmark.paired_trials import FAMILIES, one_arm_collapses

TRIALS = (5, 10, 20, 40)
EFFECTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Mean paired differences in units of their standard deviation."""
TABLES = 2000


def power(effect: float) -> tuple[list[float], list[float]]:
    """The share of samples in which a claim holds: by trials, and by the last of the looks."""
    rng = np.random.default_rng(int(effect * 100))
    found = rng.normal(effect, 1, size=(TABLES, TRIALS[-1]))
    each = np.array([p_above(found[:, :n]) for n in TRIALS])
    spent = shares(TRIALS, TRIALS[-1])
    by_look = [
        np.array([sequential_p(one, spent[:count]) for one in each[:count].T])
        for count in range(1, len(TRIALS) + 1)
    ]
    return [_rate(p) for p in each], [_rate(p) for p in by_look]


def errors() -> Iterator[tuple[str, list[str]]]:
    """By kind of trials: how often a method is called better that is not, t's own rate behind."""
    rng = np.random.default_rng(1)
    for name, draw in FAMILIES.items():
        arms = draw(rng, (2, TABLES, TRIALS[-1]))
        parts = [(arms[0] - arms[1])[:, :n] for n in TRIALS]
        yield name, [f"{_rate(p_above(one)):.3f} ({_rate(p_t(one)):.3f})" for one in parts]
    for drop in (4.0, 8.0, 20.0):
        parts = [one_arm_collapses(rng, TABLES, n, drop) for n in TRIALS]
        rates = [f"{_rate(p_above(one)):.3f} ({_rate(p_t(one)):.3f})" for one in parts]
        yield f"only one collapses by {drop:g} SD", rates


def plot(rows: Sequence[tuple[list[float], list[float]]], path: Path) -> None:
    """Power by effect, one line a number of trials; looked at on the way dashed."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "power"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.6))
    for index, n in enumerate(TRIALS):
        (line,) = axes.plot(EFFECTS, [fixed[index] for fixed, _ in rows], label=f"{n} trials")
        looked = [looks[index] for _, looks in rows]
        axes.plot(EFFECTS, looked, "--", color=line.get_color(), linewidth=1)
    axes.axhline(0.05, color="grey", linewidth=0.5)
    axes.set_xlabel("mean difference, in SD of the paired differences")
    axes.set_ylabel("share of samples that show it")
    axes.legend(title="dashed: looks at\n5, 10, 20, 40 so far", fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main(argv: Sequence[str] | None = None) -> int:
    """Simulates, prints both tables and draws the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out: Path = parser.parse_args(argv).out
    rows = [power(effect) for effect in EFFECTS]
    plot(rows, out / "claims-power.svg")
    print("| effect |", " | ".join(f"{n} trials | looked" for n in TRIALS), "|")
    for effect, (fixed, looks) in zip(EFFECTS, rows, strict=True):
        pairs = (f"{a:.2f} | {b:.2f}" for a, b in zip(fixed, looks, strict=True))
        print(f"| {effect:g} SD |", " | ".join(pairs), "|")
    for name, rates in errors():
        print(f"| {name} |", " | ".join(rates), "|")
    return 0


def _rate(p: Floats) -> float:
    return float((p <= 0.05).mean())


if __name__ == "__main__":
    raise SystemExit(main())
