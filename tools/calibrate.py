"""Tries on which images, and how large, a paper's small experiments can speak.

    python -m tools.calibrate PAPER [--jobs N] [--dry | --drawn]

`tools/calibration/PAPER.toml` lists candidates and conditions. They are tried from the cheapest on,
on seeds that no report uses, until one meets every condition. Without one, that which misses the
fewest is taken; of several the cheapest, and then the one with fewer controls among what it misses.
Where one data set would stand for several of the paper's, a candidate is not eligible, and is tried
last, for comparison. Only controls and baselines are trained, never a method that the paper
proposes. What was seen goes to `tools/calibration/PAPER.json` and docs/calibration.md.
"""

import argparse
import itertools
import json
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import fedrepro
from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.planning.estimate import work_of
from fedrepro.benchmark.planning.headroom import data_of
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.results import CellResult, Report, TableResult
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Override, Paper, Table
from tools.found import ROOT, Place, calibration, conditioned, filled, place

FOLDER = ROOT / "tools/calibration"
PAGE = ROOT / "docs/calibration.md"
STORE = ROOT / "results/calibration"


@dataclass(frozen=True)
class Condition:
    """What is seen of a candidate, and what is asked. kind: `control`, `stand-ins`, `other`, or
    `left out` of a control on data that the profile does not run."""

    kind: str
    seen: str
    is_met: bool
    asked: str = ""

    @property
    def said(self) -> str:
        return ", ".join(filter(None, (self.seen, self.asked)))


@dataclass
class Candidate:
    """A data set and a size; work: multiply-adds of a trial of the whole profile, in billions."""

    data: str
    size: str
    paper: Paper
    work: float
    conditions: list[Condition] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.data}, {self.size}"

    @property
    def is_eligible(self) -> bool:
        return all(one.is_met for one in self.conditions if one.kind == "stand-ins")

    @property
    def rank(self) -> tuple[bool, int, float, int]:
        """The lower, the nearer to what is asked: the last is how many controls are not seen."""
        unseen = sum(not one.is_met for one in self.conditions if one.kind == "control")
        return not self.is_eligible, self.missed, self.work, unseen

    @property
    def missed(self) -> int:
        return sum(not one.is_met for one in self.conditions)


def candidates(id: str, rule: Mapping[str, Any]) -> list[Candidate]:
    found = []
    for data, (size, changes) in itertools.product(rule["data"], rule["sizes"].items()):
        paper = load_paper(id)
        profile = paper.profiles["reduced"]
        more = tuple(Override(path, size, divide=1 / by) for path, by in changes.items())
        on = {name: (*own, *more) for name, own in profile.on.items()}
        paper = replace(paper, profiles={**paper.profiles, "reduced": replace(profile, on=on)})
        plan = fedrepro.plan(paper, "reduced", on=data)
        work = sum(map(work_of, plan.runs)) / 1e9
        found.append(Candidate(data, size, paper, work, list(_shared(plan))))
    return sorted(found, key=lambda one: (not one.is_eligible, one.work))


def _shared(plan: Plan) -> Iterator[Condition]:
    """What is missed where clients learn from fewer data sets than the paper's do."""
    cells = [one for one in plan.cells if one.config is not None]
    printed = {one.cell.experiment["clients"]["data"] for one in cells}
    here = {data_of(one) for one in cells}
    if len(here) < len(printed):
        said = f"{', '.join(sorted(here))} stands for {', '.join(sorted(printed))}"
        yield Condition("stand-ins", said, False)


class Trial:
    """The controls and the named cells of a candidate, trained where they are missing."""

    def __init__(self, rule: Mapping[str, Any], one: Candidate, jobs: int | None):
        self._one, self._rule = one, rule
        self._how: dict[str, Any] = {"on": one.data, "store": STORE, "jobs": jobs}
        self._how |= {"trials": rule["trials"], "series": rule["series"], "progress": False}

    @cached_property
    def controls(self) -> TableResult:
        (found,) = self._run([self._rule["controls"]]).controls
        return found

    @cached_property
    def _cells(self) -> dict[Place, CellResult]:
        """The cells that conditions name, in one run, and the controls'."""
        wanted = conditioned(self._rule)
        report = self._run(sorted({table for table, _, _ in wanted}), wanted)
        judged = (*report.tables, self.controls)
        return {place(table.id, cell): cell for table in judged for cell in table.cells}

    def _run(self, tables: Sequence[str], only: Container[Place] = ()) -> Report:
        """Some tables, of which all but controls have a few cells alone and no claims."""
        narrow = (one if one.is_control else _narrow(one, only) for one in self._one.paper.tables)
        paper = replace(self._one.paper, tables=tuple(narrow))
        return fedrepro.run(paper, "reduced", tables=tables, **self._how).report

    def cell(self, table: str, row: str, column: str) -> CellResult:
        return self._cells[table, row, column]


def _narrow(table: Table, only: Container[Place]) -> Table:
    cells = tuple(one for one in table.cells if place(table.id, one) in only)
    return replace(table, cells=cells, claims=(), relations=())


