"""Comparisons with baselines for CI: JUnit XML, Markdown for a job's summary, and a badge."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from ..benchmark.judging.baseline import Movement
from ..benchmark.judging.regressions import Comparison, as_json
from . import junit_xml
from .markdown_text import escape

FILES = ("regress.json", "regress.junit.xml", "regress.md")
_BADGE = ("schemaVersion", "label", "message", "color", "isError")
NOT_COMPARED = "not compared"
"""What a badge says until a comparison has come to its end."""


def files(found: Sequence[Comparison], again: str) -> dict[str, str]:
    """The content of `FILES`. again: the command that compared, named in each failure."""
    texts = (json_text(found), junit(found, again), markdown(found))
    return dict(zip(FILES, texts, strict=True))


def json_text(found: Sequence[Comparison]) -> str:
    """What `fedrepro regress --json` prints."""
    return json.dumps(as_json(found), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def junit(found: Sequence[Comparison], again: str) -> str:
    """A suite a table, a test case each cell and claim compared; what regressed is a failure.

    The message of a failure is the sentence of what moved. A trial that failed is an error in a
    suite of its own.
    """
    return junit_xml.document(suite for one in found for suite in _suites(one, again))


def _suites(one: Comparison, again: str) -> Iterator[ElementTree.Element]:
    name = ".".join(filter(None, (one.paper, one.profile, one.on, "regress")))
    regressed = defaultdict[str, list[Movement]](list)
    for moved in one.regressions:
        regressed[moved.where].append(moved)
    tables = dict[str, ElementTree.Element]()
    for place in one.places:
        table, _, inner = place.partition(": ")
        suite = tables.setdefault(
            table, junit_xml.suite(f"{name}.{table.replace('.', '-')}", one.created)
        )
        shown = inner if " @ " in inner else f"claim {inner}"
        told = regressed.pop(place, [])
        message = "; ".join(moved.sentence for moved in told)
        edited = ", ".join(dict.fromkeys(file for moved in told for file in moved.files))
        more = f"; edited since the baseline: {edited}" if edited else ""
        tag: junit_xml.Tag | None = "failure" if told else None
        junit_xml.add_case(suite, shown, tag, f"{message}{more}; again: {again}", "REGRESSED")
    yield from tables.values()
    if one.failed:
        suite = junit_xml.suite(f"{name}.trials", one.created)
        for trial in one.failed:
            junit_xml.add_case(suite, trial.partition(": ")[0], "error", trial, "FAILED")
        yield suite


def markdown(found: Sequence[Comparison]) -> str:
    """What moved as a few lines, for the summary of a job; what regressed comes first."""
    return "".join(f"{line}\n" for one in found for line in _lines(one))


def _lines(one: Comparison) -> Iterator[str]:
    where = f" on {one.on}" if one.on else ""
    yield f"## {escape(one.paper)}, {escape(one.profile)}{escape(where)}: {_counted([one])}"
    yield ""
    within = len(one.movements) - len(one.regressions)
    yield (
        f"{len(one.places)} cells and claims compared with the baseline of {escape(one.created)}; "
        f"{within} moved within tolerance."
    )
    yield ""
    for trial in one.failed:
        yield f"- **FAILED** {escape(trial)}"
    for moved in one.regressions:
        yield f"- **REGRESSED** {escape(moved.sentence)}"
    edits = Counter(file for moved in one.movements for file in moved.files)
    if edits:
        named = ", ".join(f"{escape(file)} ({n})" for file, n in edits.most_common())
        yield f"- Edited since the baseline, and behind how many movements: {named}"
    if one.failed or one.regressions or edits:
        yield ""


def badge(found: Sequence[Comparison]) -> str:
    """A badge as shields.io's endpoint reads it; without comparisons it says that there is none.

    Source of the fields: https://shields.io/badges/endpoint-badge
    """
    message = _counted(found) if found else NOT_COMPARED
    right = all(one.passed for one in found)
    colour = "lightgrey" if not found else "brightgreen" if right else "red"
    values = (1, "fedrepro", message, colour, not right)
    return json.dumps(dict(zip(_BADGE, values, strict=True))) + "\n"


def is_badge(content: bytes) -> bool:
    """Whether a file holds what `badge` gives, or nothing: all that a new badge may replace."""
    try:
        found = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return False
    return found == {} or (isinstance(found, dict) and tuple(found) == _BADGE)


def _counted(found: Sequence[Comparison]) -> str:
    regressed = sum(len(one.regressions) for one in found)
    failed = sum(len(one.failed) for one in found)
    said = [f"{regressed} regressed"] if regressed else []
    said += [f"{failed} {'trial' if failed == 1 else 'trials'} failed"] if failed else []
    return ", ".join(said) or "nothing regressed"
