"""Every word of its own that a report can show, in one list. `pytest -s
tests/reports/test_words.py` prints it."""

import re
from collections.abc import Iterator
from pathlib import Path

from fedrepro import reports
from fedrepro.reports import layout

MEANINGS = ("VERDICTS", "CLAIMS", "CONTROLS", "TABLES", "FINDINGS", "SUPPORT")
SHOWN = re.compile(r'>([^<>]+)<|(?:title|aria-label|alt|placeholder)="([^"]*)"')
PRIVATE = re.compile(
    r"\b(in print|the print|(?<!not )printed|departures?|(?<!--)readings?|hangs?|beside|scaled)\b",
    re.IGNORECASE,
)
"""Words that the field does not use so, or has another one for."""


def phrases() -> Iterator[str]:
    """What templates say between values, tooltips and names for screen readers included."""
    for name in MEANINGS:
        yield from (f"{word}: {meaning}" for word, meaning in getattr(layout, name).items())
    for file in Path(reports.__file__).parent.glob("templates/*.html"):
        text = re.sub(r"<(style|script)>.*?</\1>", "", file.read_text("utf-8"), flags=re.DOTALL)
        text = re.sub(r"\{#.*?#\}", "", text, flags=re.DOTALL)
        plain = re.sub(r"\{[{%].*?[%}]\}", " ", text, flags=re.DOTALL)
        in_code = re.findall(r"'([A-Z][a-z][\w %,;.-]*)'", text)
        for found in (*map(" ".join, SHOWN.findall(plain)), *in_code):
            said = " ".join(found.split())
            if re.search(r"[A-Za-z]{2}", said):
                yield said


def test_the_words_of_a_report_are_the_fields_own() -> None:
    listed = sorted(set(phrases()))
    print(*listed, sep="\n")
    assert len(listed) > 120
    assert [one for one in listed if PRIVATE.search(one)] == []
