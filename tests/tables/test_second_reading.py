"""The specs against a second, independent transcription of the same tables.
`second_reading/<paper>.json` was typed by somebody who had not seen the specs. Labels may be worded
otherwise, so tables are compared place by place."""

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Cell

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


def printed(cell: Cell) -> str:
    sd = cell.printed.sd
    return normal(cell.printed.text if sd is None else f"{cell.printed.text} ± {sd}")


def spread_apart(row: list[str], paper: str, id: str) -> list[str]:
    """A row of the second reading; Calibre's spread is over clients, so it is a cell of its own."""
    if (paper, id) != ("calibre", "1"):
        return row
    return [part for text in row for part in text.split("±")]


def agree(cell: Cell, second: str) -> bool:
    """The same characters; where the spec calls a value uncertain, one within its range."""
    if printed(cell) == normal(second):
        return True
    low, high = cell.printed.low, cell.printed.high
    return low is not None and high is not None and low <= Decimal(second) <= high


@pytest.mark.parametrize(("paper", "id"), READ, ids=[f"{paper}-{id}" for paper, id in READ])
def test_two_readings_of_a_table_agree(paper: str, id: str) -> None:
    second: dict[str, Any] = json.loads((FOLDER / f"{paper}.json").read_text(encoding="utf-8"))[id]
    values = [spread_apart(row, paper, id) for row in second["values"]]
    first: dict[tuple[str, ...], list[Cell]] = {}
    for cell in load_paper(paper).table(id).cells:
        if list(cell.row) not in second.get("left_out", []):
            first.setdefault(cell.row, []).append(cell)
    assert [len(row) for row in first.values()] == [len(row) for row in values]
    differing = [
        (cell.label, printed(cell), text)
        for row, texts in zip(first.values(), values, strict=True)
        for cell, text in zip(row, texts, strict=True)
        if not agree(cell, text)
    ]
    assert differing == []


def test_a_second_reading_exists() -> None:
    assert READ
