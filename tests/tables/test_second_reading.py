"""The specs against a second, independent transcription of the same tables.

`second_reading/<paper>.json` was typed by somebody who had not seen the specs. Labels may be worded
otherwise, so tables are compared place by place.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmark.spec.load import load_paper
from benchmark.spec.types import Table

FOLDER = Path(__file__).parent / "second_reading"
READ = [
    (path.stem, id)
    for path in sorted(FOLDER.glob("*.json"))
    for id in json.loads(path.read_text(encoding="utf-8"))
]


def normal(text: str) -> str:
    """One spelling for dashes, spaces and the two ways to write a power of ten."""
    plain = re.sub(r"\s+", "", text.replace("−", "-").replace("–", "—").replace("~", "≈"))
    plain = re.sub(r"[×x]10\^?\{?(\d+)\}?", r"e\1", plain)
    return "—" if plain in ("", "-") else plain.lower()


def first_reading(table: Table) -> list[list[str]]:
    """The printed cells of a spec, row by row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for cell in table.cells:
        shown = cell.printed.text
        if cell.printed.sd is not None:
            shown += f" ± {cell.printed.sd}"
        rows.setdefault(cell.row, []).append(normal(shown))
    return list(rows.values())


@pytest.mark.parametrize(("paper", "id"), READ, ids=[f"{paper}-{id}" for paper, id in READ])
def test_two_readings_of_a_table_agree(paper: str, id: str) -> None:
    second: dict[str, Any] = json.loads((FOLDER / f"{paper}.json").read_text(encoding="utf-8"))[id]
    values = [[normal(text) for text in row] for row in second["values"]]
    assert first_reading(load_paper(paper).table(id)) == values


def test_a_second_reading_exists() -> None:
    assert READ
