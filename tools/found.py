"""What the recorded baselines say, written into README.md, docs/results.md and docs/findings.

`python -m tools.found` judges `results/baselines` and replaces what stands between the marks.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from fedrepro.benchmark.judging.evidence import CellTrials, Evidence
from fedrepro.benchmark.judging.first_lines import clause
from fedrepro.benchmark.judging.judge import judge_evidence
from fedrepro.benchmark.judging.on_other_data import elsewhere
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.results import Departure, Report
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import CellKey
from fedrepro.reports import evidence, scoreboard

ROOT = Path(__file__).parent.parent
PAPERS = ("cpcfl", "fcl", "calibre", "fedrlc", "mfcl")
SCALED = Departure("profile", "paper", "reduced", "other data and fewer rounds")
WORDS = ("HOLDS", "SAME DIRECTION", "OPPOSITE", "ABSENT", "OPEN", "NOT COMPARED", "NOT RUN")
GROUPS: dict[str, Sequence[str]] = {
    "What was seen": ("HOLDS", "SAME DIRECTION"),
    "What was not seen": ("OPPOSITE", "ABSENT"),
    "What is open": ("OPEN",),
}


def judged(paper: str) -> Report:
    recorded = json.loads((ROOT / f"results/baselines/{paper}-reduced.json").read_text("utf-8"))
    plan = make_plan(load_paper(paper), recorded["profile"])
    given = trials_of(recorded["cells"], plan)
    return judge_evidence(Evidence(plan, {}, given=given, declared=SCALED), command="")


def trials_of(
    cells: dict[str, dict[str, list[float | None]]], plan: Plan
) -> dict[CellKey, CellTrials]:
    found = {}
    for one in plan.cells:
        trials = cells.get(f"{one.cell.table}: {one.cell.label}", {}).get("trials", [])
        there = any(value is not None for value in trials)
        missing = None if there else one.reason or "no run is bound to this cell"
        values = dict(enumerate(trials)) if there else {}
        n = len(values) - trials.count(None)
        # Of a printed trial only ours of that seed is recorded.
        short = there and n < len(values) and one.cell.trial is None
        incomplete = f"{n} of {len(values)} trials count" if short else None
        found[one.cell.key] = CellTrials(values, missing, incomplete=incomplete)
    return found


def headlines(report: Report) -> Iterator[str]:
    """What the trials say of each headline claim, and what was run, a line each."""
    for said in (clause(one) for table in report.tables for one in table.claims if one.headline):
        yield f"- {said[0].upper()}{said[1:]}."
    for said in elsewhere(report.tables, report.on_other_data):
        yield f"- {sentences(said)}"
    yield f"- Run: {report.first.run_on}."
    if misses := load_paper(report.paper).profiles[report.profile].misses:
        yield f"- {misses[0].upper()}{sentences(misses[1:])}."


def on_other_images(report: Report) -> Iterator[str]:
    """The headline differences by data set, a placebo among them (`tools.headroom`)."""
    by_data = defaultdict[str, list[str]](list)
    for said, word, data, room, ours, published in evidence.on_other_data(report):
        where = f"Trials apart from this run, on {data} with {room} points of headroom"
        of_print = "" if published == "—" else f", published {published}"
        by_data[where].append(f"{said}: `{word}`, {ours}{of_print}")
    yield from (f"- {where}: {sentences('; '.join(lines))}." for where, lines in by_data.items())


def readme(reports: list[Report]) -> Iterator[str]:
    for one in reports:
        name = one.first.sentence.partition(": ")[0]
        yield f"- **[{name}](docs/findings/{one.paper}.md)**"
        yield from (f"  {line}" for line in headlines(one))


def results(reports: list[Report]) -> Iterator[str]:
    yield from table("paper", *(f"`{word}`" for word in WORDS))
    for one in reports:
        counts = scoreboard.counts([one], "claims")
        yield row(f"[{one.paper}](findings/{one.paper}.md)", *(counts.get(w, 0) for w in WORDS))


def finding(paper: str, reports: list[Report]) -> Iterator[str]:
    """One paper: headline claims, all claims with their evidence, and contradictions in print."""
    (report,) = (one for one in reports if one.paper == paper)
    yield f"[{report.title}]({report.address}), {report.authors}, {report.year}."
    elsewhere = (_linked(paper, line) for line in on_other_images(report))
    yield from ("", "## Headline claims", "", *headlines(report), *elsewhere)
    counted = (*report.first.evidence, *report.first.totals, report.first.controls)
    lines = (line for line in counted if line and not line.startswith("of "))
    told = (f"- {sentences(line)}".replace("|", "\\|") for line in lines)
    yield from ("", *(_linked(paper, line) for line in told))
    yield from ("", "## What contradicts itself in print", "", *contradictions(report))
    claims = [(one.id, claim) for one in report.tables for claim in one.claims]
    for heading, words in GROUPS.items():
        yield from ("", f"## {heading}", "", *table("table", "claim", "status", "evidence"))
        for place, claim in claims:
            if claim.word in words:
                link = f"[{place}](../../tables/{paper}/{place}.toml)"
                yield row(link, claim.says, f"`{claim.word}`", evidence.line(claim) or claim.reason)
    yield from ("", "## What was not compared or not run", "", *table("status", "reason", "claims"))
    reasons = defaultdict[tuple[str, str], list[str]](list)
    for place, claim in claims:
        if claim.word.startswith("NOT"):
            reasons[claim.word, claim.reason.rpartition(" @ ")[2].partition(": ")[2]].append(place)
    for (word, why), places in reasons.items():
        where = ", ".join(dict.fromkeys(places))
        yield row(f"`{word}`", why or "a stated size", f"{len(places)}, of {where}")


def _linked(paper: str, line: str) -> str:
    """With links from tables and figures to their specs, and to trials on other data."""
    folder = f"../../tables/{paper}"
    line = re.sub(r"\(table ([\w.-]+)", rf"([table \1]({folder}/\1.toml)", line)
    line = re.sub(r"\(figure ([\w.-]+)", rf"([figure \1]({folder}/figure-\1.toml)", line)
    return line.replace(
        "Trials apart from this run", f"[Trials apart from this run]({folder}/headroom.json)"
    )


def contradictions(report: Report) -> Iterator[str]:
    """What the audit finds inconsistent among the published numbers, a row each."""
    wrong = defaultdict[tuple[str, str], list[str]](list)
    for one in report.tables:
        for found in one.findings:
            if found.status == "inconsistent":
                statement, *_ = re.split(r" \((?:Section|Abstract|[IVX])", found.statement)
                wrong[statement, found.computed].append(one.id)
    yield from table("tables", "statement", "sum") if wrong else ("The audit found nothing.",)
    for (statement, computed), places in wrong.items():
        yield row(", ".join(places), statement, computed)


def sentences(line: str) -> str:
    return re.sub("; (.)", lambda found: f". {found[1].upper()}", line)


def table(*names: str) -> tuple[str, str]:
    return row(*names), row(*["---"] * len(names))


def row(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def filled(text: str, lines: Iterator[str], what: str = "found") -> str:
    begin, end = f"<!-- {what}: begin -->\n", f"<!-- {what}: end -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}" + "\n".join(lines) + f"\n{end}{after}"


FILES: dict[str, Callable[[list[Report]], Iterator[str]]] = {
    "README.md": readme,
    "docs/results.md": results,
    **{f"docs/findings/{paper}.md": partial(finding, paper) for paper in PAPERS},
}


def main() -> None:
    reports = [judged(paper) for paper in PAPERS]
    for name, write in FILES.items():
        path = ROOT / name
        path.write_text(filled(path.read_text("utf-8"), write(reports)), "utf-8")


if __name__ == "__main__":
    main()
