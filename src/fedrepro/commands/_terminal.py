"""What commands print: colours on a terminal, and nothing that a text could do to one."""

import io
import json
import os
import re
import shutil
import sys
import textwrap
from contextlib import suppress
from typing import Any, TextIO

from fedrepro.benchmark.printable import printable

_COLOURS = {
    "REPRODUCED": 32, "HOLDS": 32, "PASS": 32, "SEEN": 32, "supported": 32,
    "consistent": 32, "NOT SEEN": 33,
    "DISCREPANT": 31, "OPPOSITE": 31, "FAIL": 31, "FAILED": 31, "REGRESSED": 31,
    "contradicted": 31, "inconsistent": 31, "missing": 31, "damaged": 31,
    "INCONCLUSIVE": 33, "OPEN": 33, "ABSENT": 33, "undecidable": 33, "SAME DIRECTION": 36,
}  # fmt: skip
_OWN = re.compile("(\x1b\\[(?:0|31|32|33|36)m)")  # the only sequences that `paint` writes


def paint(word: str, as_word: str | None = None) -> str:
    """`word` in its colour, or in that of `as_word`, where standard output shows colours."""
    code = _COLOURS.get(as_word or word)
    if code is None or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return word
    return f"\x1b[{code}m{word}\x1b[0m"


def folded(line: str, indent: int = 2) -> str:
    """A line broken between words for a terminal that it does not fit; further ones indented."""
    if not sys.stdout.isatty():
        return line
    width = max(shutil.get_terminal_size().columns, indent + 20)
    wrapper = textwrap.TextWrapper(width, subsequent_indent=" " * indent)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return wrapper.fill(line) or line


def print_json(plain: object) -> None:
    """Prints plain data as JSON, a value a line, in letters that standard output has."""
    narrow = "utf" not in (sys.stdout.encoding or "utf").lower()
    print(json.dumps(plain, indent=1, ensure_ascii=narrow))


def complain(sentence: str) -> None:
    """One line on standard error, where there is one."""
    if sys.stderr is not None:
        print(f"fedrepro: {printable(sentence)}", file=sys.stderr)


class Output:
    """Standard output on which text from specs, paths and records is `printable`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        parts = _OWN.split(text) if self._stream.isatty() else [text]
        parts[::2] = map(printable, parts[::2])
        self._stream.write("".join(parts))
        return len(text)


def open_standard_streams() -> None:
    """Opens a standard output that was closed, and lets no letter that a stream lacks stop it."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Sends what standard output still holds to nowhere, or Python would complain at exit."""
    with suppress(OSError, ValueError):  # no file behind the stream
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
