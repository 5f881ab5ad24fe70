"""The judged report as JSON: every number that the other formats show.

`python -m reports.writers.json > docs/report.schema.json` renews the published schema.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from json.encoder import encode_basestring as _quoted
from typing import Any

from pydantic import TypeAdapter

from benchmark.results import Report, as_plain
from benchmark.scoreboard import Scoreboard
from reports.parts import Parts, parts_of

FILE = "report.json"
PARTS = ("report",)


def render(reports: Sequence[Report]) -> str:
    """One report as an object, several as a list of such objects; `docs/report.schema.json`."""
    if len(reports) == 1:
        return _written(reports[0], "\n") + "\n"
    return "".join(whole(parts_of(reports, part), ()))


def part(report: Report, name: str) -> str:
    """One paper of several, indented as within their list."""
    return _written(report, "\n ")


def whole(parts: Parts, boards: Sequence[Scoreboard]) -> Iterator[str]:
    """The list of all papers."""
    before = "[\n "
    for text in parts("report"):
        yield before + text
        before = ",\n "
    yield "[]\n" if before[0] == "[" else "\n]\n"


def _written(value: Any, line: str) -> str:
    """The JSON of `as_plain(value)`, indented by one space a level, without making that first.

    The standard encoder indents in Python too, and a suite's report is a million values. line: what
    starts a line at the level of `value`.

    Raises `ValueError` for a number that is not finite.
    """
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is no number that JSON has")
        return float.__repr__(value)
    inner = line + " "
    if isinstance(value, (list, tuple)):
        items = [_written(item, inner) for item in value]
        return f"[{inner}{(',' + inner).join(items)}{line}]" if items else "[]"
    if isinstance(value, Mapping):
        items = [f"{_quoted(str(key))}: {_written(item, inner)}" for key, item in value.items()]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = _names(type(value))
        items = [f"{name}{_written(getattr(value, field), inner)}" for field, name in names]
    else:
        return json.dumps(as_plain(value), ensure_ascii=False, allow_nan=False)
    return f"{{{inner}{(',' + inner).join(items)}{line}}}" if items else "{}"


@cache
def _names(kind: type[Any]) -> tuple[tuple[str, str], ...]:
    """The fields of a dataclass, and how each begins in JSON."""
    return tuple((one.name, f'"{one.name}": ') for one in dataclasses.fields(kind))


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
