"""The report as Markdown that renders on a code host, with collapsible details."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from fedrepro.benchmark.judging.scoreboard import Scoreboard, scoreboard
from fedrepro.benchmark.printable import one_line
from fedrepro.benchmark.results import CellResult, ClaimResult, Report, TableResult
from fedrepro.reports import layout, overview, specification_curve

FILE = "report.md"
LIMIT = 1_000_000
"""Bytes that a job summary of a code host holds (1 MiB), with room to spare."""
_DEPTHS = ("whole", "tables", "overview")
_PUNCTUATION = re.compile(r"[\\`*_{}\[\]<>|~!#$&]")
_BLOCK = re.compile(r"[-+](?=[\s-]|$)|=|\d+[.)](?=\s|$)")
"""What begins a list, a rule or a heading where it begins a line."""


def render(reports: Sequence[Report], limit: int = LIMIT) -> str:
    """The report as Markdown text, as much of it as `limit` bytes hold.

    What is left out is said: first the trials of every cell, then everything but the overview.
    """
    for depth in _DEPTHS:
        text = _document(reports, depth)
        if len(text.encode("utf-8", "replace")) <= limit:
            break
    return text


def join(boards: Sequence[Scoreboard], files: Iterable[str]) -> Iterator[str]:
    """The counts of all papers, and where their own reports lie."""
    yield "\n\n".join(_overview(boards)) + "\n\n"
    yield "Each paper has a report of its own in `papers/<paper>/report.md`.\n"


def escape(text: str) -> str:
    """Text as text: no markup, no address that becomes a link, and one line.

    What is written already (`_Written`) stays.
    """
    if isinstance(text, _Written):
        return text
    text = one_line(text)
    begin = _BLOCK.match(text)
    text = _PUNCTUATION.sub(r"\\\g<0>", text)
    if begin:
        text = f"{text[: begin.end() - 1]}\\{text[begin.end() - 1 :]}"
    # Code hosts make links of bare addresses, and tell people whose names follow an @.
    for sign, entity in (("://", ":&#47;&#47;"), ("www.", "www&#46;"), ("@", "&#64;")):
        text = text.replace(sign, entity)
    return text


class _Written(str):
    """Text that is Markdown already."""

    __slots__ = ()


def code(text: str) -> str:
    """A code span, within a table as well; its fence is longer than any in the text."""
    text = one_line(text).replace("|", "\\|")
    fence = "`" * (1 + _longest(text))
    return _Written(f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}")


def block(text: str) -> str:
    """A block of code."""
    fence = "`" * max(3, 1 + _longest(text))
    return f"{fence}\n{one_line(text)}\n{fence}"


def _longest(text: str) -> int:
    """The longest run of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)


def _document(reports: Sequence[Report], depth: str) -> str:
    blocks = []
    if len(reports) > 1:
        blocks += _overview(list(map(scoreboard, reports)))
    if depth != "whole":
        blocks.append(f"*Shortened to the {depth} to fit; the HTML and JSON reports hold all.*")
    for report in reports:
        blocks += filter(None, _paper(report, depth))
    return "\n\n".join(blocks) + "\n"


def _overview(boards: Sequence[Scoreboard]) -> list[str]:
    rows = []
    for one in boards:
        told = [_counted(one, what) or "none" for what in ("verdicts", "claims", "findings")]
        rows.append([code(one.paper), one.profile, *told])
    table = _table(["paper", "profile", "cells", "claims", "audit"], rows)
    return ["# fedrepro", f"> **{escape(overview.headline(boards))}**", table]


def _counted(board: Scoreboard, what: Literal["verdicts", "claims", "findings"]) -> str:
    return ", ".join(f"{n} {word}" for word, n in overview.counts([board], what).items())


def _paper(report: Report, depth: str) -> list[str]:
    board = scoreboard(report)
    blocks = [
        f"# {escape(report.title)}",
        f"{escape(report.authors)} ({report.year}) · {code(report.paper)} · "
        f"profile {code(report.profile)}" + (f" on {code(report.on)}" if report.on else ""),
        f"> **{escape(overview.headline([board]))}**",
        _scoreboard(board),
    ]
    if depth == "overview":
        return blocks
    blocks += [_claims_overview(report, board), _readings(report), _curves(report)]
    blocks += [_section(table, depth == "whole") for table in report.tables]
    blocks += [
        _gathered("Departures", report, "departures"),
        _gathered("Unstated settings", report, "unstated"),
        _provenance(report),
    ]
    return blocks


def _scoreboard(board: Scoreboard) -> str:
    counts = overview.counts([board], "verdicts")
    rows = [[word, str(count), layout.VERDICTS[word]] for word, count in counts.items()]
    rows += [["NOT RUN, why", str(count), reason] for reason, count in board.reasons.items()]
    return "## Scoreboard\n\n" + _table(["verdict", "cells", "meaning"], rows)


def _claims_overview(report: Report, board: Scoreboard) -> str:
    claims = layout.all_claims(report)
    if not claims:
        return ""
    rows = [
        [
            layout.title(table),
            claim.says,
            claim.support,
            _Written(f"**{claim.word}**"),
            claim.reason,
        ]
        for table, claim in claims
    ]
    header = ["about", "claim", "by the printed numbers", "by the trials", "evidence"]
    every = _details("Every claim", _table(header, rows))
    return f"## Claims: {_counted(board, 'claims')}\n\n{every}"


