"""The judged report as JSON: every number that the other formats show.

`python -m reports.writers.json > docs/report.schema.json` renews the published schema.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from benchmark.files import write_whole
from benchmark.results import Report, as_plain

FILE = "report.json"


def render(reports: Sequence[Report]) -> str:
    """One report as an object, several as a list of such objects; `docs/report.schema.json`."""
    plain = as_plain(reports[0] if len(reports) == 1 else reports)
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write(reports: Sequence[Report], path: Path) -> None:
    """Writes the report on one paper or several to `path`."""
    write_whole(path, render(reports).encode())


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
