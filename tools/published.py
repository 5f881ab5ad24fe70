"""Records of trials at full protocol, to be committed, and what the pages say of them.

    python -m tools.published           renews the texts of README.md and docs/published.md
    python -m tools.published STORE     first copies the finished trials of a store

A copied record keeps its numbers, seed and provenance. It leaves out what is large or private: the
arrays and the encoder, of which the checksums stay, and the folder in which the data lay.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, get_args

from fedrepro.benchmark.config import FULL_PRECISION
from fedrepro.benchmark.judging.evidence import load_trials
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.results import CellResult, VerdictWord
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.benchmark.spec.settings import PRECISION
from fedrepro.benchmark.store import fingerprint
from fedrepro.benchmark.store.files import sealed
from fedrepro.benchmark.store.store import Store, TrialRecord
from fedrepro.reports import layout
from tools.found import filled, row, table

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "results/published"
Measured = tuple[str, str, CellResult, str]
"""Paper, table, result, and precision and device in which it was trained."""
HEADER = ("paper", "table", "cell", "printed", "ours: mean ± SD", "trials", "trained in", "verdict")


def copy(store: Store, records: Path = RECORDS) -> Counter[str]:
    """Copies trials that have no record there yet; what became of each, and how often."""
    known = {(one.run, one.seed) for one in Store(records).records()}
    came_to = Counter[str]()
    for record in store.records():
        data = record.provenance.get("data", {}).values()
        if (record.run, record.seed) in known:
            came_to["published already"] += 1
        elif not all(used.get("is_release") for used in data):
            came_to["left: its data are not the release"] += 1
        else:
            known.add((record.run, record.seed))
            name = f"{fingerprint.digest(record.source)}-seed{record.seed}.json"
            path = records / "trials" / record.run / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sealed(without_files(record).as_dict()))
            came_to["copied"] += 1
    return came_to


def without_files(record: TrialRecord) -> TrialRecord:
    parts = {"arrays": record.arrays, "encoder": record.encoder}
    provenance: dict[str, Any] = dict(record.provenance)
    provenance["left_out"] = {name: part["sha256"] for name, part in parts.items() if part}
    provenance["data"] = {
        portion: {**used, "source": PurePath(used["source"]).name} if "source" in used else used
        for portion, used in provenance.get("data", {}).items()
    }
    return replace(record, arrays=None, encoder=None, provenance=provenance)


def measured(records: Path = RECORDS) -> Iterator[Measured]:
    """Each cell that has trials at full protocol, once in each of their precisions."""
    store = Store(records)
    stored = list(store.records())
    devices = {one.run: one.provenance["device"] for one in stored}
    precisions = sorted({one.config.get("precision", FULL_PRECISION) for one in stored})
    for paper in map(load_paper, paper_ids()):
        for precision in precisions:
            plan = make_plan(paper, "paper", sets=[(PRECISION, precision)])
            if devices.keys().isdisjoint(run.key for run in plan.runs):
                continue
            trials = load_trials(plan, store, include_stale=True)
            report = judge(plan, trials, command="", audit=False)
            for one in report.tables:
                for cell in one.cells:
                    if cell.kind == "empirical" and cell.mean is not None:
                        yield paper.id, one.id, cell, f"{precision}, {devices[cell.run or '']}"


def sentence(words: Sequence[VerdictWord]) -> str:
    """How many cells have been run, and what they came to."""
    if not words:
        return "No cell has been run at full protocol yet."
    counts = Counter(words)
    ranked = sorted(counts, key=get_args(VerdictWord).index)
    counted = ", ".join(f"{counts[word]} `{word}`" for word in ranked)
    cells_have = "cell has" if len(words) == 1 else "cells have"
    return f"At full protocol {len(words)} {cells_have} been [run](docs/published.md): {counted}."


def listed(cells: Sequence[Measured]) -> Iterator[str]:
    yield from table(*HEADER)
    for paper, id, cell, how in cells:
        digits = layout.places(cell)
        ours = layout.number(cell.mean, digits)
        if cell.sd is not None:
            ours += f" ± {layout.number(cell.sd, digits)}"
        trials = f"{sum(one is not None for one in cell.trials)} of {len(cell.trials)}"
        name = f"{' '.join(cell.row)} · {' '.join(cell.column)}"
        yield row(paper, id, name, layout.published(cell), ours, trials, how, cell.verdict.word)


def pages() -> Iterator[tuple[Path, str]]:
    cells = list(measured())
    words = {(paper, id, c.row, c.column, c.verdict.word) for paper, id, c, _ in cells}
    said = {"README.md": [sentence([word for *_, word in words])]}
    said["docs/published.md"] = list(listed(cells))
    for name, lines in said.items():
        page = ROOT / name
        yield page, filled(page.read_text("utf-8"), iter(lines), "published")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stores", nargs="*", type=Path)
    for place in parser.parse_args().stores:
        print(place, dict(copy(Store(place, warn=print))))
    for page, text in pages():
        page.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
