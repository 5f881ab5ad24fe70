"""What the recorded baselines say, written into README.md and docs/results.md.

`python -m tools.found` judges `results/baselines` by today's rules and replaces what stands between
the marks in both files. Nothing is trained. A test holds both files to it.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from fedrepro.benchmark.claims.nodes import CellKey, key_of
from fedrepro.benchmark.judging.evidence import CellTrials, Evidence
from fedrepro.benchmark.judging.judge import judge_evidence
from fedrepro.benchmark.judging.scoreboard import Scoreboard
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.results import Departure, Report
from fedrepro.benchmark.spec.load import load_paper

ROOT = Path(__file__).parent.parent
PAPERS = ("cpcfl", "fcl", "calibre", "fedrlc", "mfcl")
SCALED = Departure("profile", "paper", "reduced", "other data and fewer rounds")
WORDS = ("HOLDS", "SAME DIRECTION", "OPPOSITE", "ABSENT", "OPEN", "NOT COMPARED", "NOT RUN")
MARKS = "<!-- found: begin -->\n", "<!-- found: end -->"


def judged(paper: str) -> Report:
    """The report of a paper's recorded baseline."""
    recorded = json.loads((ROOT / f"results/baselines/{paper}-reduced.json").read_text("utf-8"))
    plan = make_plan(load_paper(paper), recorded["profile"])
    given = trials_of(recorded["cells"], plan)
    return judge_evidence(Evidence(plan, {}, given=given, declared=SCALED), command="")


def trials_of(
    cells: dict[str, dict[str, list[float | None]]], plan: Plan
) -> dict[CellKey, CellTrials]:
    """The recorded trials of each planned cell."""
    found = {}
    for one in plan.cells:
        trials = cells.get(f"{one.cell.table}: {one.cell.label}", {}).get("trials", [])
        there = any(value is not None for value in trials)
        missing = None if there else one.reason or "no run is bound to this cell"
        values = tuple(trials) if there else ()
        found[key_of(one.cell)] = CellTrials(values, tuple(range(len(values))), missing)
    return found


def readme(reports: list[Report]) -> Iterator[str]:
    """A sentence a paper."""
    for one in reports:
        yield f"- **{one.first.sentence}** {one.first.run_on}."


def results(reports: list[Report]) -> Iterator[str]:
    """How many claims carry each word, and the first lines of each paper."""
    yield "| paper | " + " | ".join(f"`{word}`" for word in WORDS) + " |"
    yield "|---" * (len(WORDS) + 1) + "|"
    for one in reports:
        counts = Scoreboard(one).claims
        yield f"| `{one.paper}` | " + " | ".join(str(counts.get(w, 0)) for w in WORDS) + " |"
    for one in reports:
        yield ""
        yield f"**{one.first.sentence}** {one.first.run_on}."
        yield ""
        for line in one.first.lines[1:]:
            yield f"- {line}".replace("|", "\\|")


def filled(text: str, lines: Iterator[str]) -> str:
    """The text with what stands between the marks replaced."""
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return f"{before}{MARKS[0]}" + "\n".join(lines) + f"\n{MARKS[1]}{after}"


FILES = {"README.md": readme, "docs/results.md": results}


def main() -> None:
    """Writes both files."""
    reports = [judged(paper) for paper in PAPERS]
    for name, write in FILES.items():
        path = ROOT / name
        path.write_text(filled(path.read_text("utf-8"), write(reports)), "utf-8")


if __name__ == "__main__":
    main()
