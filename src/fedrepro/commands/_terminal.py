"""What commands print: colours on a terminal, and nothing that a text could do to one."""

from __future__ import annotations

import codecs
import json
import os
import re
import shutil
import sys
import textwrap
from contextlib import suppress
from typing import TextIO

from fedrepro.benchmark.printable import printable
from fedrepro.methods import registry

_COLOURS = {
    "REPRODUCED": 32, "EXACT": 32, "HOLDS": 32, "supported": 32, "consistent": 32,
    "DISCREPANT": 31, "ERROR": 31, "REVERSED": 31, "REGRESSED": 31, "contradicted": 31,
    "inconsistent": 31, "missing": 31, "damaged": 31,
    "SHIFTED": 33, "MISPRINT?": 33, "INCONCLUSIVE": 33, "UNRESOLVED": 33, "undecidable": 33,
    "PARTLY": 33, "OPPOSITE HERE": 36,
}  # fmt: skip
_OWN = re.compile("(\x1b\\[(?:0|31|32|33|36)m)")
"""The only sequences that `paint` writes."""


def paint(word: str, as_word: str | None = None) -> str:
    """`word` in its colour, or in that of `as_word`, where standard output shows colours."""
    code = _COLOURS.get(as_word or word)
    if code is None or not coloured():
        return word
    return f"\x1b[{code}m{word}\x1b[0m"


def coloured() -> bool:
    """Whether standard output is a terminal and nobody asked for no colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def folded(line: str, indent: int = 2) -> str:
    """A line broken between words where standard output is a terminal that it does not fit.

    indent: spaces before the lines that follow the first.
    """
    if not sys.stdout.isatty():
        return line
    width = max(shutil.get_terminal_size().columns, indent + 20)
    lines = textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines) or line


def print_json(plain: object) -> None:
    """Prints plain data as JSON, a value a line."""
    print(json.dumps(plain, indent=1, ensure_ascii=False))


def complain(sentence: str) -> None:
    """One line on standard error, where there is one."""
    if sys.stderr is not None:
        print(f"fedrepro: {printable(sentence)}", file=sys.stderr)


def complain_of_plugins() -> None:
    """A line for each name that another package's entry points give in vain."""
    for kind in registry.kinds():
        for name, why in registry.left_out(kind).items():
            complain(f"{kind} '{name}' is left out: {why}")


class Lasting:
    """A stream in the place of standard output or error, which outlasts its reader.

    A reader who has left (`2>&1 | head`) does not end the command, which has an exit code to find.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = open(os.devnull, "w") if stream is None else stream  # noqa: SIM115, PTH123

    @property
    def encoding(self) -> str:
        return getattr(self._stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        return self._stream.isatty()

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except BrokenPipeError:
            self.discard()
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self.discard()

    def discard(self) -> None:
        """Sends what the stream still holds to nowhere, or Python would complain at exit."""
        with suppress(OSError, ValueError):  # no file behind the stream
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


class Output(Lasting):
    """Standard output, for what commands print.

    Text from specs, paths and records is shown `printable`. A letter that the stream's encoding
    lacks is written as JSON spells it, \\u00e9, so that JSON stays JSON.
    """

    def write(self, text: str) -> int:
        if self.isatty():
            parts = _OWN.split(text)
            parts[::2] = map(printable, parts[::2])
            shown = "".join(parts)
        else:
            shown = printable(text)
        super().write(shown.encode(self.encoding, "json-escape").decode(self.encoding))
        return len(text)


def _as_json_escapes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    halves = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    codes = (halves[i : i + 2].hex() for i in range(0, len(halves), 2))
    return "".join(f"\\u{code}" for code in codes), error.end


codecs.register_error("json-escape", _as_json_escapes)


def open_standard_streams() -> None:
    """Gives nowhere to standard streams that were closed (`>&-`).

    Otherwise the next file that is opened takes the number of a stream, and receives what children
    print.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
