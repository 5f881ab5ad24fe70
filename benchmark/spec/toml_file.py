"""Reads one TOML file within the limits of specs; what is wrong becomes problems with lines."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import tomli

from . import limits
from .lines import KeyPath
from .problems import FileProblems, Problem, read_text

Toml = Mapping[str, Any]
Placed = Sequence[tuple[KeyPath, Toml]]  # tables of a file, each with its path


def read(file: Path) -> tuple[FileProblems, dict[str, Any] | None]:
    """A file and its data, unless it is no TOML or exceeds a limit; raises as `read_text`."""
    report = FileProblems(file, read_text(file, limits.FILE_BYTES))
    try:
        data = tomli.loads(report.text, parse_float=_decimal)
    except tomli.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line = int(found[1]) if found else max(1, len(report.text.splitlines()))
        said = "not valid TOML: " + re.sub(r" \(at .*\)$", "", str(error))
    except RecursionError:
        line, said = 1, "is nested too deeply to be a spec"
    except ValueError:
        # Python turns no text of thousands of digits into a whole number.
        found = re.search(r"[0-9_]{1000}", report.text)
        line = report.text.count("\n", 0, found.start()) + 1 if found else 1
        said = f"a number has more than {limits.DIGITS} digits"
    else:
        for path, problem in limits.exceeded(data):
            report.add(path, problem)
        return report, None if report.problems else data
    report.problems.append(Problem(file, line, said))
    return report, None


def _decimal(text: str) -> Decimal:
    """A number of a TOML file; what no decimal can hold is infinite, which `limits` refuses."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("inf")
