"""The judged report as JSON: every number that the other formats show.

`python -m reports.writers.json > docs/report.schema.json` renews the published schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from benchmark.files import write_whole
from benchmark.results import Report, as_plain

FILE = "report.json"


def render(reports: Sequence[Report]) -> str:
    """One report as an object, several as a list of such objects; `docs/report.schema.json`."""
    return "".join(_parts(reports))


def write(reports: Sequence[Report], path: Path) -> None:
    """Writes the report on one paper or several to `path`."""
    write_whole(path, (part.encode() for part in _parts(reports)))


def _parts(reports: Sequence[Report]) -> Iterator[str]:
    """The text, a paper at a time: hundreds of papers are more than memory should hold twice."""
    if len(reports) == 1:
        yield _text(reports[0])
    else:
        for i, report in enumerate(reports):
            yield ",\n " if i else "[\n "
            yield _text(report).replace("\n", "\n ")
        yield "\n]" if reports else "[]"
    yield "\n"


def _text(report: Report) -> str:
    return json.dumps(as_plain(report), indent=1, ensure_ascii=False, allow_nan=False)


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
