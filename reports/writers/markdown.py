"""The report as Markdown that renders on a code host, with collapsible details."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from ...benchmark.judging.scoreboard import Scoreboard
from ...benchmark.results import CellResult, ClaimResult, Report, TableResult
from .. import evidence, layout, overview, specification_curve
from .. import markdown_text as md
from ..evidence import line

FILE = "report.md"
LIMIT = 1_000_000
"""Bytes that a job summary of a code host holds (1 MiB), with room to spare."""


def render(reports: Sequence[Report], limit: int = LIMIT) -> str:
    """The report as Markdown of at most `limit` bytes; if longer, the overview, which says so."""
    text = _document(reports, whole=True)
    fits = len(text.encode("utf-8", "replace")) <= limit
    return text if fits else _document(reports, whole=False)


def _document(reports: Sequence[Report], whole: bool) -> str:
    blocks = []
    if len(reports) > 1:
        blocks += _overview(list(map(Scoreboard, reports)))
    if not whole:
        blocks.append("*Shortened to the overview to fit; the HTML and JSON reports hold all.*")
    for report in reports:
        blocks += filter(None, _paper(report, whole))
    return "\n\n".join(blocks) + "\n"


def _overview(boards: Sequence[Scoreboard]) -> list[str]:
    rows = []
    for one in boards:
        told = [
            _counted(one, what) or "none" for what in ("tables", "claims", "verdicts", "findings")
        ]
        rows.append([md.code(one.report.paper), one.report.profile, *told])
    table = md.table(["paper", "profile", "tables", "claims", "cells", "audit"], rows)
    return [
        "# fedrepro",
        "\n".join(f"- **{md.escape(one.report.first.sentence)}**" for one in boards),
        md.escape(overview.caution(boards)),
        table,
    ]


def _counted(board: Scoreboard, what: Literal["verdicts", "claims", "tables", "findings"]) -> str:
    return ", ".join(f"{n} {word}" for word, n in overview.counts([board], what).items())


def _paper(report: Report, whole: bool) -> list[str]:
    board = Scoreboard(report)
    blocks = [
        f"# {md.escape(report.title)}",
        f"{md.escape(report.authors)} ({report.year}) · "
        + (f"{md.address(report.address)} · " if report.address else "")
        + f"{md.code(report.paper)} · profile {md.code(report.profile)}"
        + (f" on {md.code(report.on)}" if report.on else "")
        + (f", series {report.series}" if report.series else "")
        + (f" · readings: {', '.join(map(md.code, report.readings))}" if report.readings else ""),
        *_first(board),
    ]
    if not whole:
        return [*blocks, _scoreboard(board)]
    blocks += [_tables(report), _scoreboard(board)]
    blocks += [_curves(report), *map(_section, (*report.controls, *report.tables))]
    blocks += [
        _gathered("Departures", report, "departures"),
        _gathered("Unstated settings", report, "unstated"),
        _provenance(report),
    ]
    return blocks


def _first(board: Scoreboard) -> list[str]:
    """The first lines of a report."""
    first = board.report.first
    lines = [f"- {md.escape(one)}" for one in first.lines[1:]]
    run_on = f" {md.escape(f'({first.run_on})')}" if first.run_on else ""
    return [
        f"> **{md.escape(first.sentence)}**{run_on}",
        "\n".join(lines),
        md.escape(overview.caution([board])),
    ]


def _scoreboard(board: Scoreboard) -> str:
    counts = overview.counts([board], "verdicts")
    rows = [[word, str(count), layout.VERDICTS[word]] for word, count in counts.items()]
    rows += [["NOT RUN, why", str(count), reason] for reason, count in board.reasons.items()]
    return "## Scoreboard\n\n" + md.table(["verdict", "cells", "meaning"], rows)


def _tables(report: Report) -> str:
    """Every table with its word."""
    rows = [
        [
            layout.title(one),
            md.Written(f"{md.strong(one.word)} · {md.escape(report.profile)}"),
            "—" if not one.answers else layout.number(one.answers[0].retention.mean),
            one.reason,
        ]
        for one in report.tables
    ]
    return "## Tables\n\n" + md.table(["table", "word", "differences / printed", "why"], rows)


def _curves(report: Report) -> str:
    """The claims under each set of readings."""
    curves = specification_curve.curves(report)
    if not curves:
        return ""
    names = [f"{i}. {name}" for i, name in enumerate(specification_curve.names(report), start=1)]
    rows = [
        [layout.title(one.table), one.claim.says, *map(specification_curve.said, one.under)]
        for one in curves
    ]
    heading = f"## Claims by reading: {specification_curve.changed(curves)}"
    return f"{heading}\n\n" + md.details("Every claim", md.table(["about", "claim", *names], rows))


def _section(table: TableResult) -> str:
    parts = [
        f"## {md.escape(layout.title(table))}: {md.escape(table.title)}",
        f"{md.escape(layout.section(table))}.",
    ]
    said = [f"{table.word}: {table.reason}", *evidence.of_table(table)]
    if table.run_on:
        said.append(f"run on {table.run_on}")
    parts.append("\n".join(f"- {md.escape(one)}" for one in said))
    parts += [f"*{md.escape(note)}*" for note in table.notes]
    if table.cells:
        parts.append(_grid(table))
        why = Counter((cell.verdict.word, cell.verdict.reason) for cell in table.cells)
        rows = [[word, str(n), reason] for (word, reason), n in why.items()]
        parts.append(md.details("Why cells say so", md.table(["cell", "how many", "why"], rows)))
    if table.findings:
        rows = [[f.status, f.statement, f.published, f.computed] for f in table.findings]
        header = ["status", "statement", "printed", "computed"]
        parts.append(md.details(f"Audit findings ({len(rows)})", md.table(header, rows)))
    if table.claims:
        parts.append(md.details("Evidence for the claims", _evidence(table.claims)))
    if table.departures:
        named = ", ".join(map(md.code, dict.fromkeys(one.setting for one in table.departures)))
        parts.append(f"Departs from the paper in {named} (see [departures](#departures)).")
    if table.margin is not None:
        margin = f"±{table.margin:g} {table.unit or ''} ({table.margin_reason})"
        parts.append(md.escape(f"Margin: {margin}"))
    parts.append(md.block(table.command))
    return "\n\n".join(parts)


def _grid(table: TableResult) -> str:
    laid = layout.grid(table)
    header = [""] + [" · ".join(column) for column in laid.columns]
    rows = [[" ".join(line.label), *(_short(cell) for cell in line.cells)] for line in laid.lines]
    return md.table(header, rows)


def _short(cell: CellResult | None) -> str:
    """Published value, reproduced mean, verdict."""
    if cell is None:
        return ""
    word = cell.verdict.word
    if cell.mean is None:
        return f"{layout.published(cell)} · {word}"
    mean = layout.number(cell.mean, layout.places(cell))
    shown = "" if word == "NOT COMPARED" else f" · {word}"
    return f"{layout.published(cell)} → {mean}{shown}"


def _evidence(claims: tuple[ClaimResult, ...]) -> str:
    said = [
        [
            md.code(claim.id),
            md.strong(claim.word),
            claim.says,
            line(claim),
            claim.reason,
            f"{claim.support}: {claim.support_reason}",
        ]
        for claim in claims
    ]
    rows = [
        [
            md.code(claim.id),
            comparison.text,
            f"{comparison.published_left} / {comparison.published_right}",
            "—" if comparison.interval is None else evidence.span(comparison.interval, sign=True),
        ]
        for claim in claims
        for comparison in claim.comparisons
    ]
    header = ["claim", "comparison", "published", "mean difference"]
    whole = md.table(["claim", "word", "says", "trials", "why", "printed numbers"], said)
    return f"{whole}\n\n{md.table(header, rows)}"


def _gathered(heading: str, report: Report, what: Literal["departures", "unstated"]) -> str:
    rows = []
    for one in layout.gathered(report, what):
        d = one.departure
        rows.append([d.setting, d.paper, d.here, d.why, layout.concerned(one, report)])
    if not rows:
        return ""
    header = ["setting", "paper", "here", "why", "tables"]
    return f"## {heading}\n\n" + md.details(f"{len(rows)} settings", md.table(header, rows))


def _provenance(report: Report) -> str:
    p = report.provenance
    changed = " (changed)" if p.dirty else ""
    rows = [
        ["fedrepro", f"{p.version}, commit {p.commit or 'unknown'}{changed}"],
        ["command", md.code(p.command)],
        ["made", p.created],
        ["device", p.device],
        ["versions", ", ".join(f"{name} {version}" for name, version in p.versions.items())],
        ["seeds", ", ".join(map(str, p.seeds))],
        ["wall time", f"{p.wall_s:.0f} s, training {p.training_s:.0f} core seconds in all"],
    ]
    if report.edited:
        rows.insert(3, ["edited since", ", ".join(map(md.code, report.edited))])
    for name, facts in p.data.items():
        rows.append([f"data {name}", "; ".join(f"{key} {value}" for key, value in facts.items())])
    return "## Provenance\n\n" + md.table(["", ""], rows)
