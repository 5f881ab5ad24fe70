"""Are results in bfloat16 those in float32? Paired trials of a few runs of each paper.

    python -m tests.benchmarks.precision docs [--store DIR] [--papers cpcfl,fcl] [--trials 8]

Each run is made under the reduced profile in both precisions from the same seeds, which no report
uses, each trial with an encoder of its own where one is pre-trained. Writes precision.md. Trials
that the store has are not trained again.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fedrepro import Store, execute, load_paper, make_plan
from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.execution.progress import Progress
from fedrepro.benchmark.planning.plan import PlannedCell
from fedrepro.benchmark.spec.settings import PRECISION
from fedrepro.benchmark.stats.equivalence import Equivalence, paired_equivalence

PRECISIONS = ("float32", "bf16")
FIRST_SEED = 100
SMALLEST_MARGIN = 1.0
"""Points; half of a cell's own margin where that is smaller."""

CELLS = {
    "cpcfl": (
        "3",
        (("FedAvg", "None"), ("T = 100",)),
        (("IFCA", "None"), ("T = 100",)),
        (("CP-CFL", "SimCLR"), ("T = 100",)),
    ),
    "fedrlc": (
        "2",
        (("FedBYOL",), ("CIFAR-10", "IID")),
        (("FedEMA",), ("CIFAR-10", "IID")),
        (("FedRLC",), ("CIFAR-10", "IID")),
    ),
    "fcl": (
        "1",
        (("FedAvg (Supervised)",), ("FMNIST", "IID")),
        (("FedSimCLR",), ("FMNIST", "IID")),
        (("Proposed",), ("FMNIST", "IID")),
    ),
    "mfcl": (
        "2",
        (("FedAvg",), ("CIFAR-10", "ξ = 200")),
        (("FedSimCLR",), ("CIFAR-10", "ξ = 200")),
        (("MFCL(TN)",), ("CIFAR-10", "ξ = 200")),
    ),
    "calibre": (
        "1",
        (("L_n", "L_p"), ("Calibre (SimCLR)", "mean")),
        (("L_n", "L_p"), ("Calibre (SwAV)", "mean")),
        (("L_n", "L_p"), ("Calibre (SMoG)", "mean")),
    ),
}
"""By paper: a table, and rows and columns of three cells that are trained in a minute or so."""

PAGE = """# Precision

Written by `nox -s precision`. Does `--precision bf16` give the results of float32? Three runs of
each paper under the reduced profile, in both precisions from the same seeds ({seeds}, which no
report uses), so that a pair has its clients, initial weights, batches and views in common.

Stated before looking: two precisions are the same for a run if two one-sided t tests at 5 % on the
paired differences (TOST) put their mean inside a margin, which is half of what the table's spec
allows for a verdict, and at most one point. Every run has one test, and they are not corrected. All
numbers are in points.

| paper | run | trials | float32 | bf16 | difference | 90 % interval | margin | p | same? | time |
|---|---|---|---|---|---|---|---|---|---|---|
{rows}

{summary} "Not shown" does not say that they differ: with few trials of a small network the interval
is wide, since rounding soon moves a trial onto another path, and a pair then differs much as two
seeds do. Time is the median of bf16's seconds over float32's, on a machine that other work shared;
networks of the reduced profile are small, and [larger ones](benchmarks.md#precision) gain more.
float32 stays the default for every paper.
"""


@dataclass(frozen=True)
class Pair:
    """A run in both precisions. values, seconds: by precision, of trials of the same seeds."""

    paper: str
    cell: PlannedCell
    values: dict[str, list[float]]
    seconds: dict[str, list[float]]

    @property
    def margin(self) -> float:
        table = next(t for t in load_paper(self.paper).tables if t.id == self.cell.cell.table)
        margin = table.margin_of(self.cell.cell)
        assert margin is not None
        return min(SMALLEST_MARGIN, float(margin.value) / 2)

    @property
    def found(self) -> Equivalence:
        pairs = zip(self.values["bf16"], self.values["float32"], strict=True)
        return paired_equivalence([a - b for a, b in pairs], self.margin)


