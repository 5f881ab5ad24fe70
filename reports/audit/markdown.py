"""The audit as Markdown that renders on a code host."""

from __future__ import annotations

from collections.abc import Sequence

from fedrepro.benchmark.audit.findings import Finding
from fedrepro.benchmark.spec.model import Paper
from fedrepro.reports.audit import layout
from fedrepro.reports.audit.layout import Audited
from fedrepro.reports.writers.markdown import code, escape

FILE = "audit.md"


def render(audited: Audited) -> str:
    """The whole report as Markdown text."""
    meanings = [f"- **{word}**: {meaning}" for word, meaning in layout.MEANINGS.items()]
    blocks = [
        "# What the printed numbers say of each other",
        "Nothing was trained. Every printed number stands for all values that round to it.",
        "\n".join(meanings),
        _counts("paper", [(paper.id, layout.counts(findings)) for paper, findings in audited]),
    ]
    for paper, findings in audited:
        blocks += _paper(paper, findings)
    return "\n\n".join(blocks) + "\n"


def _paper(paper: Paper, findings: Sequence[Finding]) -> list[str]:
    blocks = [
        f"## {escape(paper.id)}: {escape(paper.title)}",
        layout.headline(findings),
        _counts("check", layout.kind_counts(findings)),
    ]
    for status, found in layout.by_status(findings):
        listed = "\n\n".join(map(_finding, found))
        title = f"{len(found)} {status}"
        if status == "consistent":
            blocks.append(f"<details>\n<summary>{title}</summary>\n\n{listed}\n\n</details>")
        else:
            blocks += [f"### {title}", listed]
    return blocks


def _finding(one: Finding) -> str:
    return (
        f"- {escape(one.statement)}\n"
        f"  - published: {escape(one.published)}\n"
        f"  - computed: {escape(one.computed)}\n"
        f"  - {code(one.id)}"
    )


def _counts(what: str, rows: Sequence[tuple[str, layout.Counts]]) -> str:
    lines = [f"| {what} | {' | '.join(layout.MEANINGS)} |", "|---|---:|---:|---:|"]
    for name, counts in rows:
        lines.append(f"| {escape(name)} | {' | '.join(map(str, counts.values()))} |")
    return "\n".join(lines)
