"""What the recorded baselines say, written into README.md, docs/results.md and docs/findings.

`python -m tools.found` judges `results/baselines` and replaces what stands between the marks.
"""

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from fedrepro.benchmark.claims.answer import ClaimResult
from fedrepro.benchmark.judging.evidence import CellTrials, Evidence
from fedrepro.benchmark.judging.first_lines import clause
from fedrepro.benchmark.judging.judge import judge_evidence
from fedrepro.benchmark.judging.on_other_data import elsewhere
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.results import CellResult, Departure, Report, TableResult, named_inside
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Cell, CellKey
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.reports import evidence, layout, scoreboard

ROOT = Path(__file__).parent.parent
PAPERS = ("cpcfl", "fcl", "calibre", "fedrlc", "mfcl")
SCALED = Departure("profile", "paper", "reduced", "other data and fewer rounds")
WORDS = ("HOLDS", "SAME DIRECTION", "OPPOSITE", "ABSENT", "OPEN", "NOT COMPARED", "NOT RUN")
GROUPS: dict[str, Sequence[str]] = {
    "What was seen": ("HOLDS", "SAME DIRECTION"),
    "What was not seen": ("OPPOSITE", "ABSENT"),
    "What is open": ("OPEN",),
}
CONTRADICTIONS = "Where the published numbers contradict each other"
RECORDED = "../../results/baselines/{}-reduced.json"
TERMS = {
    "^- Tables( and figures)?:": r"- [Tables\1](#what-was-seen):",
    "^- All tables together:": "- [All tables together](../verdicts.md#tables):",
    "^- Audit:": f"- [Audit](#{CONTRADICTIONS.lower().replace(' ', '-')}):",
    "^- Controls:": "- [Controls](../verdicts.md#controls):",
}
"""How lines of findings begin, and the same with a link."""
HOW_TO_READ = (
    "Each line says what is seen, the mean difference with its 95 % interval, and the published "
    "one. Its links lead to the claim's formula over the published values, and to each trial by "
    "table, row and column."
)

AS_RECORDED = (
    "These are the recorded runs, with 95 % intervals; time and memory are those of other runs, on "
    "one machine. A control is judged in each run, by the weakest of its comparisons. What is "
    "asked of headroom and baselines was asked of means in the calibration, on other seeds. The "
    "last rows are what baselines are compared with. Nearness to published values is not asked."
)
COST = ("{trials:,} trials on two quiet cores", "{seconds} s, {gb} GB", "at most {most} s, 2 GB")
Place = tuple[str, str, str]
"""Table, row and column of a cell."""


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
    for _, claim in headed(report):
        yield f"- {verdict(claim)}."
    for said in elsewhere(report.tables, report.on_other_data):
        yield f"- {plain(sentences(said))}"
    profile, _, on = report.first.run_on.partition(": ")
    yield f"- Run with the profile `{profile}`: {on}."
    if misses := load_paper(report.paper).profiles[report.profile].misses:
        yield f"- {capital(sentences(misses))}."


def headed(report: Report) -> Iterator[tuple[TableResult, ClaimResult]]:
    """Headline claims, each with its table."""
    return ((table, one) for table in report.tables for one in table.claims if one.headline)


def verdict(claim: ClaimResult) -> str:
    """What is said of a headline claim, what must be known of it last."""
    said = capital(plain(clause(claim)))
    return f"{said}: {why(claim)}" if claim.word == "NOT COMPARED" else said


def why(claim: ClaimResult) -> str:
    said = (claim.reason.partition(": ")[2] or claim.reason).rstrip(".")
    return f"{said[:1].lower()}{said[1:]}"


def plain(said: str) -> str:
    """A text of reports with what must be known of a claim behind what is said of it."""
    said = re.sub(r"( \([^()]*\))( is open| is seen)", r"\2\1", said)
    return said.replace("controls of", "[controls](docs/glossary.md) of")


def numbers(report: Report, table: TableResult, claim: ClaimResult) -> str:
    """The line of evidence of a headline claim, without what the claim says."""
    about = f"{claim.headline} ({named_inside(table.id)}): "
    line = next((one for one in report.first.evidence if one.startswith(about)), "")
    found = plain(sentences(line.removeprefix(about).partition(", ")[2]))
    return f" {capital(found)}." if found else ""


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
    claims = [claim for one in reports for table in one.tables for claim in table.claims]
    left_out = [": time: " in claim.reason for claim in claims if claim.word == "NOT RUN"]
    yield ""
    yield (
        f"{sum(left_out)} claims are `NOT RUN` to save time, and run under `patient`. The other "
        f"{left_out.count(False)} describe, or quote what others have measured."
    )


