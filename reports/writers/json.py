"""The judged report as JSON: every number that the other formats show.

`python -m fedrepro.reports.writers.json > docs/report.schema.json` renews the published schema.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from ...benchmark.results import Report

FILE = "report.json"


def render(reports: Sequence[Report]) -> str:
    """One report as an object, several as a list (`docs/report.schema.json`), a value a line.
    Raises `ValueError` for a number that is not finite."""
    plain = [asdict(report) for report in reports]
    shown = plain[0] if len(plain) == 1 else plain
    how: dict[str, Any] = {"indent": 1, "ensure_ascii": False, "allow_nan": False}
    return json.dumps(shown, default=to_jsonable_python, **how) + "\n"


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