def _readings(report: Report) -> str:
    """What the paper leaves open, with the readings that can be run instead."""
    if not report.choices:
        return ""
    rows = []
    for choice in report.choices:
        other = any(one.is_taken for one in choice.alternatives)
        where = "" if choice.table is None else f" (table {choice.table})"
        named = "usual" if other else "taken"
        rows.append([choice.setting + where, named, choice.taken, choice.why])
        for one in choice.alternatives:
            name = _Written(f"{code(one.name)}{f' ({one.state})' if one.state else ''}")
            why = f"{one.why.rstrip('.')}. Speaks for it: {one.speaks}"
            rows.append(["", name, one.taken, why])
    taken = ", ".join(map(code, report.readings)) or "as taken"
    table = _table(["open", "reading", "what it takes", "why"], rows)
    every = _details(f"{len(report.choices)} choices", table)
    return f"## Readings: {taken}\n\n{every}"


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
    return f"{heading}\n\n" + _details("Every claim", _table(["about", "claim", *names], rows))


def _section(table: TableResult, with_trials: bool) -> str:
    parts = [
        f"## {escape(layout.title(table))}: {escape(table.title)}",
        f"{escape(layout.section(table))}.",
    ]
    parts += [f"*{escape(note)}*" for note in table.notes]
    if table.cells:
        parts.append(_grid(table))
        if with_trials:
            parts.append(_details("Every cell with its trials", _cells(table)))
    if table.findings:
        rows = [[f.status, f.statement, f.published, f.computed] for f in table.findings]
        header = ["status", "statement", "printed", "computed"]
        parts.append(_details(f"Audit findings ({len(rows)})", _table(header, rows)))
    if table.claims:
        parts.append(_details("Evidence for the claims", _evidence(table.claims)))
    if table.departures:
        named = ", ".join(map(code, dict.fromkeys(one.setting for one in table.departures)))
        parts.append(f"Departs from the paper in {named} (see [departures](#departures)).")
    if table.margin is not None:
        margin = f"±{table.margin:g} {table.unit or ''} ({table.margin_reason})"
        parts.append(escape(f"Margin: {margin}"))
    parts.append(block(table.command))
    return "\n\n".join(parts)


def _grid(table: TableResult) -> str:
    laid = layout.grid(table)
    header = [""] + [" · ".join(column) for column in laid.columns]
    rows = [[" ".join(line.label), *(_short(cell) for cell in line.cells)] for line in laid.lines]
    return _table(header, rows)


def _short(cell: CellResult | None) -> str:
    """Published value, reproduced mean, verdict."""
    if cell is None:
        return ""
    if cell.mean is None:
        return f"{layout.published(cell)} · {cell.verdict.word}"
    mean = layout.number(cell.mean, layout.places(cell))
    return f"{layout.published(cell)} → {mean} · {cell.verdict.word}"


def _cells(table: TableResult) -> str:
    rows = []
    for cell in table.cells:
        digits = layout.places(cell)
        rows.append(
            [
                f"{' '.join(cell.row)} · {' '.join(cell.column)}",
                layout.published(cell),
                layout.number(cell.mean, digits),
                layout.span(cell.interval, digits),
                " ".join(layout.number(value, digits) for value in cell.trials) or "—",
                layout.number(cell.verdict.difference, digits, sign=True),
                cell.verdict.word,
                "; ".join((cell.verdict.reason, *cell.verdict.working)),
            ]
        )
    header = ["cell", "published", "mean", "95 % interval", "trials", "diff.", "verdict", "why"]
    return _table(header, rows)


def _evidence(claims: tuple[ClaimResult, ...]) -> str:
    rows = [
        [
            code(claim.id),
            comparison.text,
            f"{comparison.published_left} / {comparison.published_right}",
            layout.number(comparison.mean, sign=True),
            layout.span(comparison.interval, sign=True),
            layout.p_value(comparison.p),
        ]
        for claim in claims
        for comparison in claim.comparisons
    ]
    header = ["claim", "comparison", "published", "mean difference", "95 % interval", "p"]
    return _table(header, rows)


def _gathered(heading: str, report: Report, what: Literal["departures", "unstated"]) -> str:
    rows = []
    for one in layout.gathered(report, what):
        d = one.departure
        rows.append([d.setting, d.paper, d.here, d.why, layout.concerned(one, report)])
    if not rows:
        return ""
    header = ["setting", "paper", "here", "why", "tables"]
    return f"## {heading}\n\n" + _details(f"{len(rows)} settings", _table(header, rows))


def _provenance(report: Report) -> str:
    p = report.provenance
    changed = " (changed)" if p.dirty else ""
    rows = [
        ["fedrepro", f"{p.version}, commit {p.commit or 'unknown'}{changed}"],
        ["command", code(p.command)],
        ["made", p.created],
        ["device", p.device],
        ["versions", ", ".join(f"{name} {version}" for name, version in p.versions.items())],
        ["seeds", ", ".join(map(str, p.seeds))],
        ["wall time", f"{p.wall_s:.0f} s, training {p.training_s:.0f} core seconds in all"],
    ]
    for name, facts in p.data.items():
        rows.append([f"data {name}", "; ".join(f"{key} {value}" for key, value in facts.items())])
    return "## Provenance\n\n" + _table(["", ""], rows)


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(escape(text) or " " for text in header) + " |"]
    lines.append("|" + "---|" * len(header))
    lines += ["| " + " | ".join(escape(text) for text in row) + " |" for row in rows]
    return "\n".join(lines)


def _details(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