def as_recorded(reports: list[Report]) -> Iterator[str]:
    """By paper: controls, headroom, the calibration's baselines next to print, time, memory."""
    yield AS_RECORDED
    for report in reports:
        rule, (controls,) = calibration(report.paper), report.controls
        yield from ("", f"### {load_paper(report.paper).name} as recorded", "")
        yield from table("what", "here", "asked", "published", "difference")
        for one in controls.claims:
            seen = "—" if one.answer.ours is None else evidence.span(one.answer.ours, sign=True)
            asked = f"at least {one.holds.rpartition(' ')[2]}: {one.word.lower()}"
            yield row(f"control `{one.id}`", seen, asked, "—", "—")
        every = [(one.id, cell) for one in (controls, *report.tables) for cell in one.cells]
        for id, cell in every:
            if cell.metric == "headroom" and cell.mean is not None:
                yield beside_print(id, cell, f"at least {rule['least_headroom']:g}")
        cells = {place(*one): one for one in every}
        for where, asked in conditioned(rule).items():
            yield beside_print(*cells[where], asked)
        cost = calibration("cost")[report.paper]
        yield row(*(text.format(**cost) for text in COST), "—", "—")


def calibration(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / f"tools/calibration/{name}.toml").read_text("utf-8"))


def conditioned(rule: dict[str, Any]) -> dict[Place, str]:
    """The cells that conditions of a calibration name, the baselines first with what is asked."""
    where, asked = itemgetter("table", "row", "column"), dict[Place, list[str]]()
    for one in rule["baselines"]:
        asked[where(one["cell"])] = [f"at least {one['least']:g}"] if "least" in one else []
    for one in rule["baselines"]:
        for than in ("above", "below"):
            for other in one.get(than, ()):
                asked[where(one["cell"])].append(f"{than} {other['row']}")
                asked.setdefault(where(other), [])
    return {one: ", ".join(all) or "—" for one, all in asked.items()}


def place(table: str, cell: Cell | CellResult) -> Place:
    return table, "|".join(cell.row), "|".join(cell.column)


def beside_print(id: str, cell: CellResult, asked: str) -> str:
    here, printed = layout.number(cell.mean, 1), Printed.parse(cell.published).value
    if cell.interval is not None:
        here += f" {layout.span(cell.interval, 1)}"
    apart = None if cell.mean is None or printed is None else cell.mean - float(printed)
    name = f"{'/'.join(cell.row)} @ {'/'.join(cell.column)} ({named_inside(id)})"
    further = layout.number(apart, 1, sign=True)
    return row(name, here, asked, layout.published(cell) or "—", further)


def finding(paper: str, reports: list[Report]) -> Iterator[str]:
    """One paper: headline claims, all claims with their evidence, and contradictions in print."""
    (report,) = (one for one in reports if one.paper == paper)
    yield f"[{report.title}]({report.address}), {report.authors}, {report.year}."
    for heading, lines in (
        ("Headline claims", headline_claims(report)),
        ("The same claims on other images", on_other_images(report)),
        ("The run as a whole", as_a_whole(report)),
        (CONTRADICTIONS, contradictions(report)),
    ):
        yield from ("", f"## {heading}", "", *(linked(paper, line) for line in lines))
    claims = [(one.id, claim) for one in report.tables for claim in one.claims]
    for heading, words in GROUPS.items():
        yield from ("", f"## {heading}", "", *table("table", "claim", "status", "evidence"))
        for place, claim in claims:
            if claim.word in words:
                said = evidence.line(claim) or claim.reason
                yield row(spec_of(paper, place), claim.says, f"`{claim.word}`", said)
    yield from ("", "## What was not compared or not run", "", *table("status", "reason", "claims"))
    reasons = defaultdict[tuple[str, str], list[str]](list)
    for place, claim in claims:
        if claim.word.startswith("NOT"):
            reason = claim.reason.rpartition(" @ ")[2].partition(": ")[2] or why(claim)
            reasons[claim.word, reason.replace("time: ", "to save time: ")].append(place)
    for (word, reason), places in reasons.items():
        where = ", ".join(spec_of(paper, one) for one in dict.fromkeys(places))
        yield row(f"`{word}`", reason, f"{len(places)}, of {where}")


