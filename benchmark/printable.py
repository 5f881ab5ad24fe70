"""Text that shows what it holds: nothing in it moves a cursor, reverses a line or breaks XML."""

import os
import re
import sys
from pathlib import Path

_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed; escape sequences
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that change the direction of writing
    "\u2028\u2029"  # line ends that few programs know
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"  # half characters and no characters
    "]"
)


def printable(text: str) -> str:
    """Text with U+FFFD for every character that controls a device or is none."""
    return _HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """`printable` text in which every run of white space is one space."""
    return " ".join(printable(text).split())


def plural(count: int, noun: str) -> str:
    """'1 cell', '3 cells'."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


_ABSOLUTE = re.compile(r"(?<![\w.~:/\\])(?:[A-Za-z]:)?(?:[/\\][^\s/\\\"'`:;,()<>|]+)+")
_OURS = str(Path(__file__).parents[1])


def without_folders(text: str) -> str:
    """Text in which absolute paths are relative to where modules are found, or names alone."""
    folders = sorted({_OURS, *filter(None, sys.path)}, key=len, reverse=True)

    def shorter(found: re.Match[str]) -> str:
        path = found[0]
        inside = next((one for one in folders if path.startswith(one + os.sep)), None)
        return re.split(r"[/\\]", path)[-1] if inside is None else path[len(inside) + 1 :]

    return _ABSOLUTE.sub(shorter, text)