def _words(cell: CellResult) -> str:
    name = f"{'|'.join(cell.row)} @ {'|'.join(cell.column)}"
    if cell.mean is None:
        return f"{name} not trained"
    low, high = cell.interval or (math.nan, math.nan)
    return f"{name} {cell.mean:.1f} [{low:.1f}, {high:.1f}]"


def conditions(
    rule: Mapping[str, Any], trial: Trial, one: Candidate, fewest: float
) -> Iterator[Condition]:
    """What is seen of a candidate; no baseline is trained if it has missed more than fewest."""
    table = one.paper.table(rule["controls"])
    is_out = one.paper.profiles["reduced"].why_left_out
    for claim, control in zip(table.claims, trial.controls.claims, strict=True):
        leaves = (bound.leaves for bound in bind(claim, table, one.paper))
        if all(any(map(is_out, own)) for own in leaves):
            yield Condition("left out", f"{control.id}: {control.reason}", True)
        else:
            yield Condition("control", f"{control.id}: {control.reason}", control.word == "SEEN")
    for room in (one for one in trial.controls.cells if one.metric == "headroom" and one.run):
        yield _least(room, rule["least_headroom"])
    if one.missed > fewest:
        yield Condition("other", "baselines not trained, since it misses more than another", False)
        return
    for wanted in rule["baselines"]:
        mine = trial.cell(**wanted["cell"])
        if "least" in wanted:
            yield _least(mine, wanted["least"])
        for other in wanted.get("above", ()):
            yield _ahead(mine, trial.cell(**other))
        for other in wanted.get("below", ()):
            yield _ahead(trial.cell(**other), mine)


def _least(cell: CellResult, wanted: float) -> Condition:
    met = cell.mean is not None and cell.mean >= wanted
    return Condition("other", _words(cell), met, f"at least {wanted:.1f}")


def _ahead(higher: CellResult, lower: CellResult) -> Condition:
    met = higher.mean is not None and lower.mean is not None and higher.mean > lower.mean
    return Condition("other", _words(higher), met, f"above {_words(lower)}")


def choose(paper: str, jobs: int | None) -> tuple[list[Candidate], Candidate]:
    """All candidates, of which some were tried, and the chosen one."""
    rule = calibration(paper)
    known, tried = candidates(paper, rule), list[Candidate]()
    for one in (one for one in known if one.name not in rule.get("not_tried", ())):
        print(f"{one.name}: {one.work:,.0f} billion multiply-adds", flush=True)
        fewest = min((other.missed for other in tried), default=math.inf)
        for found in conditions(rule, Trial(rule, one, jobs), one, fewest):
            one.conditions.append(found)
            print(f"  {'met' if found.is_met else 'missed'}: {found.said}", flush=True)
        tried.append(one)
        if all(found.is_met for found in one.conditions):
            return known, one
    return known, min(tried, key=lambda one: one.rank)


def table(known: Sequence[Mapping[str, Any]], chosen: str) -> Iterator[str]:
    yield "| data | size | billions of multiply-adds | controls seen | other conditions | missed |"
    yield "|---|---|---|---|---|---|"
    for one in known:
        name = f"{one['data']}, {one['size']}"
        mark = "**" if name == chosen else ""
        found = [Condition(**condition) for condition in one["conditions"]]
        controls = [condition.is_met for condition in found if condition.kind == "control"]
        of_runs = (condition for condition in found if condition.kind == "other")
        others = dict.fromkeys(condition.seen for condition in of_runs)
        seen = f"{sum(controls)} of {len(controls)}" if controls else "not tried"
        if left_out := sum(condition.kind == "left out" for condition in found):
            seen += f", {left_out} left out"
        met = seen, "; ".join(others)
        missed = "; ".join(condition.said for condition in found if not condition.is_met)
        missed = missed.replace(" is needed.", "")
        cells = (f"{mark}`{one['data']}`{mark}", one["size"], f"{one['work']:,.0f}", *met, missed)
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paper")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--dry", action="store_true", help="list the candidates, train nothing")
    parser.add_argument("--drawn", action="store_true", help="write the page from the record")
    given = parser.parse_args()
    if given.dry:
        for one in candidates(given.paper, calibration(given.paper)):
            print(f"{one.work:12,.0f} billion multiply-adds  {one.name}")
        return
    path = FOLDER / f"{given.paper}.json"
    if not given.drawn:
        known, chosen = choose(given.paper, given.jobs)
        kept = [
            {"data": one.data, "size": one.size, "work": one.work}
            | {"conditions": [asdict(found) for found in one.conditions]}
            for one in known
        ]
        record = {"chosen": chosen.name, "candidates": kept}
        path.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    found = json.loads(path.read_text("utf-8"))
    print(f"chosen: {found['chosen']}")
    lines = table(found["candidates"], found["chosen"])
    PAGE.write_text(filled(PAGE.read_text("utf-8"), lines, given.paper), "utf-8")


if __name__ == "__main__":
    main()
