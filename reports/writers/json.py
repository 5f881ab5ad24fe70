"""The judged report as JSON: every number that the other formats show.

`python -m fedrepro.reports.writers.json > docs/report.schema.json` renews the published schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json

from fedrepro.benchmark.judging.scoreboard import Scoreboard
from fedrepro.benchmark.results import Report
from fedrepro.reports.parts import Parts, parts_of

FILE = "report.json"
PARTS = ("report",)
_NOT_FINITE = (b"NaN", b"Infinity")


def render(reports: Sequence[Report]) -> str:
    """One report as an object, several as a list of such objects; `docs/report.schema.json`.

    A value a line, so that two reports can be compared line by line.

    Raises `ValueError` for a number that is not finite.
    """
    if len(reports) == 1:
        return part(reports[0], "report") + "\n"
    return "".join(whole(parts_of(reports, part), ()))


def part(report: Report, name: str) -> str:
    """One paper of several."""
    content = to_json(report, indent=1)
    # Such a number ends its line, where text has its quotation mark.
    if any(word in content and re.search(word + rb",?\n", content) for word in _NOT_FINITE):
        raise ValueError(f"a number in the report on {report.paper} is not finite: not JSON")
    return content.decode()


def whole(parts: Parts, boards: Sequence[Scoreboard]) -> Iterator[str]:
    """The list of all papers."""
    yield "["
    for i, text in enumerate(parts("report")):
        yield f",\n{text}" if i else text
    yield "]\n"


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `render` gives, made from the types of the results."""
    made = TypeAdapter(Report | list[Report]).json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fedrepro report: one judged paper, or a list of them",
        **made,
    }


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1, ensure_ascii=False))
