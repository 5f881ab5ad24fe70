"""Learning curves of supervised baselines, with and without their authors' settings.

    python -m tests.benchmarks.curves docs [--store DIR] [--set training.rounds=2 ...]

FedAvg, FedProx and MOON of MFCL's Table 2 at a shortened protocol on CIFAR-10 (`FEDREPRO_DATA`);
writes learning-curves.md and .svg. Trials that the store has are not trained again.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fedrepro import Plan, Store, execute, load_paper, make_plan
from fedrepro.benchmark.claims.nodes import key_of
from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.spec.settings import get
from fedrepro.commands._options import parse_sets
from fedrepro.methods.outcome import Curve

METHODS = {"FedAvg": "tab:blue", "FedProx": "tab:orange", "MOON": "tab:green"}
SHORTENED: Mapping[str, Any] = {
    "clients.data": "cifar10",
    "clients.image_size": 32,
    "clients.images": 5000,
    "clients.count": 5,
    "clients.alpha": 0.5,
    "encoder.name": "cnn",
    "encoder.widths": [16, 32, 64],
    "encoder.dim": 64,
    "encoder.padding": 1,
    "training.rounds": 10,
    "training.local_epochs": 2,
    "training.optimizer": "sgd",
    "training.learning_rate": 0.01,
}
"""What takes minutes on a CPU; the rest is the protocol of the table."""

PLAIN = {"training.sgd_momentum": 0.0, "training.weight_decay": 0.0, "training.augments": False}
OPTIMISER = {**PLAIN, "training.sgd_momentum": 0.9, "training.weight_decay": 1e-5}
VIEWS = {
    "training.augments": True,
    "augmentation.crop_padding": 4,
    "augmentation.crop_border": "reflect",
    "augmentation.crop_scale": [1.0, 1.0],
    "augmentation.flip_probability": 0.5,
    "augmentation.jitter_probability": 0.0,
    "augmentation.grey_probability": 0.0,
    "augmentation.blur_probability": 0.0,
}
# QinbinLi/MOON, main.py and utils.py: its FedAvg and FedProx train as its MOON does.
VARIANTS = {
    "plain SGD": (PLAIN, ":"),
    "momentum 0.9, weight decay 1e-5": (OPTIMISER, "--"),
    "and augmentation": ({**OPTIMISER, **VIEWS}, "-"),
}
"""Settings and how their line is drawn."""

PAGE = """# Learning curves of supervised baselines

Written by `nox -s curves`. FedAvg, FedProx and MOON of MFCL's Table 2 on CIFAR-10, at a shortened
protocol: {images} training images, {count} clients by a Dirichlet distribution of {alpha}, three
convolutions ({widths} channels) in place of ResNet-18, {rounds} rounds of {epochs} local epochs,
SGD with the table's rate of {rate}, one trial. Accuracy is the global model's on all test images.

![Accuracy by round, by method and settings](learning-curves.svg)

| accuracy after the last round, % | {methods} |
|{rule}|
{rows}

MFCL prints neither momentum nor weight decay nor augmentation for these methods, and "plain SGD"
has none of them. The other settings are those of MOON's repository (QinbinLi/MOON: `main.py` for
momentum 0.9 and `--reg` 1e-5, `utils.py` for crops within a reflected border of 4 pixels, and
flips), which trains FedAvg and FedProx in the same way. One short trial of a small network shows
how much an optimiser's settings decide within so few steps. It does not show what a hundred rounds
of ResNet-18 reach: views make a network learn more slowly, and pay where it would otherwise learn
its images by heart. MOON has its authors' μ of 5 here, but not their projection head, in whose
space they contrast (`methods/federated/supervised/moon.toml`), and learns least.
"""
Curves = Mapping[tuple[str, str], Curve]


def planned(sets: Mapping[str, Any]) -> tuple[Plan, dict[tuple[str, str], RunConfig]]:
    """The runs of all methods (first) and variants, one trial each, and which is whose."""
    paper, plans, runs = load_paper("mfcl"), [], {}
    for variant, (settings, _) in VARIANTS.items():
        for method in METHODS:
            changes = {**SHORTENED, **settings, **sets}
            plan = make_plan(paper, "paper", tables=["2"], rows=method, trials=1, sets=changes)
            # Authors give some settings by data set; what is shown are CIFAR-10's columns.
            cells = {
                key_of(one.cell)
                for one in plan.cells
                if get(one.cell.experiment, "clients.data") == "cifar10"
            }
            plans.append(plan.only(cells))
            (runs[method, variant],) = plans[-1].runs
    cells = tuple(cell for plan in plans for cell in plan.cells)
    return replace(plans[0], cells=cells, runs=tuple(runs.values())), runs


def trained(store: Store, sets: Mapping[str, Any]) -> Curves:
    """Accuracy by round of every method (first) and variant, one trial each."""
    plan, runs = planned(sets)
    execute(plan, store, time_limit=0)
    found = {}
    for name, run in runs.items():
        record = store.find(run, 0)
        if record is None:
            raise SystemExit(f"{', '.join(name)}: {store.error(run, 0) or 'the data are missing'}")
        found[name] = record.metrics["accuracy"]
    return found


def plot(curves: Curves, path: Path) -> None:
    """Accuracy by round: a colour a method, a kind of line a variant."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "fedrepro"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for (method, variant), curve in curves.items():
        accuracy = [100 * value for value in curve.values]
        line = VARIANTS[variant][1]
        axes.plot(curve.rounds, accuracy, line, color=METHODS[method], label=f"{method}, {variant}")
    axes.set_xlabel("round")
    axes.set_ylabel("accuracy, %")
    axes.legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def page(curves: Curves, sets: Mapping[str, Any]) -> str:
    """Markdown: what was run, and accuracies after the last round."""
    used = {**SHORTENED, **sets}
    rows = [
        f"| {variant} | "
        + " | ".join(f"{100 * curves[method, variant].values[-1]:.1f}" for method in METHODS)
        + " |"
        for variant in VARIANTS
    ]
    return PAGE.format(
        images=used["clients.images"],
        count=used["clients.count"],
        alpha=used["clients.alpha"],
        widths=", ".join(map(str, used["encoder.widths"])),
        rounds=used["training.rounds"],
        epochs=used["training.local_epochs"],
        rate=used["training.learning_rate"],
        methods=" | ".join(METHODS),
        rule="|".join(["---"] * (1 + len(METHODS))),
        rows="\n".join(rows),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Trains what the store lacks, and writes the page with its picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--store", type=Path, default=Path("results/curves"))
    parser.add_argument("--set", action="append", default=[], dest="sets", metavar="PATH=VALUE")
    given = parser.parse_args(argv)
    sets = dict(parse_sets(given.sets))
    curves = trained(Store(given.store), sets)
    plot(curves, given.out / "learning-curves.svg")
    (given.out / "learning-curves.md").write_text(page(curves, sets), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
