"""The audit as Markdown that renders on a code host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedrepro.benchmark.audit.findings import Finding
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.files import write_whole
from fedrepro.reports import audit_layout
from fedrepro.reports.audit_layout import Audited

SUFFIX = ".md"


def write(audited: Audited, path: Path) -> None:
    """Writes the audit to `path`."""
    write_whole(path, render(audited).encode())


def render(audited: Audited) -> str:
    """The whole report as Markdown text."""
    meanings = [f"- **{word}**: {meaning}" for word, meaning in audit_layout.MEANINGS.items()]
    blocks = [
        "# What the printed numbers say of each other",
        "Nothing was trained. Every printed number stands for all values that round to it.",
        "\n".join(meanings),
        _counts("paper", [(paper.id, findings) for paper, findings in audited]),
    ]
    for paper, findings in audited:
        blocks += _paper(paper, findings)
    return "\n\n".join(blocks) + "\n"


def _paper(paper: Paper, findings: Sequence[Finding]) -> list[str]:
    kinds = dict.fromkeys(one.kind for one in findings)
    counted = [
        (audit_layout.in_words(kind), [one for one in findings if one.kind == kind])
        for kind in kinds
    ]
    blocks = [
        f"## {paper.id}: {_escape(paper.title)}",
        audit_layout.headline(findings),
        _counts("check", counted),
    ]
    for status, found in audit_layout.by_status(findings):
        listed = "\n\n".join(map(_finding, found))
        title = f"{len(found)} {status}"
        if status == "consistent":
            listed = f"<details>\n<summary>{title}</summary>\n\n{listed}\n\n</details>"
            blocks.append(listed)
        else:
            blocks += [f"### {title}", listed]
    return blocks


def _finding(one: Finding) -> str:
    return (
        f"- {_escape(one.statement)}\n"
        f"  - published: {_escape(one.published)}\n"
        f"  - computed: {_escape(one.computed)}\n"
        f"  - `{one.id}`"
    )


def _counts(what: str, rows: Sequence[tuple[str, Sequence[Finding]]]) -> str:
    lines = [f"| {what} | {' | '.join(audit_layout.MEANINGS)} |", "|---|---:|---:|---:|"]
    for name, findings in rows:
        numbers = " | ".join(str(count) for count in audit_layout.counts(findings).values())
        lines.append(f"| {_escape(name)} | {numbers} |")
    return "\n".join(lines)


def _escape(text: str) -> str:
    """Text as plain text, whatever Markdown or HTML it would be."""
    for sign in "\\`*_{}[]<>|~":
        text = text.replace(sign, f"\\{sign}")
    return text
