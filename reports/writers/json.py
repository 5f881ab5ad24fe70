"""The judged report as JSON: every number that the other formats show.

`python -m reports.writers.json > docs/report.schema.json` renews the published schema.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from benchmark.results import Report, as_plain
from benchmark.scoreboard import Scoreboard
from reports.parts import Parts, parts_of

FILE = "report.json"
PARTS = ("report",)
_NEXT = ",\n"


def render(reports: Sequence[Report]) -> str:
    """One report as an object, several as a list of such objects; `docs/report.schema.json`.

    A value a line, so that two reports can be compared line by line; not indented, because the
    standard library's fast encoder does not indent, and a suite's report is a million values.

    Raises `ValueError` for a number that is not finite.
    """
    if len(reports) == 1:
        return part(reports[0], "report") + "\n"
    return "".join(whole(parts_of(reports, part), ()))


def part(report: Report, name: str) -> str:
    """One paper of several."""
    return json.dumps(
        report, default=_plain, ensure_ascii=False, allow_nan=False, separators=(_NEXT, ": ")
    )


def whole(parts: Parts, boards: Sequence[Scoreboard]) -> Iterator[str]:
    """The list of all papers."""
    yield "["
    for i, text in enumerate(parts("report")):
        yield _NEXT + text if i else text
    yield "]\n"


def _plain(value: Any) -> Any:
    """What the encoder does not know, a level at a time, without a copy of the whole report."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: getattr(value, name) for name in _names(type(value))}
    return as_plain(value)


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(one.name for one in dataclasses.fields(kind))


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
