"""How long, deep and large specs may be, so that what `fedrepro check` passes can be finished. The
bounds are far above what a printed paper needs; docs/spec-format.md lists them."""

import re
from collections.abc import Iterator
from decimal import Decimal
from math import inf
from typing import Any

from .lines import KeyPath

FILE_BYTES = 2_000_000
DEPTH = 12  # tables and lists inside each other
ITEMS = 2_000  # entries of one list, and keys of one table
COLUMNS = 200
CELLS = 20_000  # rows times columns of one table
TEXT = 4_000  # characters of one text
NAME = 100  # characters of a name, an id or a key
DIGITS = 30  # digits of a number before the decimal point, and behind it
SETTING = 10**9  # absolute value of a number among the settings of an experiment
TRIALS = 1_000
DIVISORS = (0.001, 1_000_000)  # the least and the largest `divide` of an override

CLAIM = 2_000  # characters of a claim's expression
NESTED = 20  # parentheses inside each other in a claim
OPERATIONS = 50  # signs of arithmetic in a claim
COMPARISONS = 2_000  # comparisons that one claim stands for, or values that one side of it does
NAMED_CELLS = 20_000  # cells in all comparisons of a claim, counted as often as they are named

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]*((\.[A-Za-z0-9_+-]+)+(:[A-Za-z_]\w*)?)?", re.ASCII)


def exceeded(value: Any, path: KeyPath = (), most: float = inf) -> Iterator[tuple[KeyPath, str]]:
    """What values of TOML exceed, by path; nothing is said of what is deeper than `DEPTH`. No
    number may be larger than `most`, or smaller than its negative."""
    if said := _problem(value, path, most):
        yield path, said
    elif isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from exceeded(item, (*path, key), most)


def _problem(value: Any, path: KeyPath, most: float) -> str | None:
    if len(path) > DEPTH:
        return f"is nested in more than {DEPTH} tables and lists"
    if path and len(str(path[-1])) > NAME:
        return f"has a key of {len(str(path[-1]))} characters; at most {NAME} are read"
    if isinstance(value, (dict, list)):
        return None if len(value) <= ITEMS else f"has {len(value)} entries; at most {ITEMS}"
    if isinstance(value, str):
        return None if len(value) <= TEXT else f"has {len(value)} characters; at most {TEXT}"
    if not isinstance(value, (int, float, Decimal)):
        return f"is a {type(value).__name__}, which no key takes; write it as text"
    if (said := number_problem(value)) is None and abs(Decimal(value)) > most:
        return f"must lie between -{most:,} and {most:,}"
    return said


def number_problem(value: float | Decimal) -> str | None:
    """Why a number cannot be worked with, or None if it can."""
    number = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        return "must be finite"
    if number.adjusted() >= DIGITS or int(number.as_tuple().exponent) < -DIGITS:
        return f"has more than {DIGITS} digits before or behind the point"
    return None


def setting_problem(value: Any) -> str | None:
    """Why a value is no setting of an experiment, or None if it may be one."""
    for path, said in exceeded(value, most=SETTING):
        return f"{'.'.join(map(str, path))} {said}".lstrip()
    return None


def name_problem(text: str) -> str | None:
    """Why text is no name that may become a file name or a module name, or None if it is one."""
    if len(text) <= NAME and _NAME.fullmatch(text):
        return None
    allowed = f"letters, digits, hyphens, underscores and single dots, at most {NAME}"
    return f"{text!r} is no name: {allowed}"
