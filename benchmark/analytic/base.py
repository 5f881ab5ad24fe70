"""What a formula gives, how it is found, and the verdict on the cell that it recomputes."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from benchmark.errors import FedreproError, SpecError
from benchmark.results import Verdict
from benchmark.spec.types import Cell
from methods.registry import UnknownNameError, names_in

_PACKAGE = "benchmark.analytic"
_UNITS = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12}


@dataclass(frozen=True)
class Analytic:
    """A recomputed cell.

    value: exact, in the cell's unit, where the cell holds a number. text: where it holds symbols.
    working: lines of arithmetic that lead there.
    """

    value: Decimal | None = None
    text: str | None = None
    working: tuple[str, ...] = ()


def recompute(cell: Cell) -> Analytic:
    """The cell's value from its formula.

    Raises `SpecError` if the cell names no formula or an experiment that its formula cannot use,
    `UnknownNameError` if nothing implements a name in it.
    """
    if cell.formula is None:
        raise SpecError(f"{cell.paper}, table {cell.table}, {cell.label}: no formula is given")
    known = names_in(_PACKAGE)
    if cell.formula not in known:
        raise UnknownNameError("formula", cell.formula, known)
    module = importlib.import_module(f"{_PACKAGE}.{cell.formula.replace('-', '_')}")
    formula: Callable[[Cell], Analytic] = module.recompute
    return formula(cell)


def judge_analytic(cell: Cell) -> Verdict:
    """`EXACT` if the recomputed value prints like the cell, else `MISPRINT?`; with the working.

    A cell without a formula, without print, or whose methods do not exist yet is `NOT RUN`, one
    that cannot be recomputed as specified an `ERROR`.
    """
    if cell.formula is None:
        return Verdict("NOT RUN", "no formula recomputes this cell")
    if cell.printed.is_blank:
        return Verdict("NOT RUN", "nothing is printed here")
    try:
        found = recompute(cell)
    except LookupError as error:
        return Verdict("NOT RUN", str(error))
    except (FedreproError, ValueError) as error:
        return Verdict("ERROR", str(error))
    if found.value is not None and cell.printed.value is not None:
        return _judge_number(cell, found.value, found.working)
    if found.text is None:
        return Verdict("ERROR", f"the formula gives a number, the print is '{cell.printed.text}'")
    if same_product(found.text, cell.printed.text):
        return Verdict("EXACT", f"recomputed as {found.text}", working=found.working)
    reason = f"recomputed as {found.text}, printed {cell.printed.text}"
    return Verdict("MISPRINT?", reason, working=found.working)


def _judge_number(cell: Cell, value: Decimal, working: tuple[str, ...]) -> Verdict:
    assert cell.printed.value is not None
    low, high = cell.printed.bounds
    shown = f"{value.normalize():f}"
    working += (f"printed {cell.printed.text} stands for {low} to {high}",)
    difference = float(value - cell.printed.value)
    if low <= value <= high:
        reason = f"recomputed as {shown}, which prints as {cell.printed.text}"
        return Verdict("EXACT", reason, difference, working=working)
    rounded = value.quantize(cell.printed.value)
    reason = f"recomputed as {shown}, which prints as {rounded}, not {cell.printed.text}"
    return Verdict("MISPRINT?", reason, difference, working=working)


def in_unit(value: int, unit: str | None) -> Decimal:
    """A count in the unit of a cell: 82,280,128 in "M" is 82.280128.

    Raises `SpecError` for a unit that is no power of a thousand.
    """
    prefix = (unit or "").strip()
    if prefix not in _UNITS:
        raise SpecError(f"unit '{unit}' is unknown for a count; use one of '', k, M, G, T")
    return Decimal(value).scaleb(-_UNITS[prefix])


def same_product(one: str, other: str) -> bool:
    """Whether two products have the same factors, in whatever order: '2ST' is '2TS'."""
    return _factors(one) == _factors(other)


def _factors(product: str) -> list[str]:
    plain = re.sub(r"[\s·×*$]", "", product)
    return sorted(re.findall(r"\([^)]*\)|\d+(?:\.\d+)?|.", plain))