def headline_claims(report: Report) -> Iterator[str]:
    """Each headline claim: what is said of it, its numbers, and where their data are."""
    yield from (HOW_TO_READ, "")
    for one, claim in headed(report):
        trials = f"; [trials]({RECORDED.format(report.paper)})" * (claim.answer.ours is not None)
        said = numbers(report, one, claim)
        yield f"- **{verdict(claim)}.**{said} ({named_inside(one.id)}{trials})"


def on_other_images(report: Report) -> Iterator[str]:
    """The headline differences by data set, a placebo among them (`tools.headroom`)."""
    trials = "[Trials apart from this run](headroom.json)"
    drawn = f"[drawn by headroom](../calibration.md#{anchor(report)}-on-other-data)"
    yield f"{trials}, {drawn}. Differences and headroom have 95 % intervals."
    yield from ("", *table(*evidence.ON_OTHER_DATA))
    for said, word, *rest in evidence.on_other_data(report):
        yield row(said, f"`{word}`", *rest)


def as_a_whole(report: Report) -> Iterator[str]:
    """What was run, what limits it, and what all tables say together."""
    about = [line for line in headlines(report) if not line.startswith(("- On ", "- From "))]
    for line in about[len([*headed(report)]) :]:
        line = line.replace("Run with", f"[Run]({RECORDED.format(report.paper)}) with")
        yield line.replace("conditions", f"[conditions](../calibration.md#{anchor(report)})", 1)
    of_claims = tuple(f"{claim.headline} (" for _, claim in headed(report))
    misses = load_paper(report.paper).profiles[report.profile].misses or ""
    controls = report.first.controls.removesuffix(misses).rstrip("; ")
    for line in (*report.first.evidence, *report.first.totals, controls):
        if line and not line.startswith(("of ", *of_claims)):
            said = line if line.startswith("tables on") else sentences(line)
            yield f"- {plain(capital(said))}".replace("|", "\\|")


def anchor(report: Report) -> str:
    """The heading of a paper's part of the page on calibration."""
    return re.split("[:,]", report.first.sentence)[0].lower()


def spec_of(paper: str, place: str) -> str:
    return f"[{place}](../../tables/{paper}/{place}.toml)"


def linked(paper: str, line: str) -> str:
    """With links from tables, figures and texts to specs, and from terms to definitions."""
    folder = f"../../tables/{paper}"
    line = re.sub(r"\((table) ([\w.-]+)", rf"([\1 \2]({folder}/\2.toml)", line)
    line = re.sub(r"\((figure) ([\w.-]+)", rf"([\1 \2]({folder}/\1-\2.toml)", line)
    line = re.sub(r"\((text) of ([\w.-]+)", rf"([\1 of \2]({folder}/\1-\2.toml)", line)
    for term, place in TERMS.items():
        line = re.sub(term, place.format(paper), line)
    return line.replace("](docs/", "](../").replace("](headroom.json", f"]({folder}/headroom.json")


def contradictions(report: Report) -> Iterator[str]:
    """What the audit finds inconsistent among the published numbers, a row each."""
    wrong = defaultdict[tuple[str, str], list[str]](list)
    for one in report.tables:
        for found in one.findings:
            if found.status == "inconsistent":
                statement, *_ = re.split(r" \((?:Section|Abstract|[IVX])", found.statement)
                wrong[statement, found.computed].append(one.id)
    yield from table("tables", "statement", "working") if wrong else ("The audit found nothing.",)
    for (statement, computed), places in wrong.items():
        yield row(", ".join(spec_of(report.paper, one) for one in places), statement, computed)


def capital(said: str) -> str:
    return f"{said[:1].upper()}{said[1:]}"


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
    "docs/calibration.md": as_recorded,
    **{f"docs/findings/{paper}.md": partial(finding, paper) for paper in PAPERS},
}


def main() -> None:
    reports = [judged(paper) for paper in PAPERS]
    for name, write in FILES.items():
        path = ROOT / name
        path.write_text(filled(path.read_text("utf-8"), write(reports)), "utf-8")


if __name__ == "__main__":
    main()