def planned(paper: str, precision: str) -> list[PlannedCell]:
    """The chosen cells; each trial pre-trains its own encoder."""
    table, *places = CELLS[paper]
    sets = {PRECISION: precision, "pretraining.shared": False}
    plan = make_plan(load_paper(paper), "reduced", tables=[str(table)], sets=sets)
    found = {(one.cell.row, one.cell.column): one for one in plan.cells}
    return [found[place] for place in places]  # type: ignore[index]


def chain(run: RunConfig | None) -> list[RunConfig]:
    """A run after those that it starts from."""
    return [] if run is None else [*chain(run.start), run]


def trained(paper: str, store: Store, seeds: Sequence[int]) -> None:
    """Trains what the store lacks, one cell after the other and both precisions of a seed."""
    cells = [planned(paper, one) for one in PRECISIONS]
    order = dict.fromkeys(
        (run, seed)
        for both in zip(*cells, strict=True)
        for seed in seeds
        for one in both
        for run in chain(one.config)
    )
    plan = make_plan(load_paper(paper), "reduced", tables=[str(CELLS[paper][0])])
    plan = replace(plan, runs=tuple(dict.fromkeys(run for run, _ in order)))
    execute(plan, store, jobs=0, trials=list(order), time_limit=0, progress=Progress())


def pairs_of(paper: str, store: Store, seeds: Sequence[int]) -> list[Pair]:
    """The cells of which two seeds or more are stored in both precisions, with these seeds."""
    pairs = []
    for both in zip(*(planned(paper, one) for one in PRECISIONS), strict=True):
        runs = [chain(one.config) for one in both]
        found = [[store.find(run[-1], seed) for run in runs] for seed in seeds]
        whole = [k for k, records in enumerate(found) if None not in records]
        if len(whole) < 2:
            continue
        cell, pair = both[0].cell, Pair(paper, both[0], {}, {})
        scale = 100.0 if cell.unit == "%" else 1.0
        for precision, run, records in zip(PRECISIONS, runs, zip(*found, strict=True), strict=True):
            kept = [record for k in whole if (record := records[k]) is not None]
            pair.values[precision] = [
                scale * record.metrics[str(cell.metric)].read(both[0].read.at) for record in kept
            ]
            if run[-1].stage == "measurement":  # what it starts from is most of it
                starts = (store.find(run[-2], seeds[k]) for k in whole)
                kept = [record for record in starts if record is not None]
            pair.seconds[precision] = [float(one.provenance["wall_s"]) for one in kept]
        pairs.append(pair)
    return pairs


def row(pair: Pair) -> str:
    """A line of the table."""
    found, cell = pair.found, pair.cell.cell
    low, high = found.interval
    ratio = statistics.median(
        a / b for a, b in zip(pair.seconds["bf16"], pair.seconds["float32"], strict=True)
    )
    label = f"{cell.table}: {', '.join(cell.row)}, {', '.join(cell.column)}"
    words = [
        pair.paper,
        label,
        str(len(pair.values["bf16"])),
        *(f"{statistics.mean(pair.values[one]):.2f}" for one in ("float32", "bf16")),
        f"{found.mean:+.2f}",
        f"{low:+.2f} to {high:+.2f}",
        f"{pair.margin:g}",
        f"{found.p:.3f}" if found.p >= 0.001 else "< 0.001",
        "yes" if found.is_shown else "not shown",
        f"{ratio:.2f}",
    ]
    return "| " + " | ".join(words) + " |"


def main(argv: Sequence[str] | None = None) -> int:
    """Trains what the store lacks, and writes the page after each paper."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--store", type=Path, default=Path("results/precision"))
    parser.add_argument("--papers", default=",".join(CELLS))
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--stored", action="store_true", help="train nothing")
    given = parser.parse_args(argv)
    seeds = range(FIRST_SEED, FIRST_SEED + given.trials)
    pairs: list[Pair] = []
    for paper in given.papers.split(","):
        store = Store(given.store)
        if not given.stored:
            trained(paper, store, seeds)
        pairs += pairs_of(paper, store, seeds)
        shown = sum(pair.found.is_shown for pair in pairs)
        summary = (
            f"Shown for {shown} of {len(pairs)} runs; three of each of {len(CELLS)} papers are"
        )
        summary += " foreseen."
        text = PAGE.format(
            seeds=f"{seeds[0]} to {seeds[-1]}", rows="\n".join(map(row, pairs)), summary=summary
        )
        (given.out / "precision.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
