"""Analytic cells: printed values that follow from definitions, recomputed without training. A spec
names a function from a cell to an `Analytic` as `formula`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ...methods.registry import UnknownNameError
from ..errors import FedreproError, SpecError
from ..results import Verdict
from ..spec import settings
from ..spec.model import Cell

if TYPE_CHECKING:
    from ...methods.encoders.base import Encoder

_PACKAGE = "fedrepro.benchmark.analytic"
_MODULES = {
    "communication": "communication",
    **dict.fromkeys(("flops", "parameters"), "networks"),
    **dict.fromkeys(
        ("client-flops", "client-memory", "communication-bits", "module-layer",
         "representation-bits", "representation-size", "round-bits"),
        "mfcl",
    ),
}  # fmt: skip
"""By name of a formula the module that has a function of that name; loaded when it is asked for."""
_UNITS = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12}


@dataclass(frozen=True)
class Candidate:
    """A formula as the passage `source` reads, and the arithmetic that leads to its value."""

    name: str
    value: int | Fraction
    arithmetic: str
    source: str


@dataclass(frozen=True)
class FormulaReading:
    """A candidate's value in the cell's unit, and whether it fits the published value."""

    name: str
    value: Decimal
    fits: bool


@dataclass(frozen=True)
class Analytic:
    """A recomputed cell. `value`: exact, in the cell's unit; `text`: where the cell holds symbols.
    `readings`: the interpretations of the paper, the first as it states (`value`). `searched`: how
    many were tried to find these, if more. `ours`: what in it is not from the paper, if anything.
    Such a value can fit the published one, but shows no misprint."""

    value: Decimal | None = None
    text: str | None = None
    working: tuple[str, ...] = ()
    readings: tuple[FormulaReading, ...] = ()
    searched: int = 0
    ours: str | None = None


def recompute(cell: Cell) -> Analytic:
    """The cell's value from its formula. Raises `SpecError` if the cell names no formula or an
    experiment that its formula cannot use, `UnknownNameError` for a name without a module."""
    if cell.formula is None:
        raise refused(cell, "no formula is given")
    if cell.formula not in _MODULES:
        raise UnknownNameError("formula", cell.formula, sorted(_MODULES))
    module = importlib.import_module(f"{_PACKAGE}.{_MODULES[cell.formula]}")
    formula: Callable[[Cell], Analytic] = getattr(module, cell.formula.replace("-", "_"))
    return formula(cell)


def setting(cell: Cell, path: str) -> Any:
    """A setting of the cell's experiment; raises `SpecError` if it is not given."""
    value = settings.get(cell.experiment, path)
    if value is None:
        raise refused(cell, f"formula '{cell.formula}' needs {path}")
    return value


def refused(cell: Cell, said: str) -> SpecError:
    """The error that says why a cell cannot be recomputed."""
    return SpecError(f"{cell.paper}, table {cell.table}, {cell.label}: {said}")


def encoder_of(cell: Cell) -> Encoder:
    """The encoder of the cell's experiment; raises `SpecError` for a missing or wrong option."""
    name = setting(cell, "encoder.name")
    return settings.build("encoder", name, cell.experiment["encoder"])  # type: ignore[no-any-return]


def attempted(cell: Cell) -> Analytic:
    """As `recompute`; empty where that raises."""
    try:
        return recompute(cell)
    except (LookupError, FedreproError, ValueError):
        return Analytic()


def recomputed(cell: Cell) -> float | None:
    """The number that a counted cell's formula gives, in its unit; None where it gives none."""
    counted = cell.kind == "analytic" and cell.skip is None
    found = attempted(cell).value if counted else None
    return None if found is None else float(found)


def judge_analytic(cell: Cell, counted: float | None = None) -> Verdict:
    """`EXACT` if the recomputed value prints like the cell, else `MISPRINT?`; with the working.

    A mismatch is `INCONCLUSIVE` where the value rests on something that is not from the paper. Of
    several interpretations, `EXACT` takes the first that fits and names it. A cell is `NOT RUN` if
    it has no formula or no published value, or if its methods do not exist yet. One that cannot be
    recomputed as specified is an `ERROR`. `counted`: what a method's own rounds cost, in the cell's
    unit. It is reported and not judged, since printed costs follow the paper's equations, or
    another paper's setting."""
    if cell.formula is None:
        return Verdict("NOT RUN", "no formula recomputes this cell")
    if cell.printed.is_blank:
        return Verdict("NOT RUN", "nothing is published here")
    try:
        found = recompute(cell)
    except LookupError as error:
        return _with_count(Verdict("NOT RUN", str(error)), cell, counted)
    except (FedreproError, ValueError) as error:
        return Verdict("ERROR", str(error))
    if found.value is not None and cell.printed.value is not None:
        return _with_count(_judge_number(cell, found), cell, counted)
    if found.text is None:
        reason = f"the formula gives a number, the published value is '{cell.printed.text}'"
        return Verdict("ERROR", reason)
    if same_product(found.text, cell.printed.text):
        return Verdict("EXACT", f"recomputed as {found.text}", working=found.working)
    reason = f"recomputed as {found.text}, published {cell.printed.text}"
    return _mismatch(reason, found, found.working)


def _mismatch(
    reason: str, found: Analytic, working: tuple[str, ...], difference: float | None = None
) -> Verdict:
    if found.ours is None:
        return Verdict("MISPRINT?", reason, difference, working=working)
    reason += f"; that rests on {found.ours}, so the published value need not be wrong"
    return Verdict("INCONCLUSIVE", reason, difference, working=working)


def _with_count(verdict: Verdict, cell: Cell, counted: float | None) -> Verdict:
    if counted is None or cell.printed.value is None:
        return verdict
    ours = _like(Decimal(counted), cell.printed.value)
    line = f"counted while the method's own rounds are made: {ours}"
    return replace(verdict, reason=f"{verdict.reason}; {line}", working=(*verdict.working, line))


def _judge_number(cell: Cell, found: Analytic) -> Verdict:
    assert cell.printed.value is not None
    assert found.value is not None
    text, (low, high) = cell.printed.text, cell.printed.bounds
    working = (*found.working, f"published {text} stands for {low:f} to {high:f}")
    stated = FormulaReading("", found.value, low <= found.value <= high)
    best = next((one for one in (stated, *found.readings) if one.fits), stated)
    difference = float(best.value - cell.printed.value)
    prints = f"{_shown(stated.value)}, which rounds to {_rounded(stated.value, cell.printed.value)}"
    count = f"{len(found.readings)} interpretations"
    if not best.fits:
        none = f"; none of {count} fits" if len(found.readings) > 1 else ""
        return _mismatch(f"recomputed as {prints}, not {text}{none}", found, working, difference)
    reason = f"recomputed as {_shown(best.value)}, which rounds to {text}"
    if not stated.fits:
        under = f"under the interpretation '{best.name}' (of {count})"
        reason = f"{under} {reason}; as first stated it is {prints}"
    return Verdict("EXACT", reason, difference, working=working)


def from_candidates(
    cell: Cell, candidates: Sequence[Candidate], searched: int = 0, ours: str | None = None
) -> Analytic:
    """Compares candidates with the published value, a line for each; the first is as stated."""
    low, high = cell.printed.bounds if cell.printed.value is not None else (1, 0)
    readings, lines = [], []
    for one in candidates:
        value = in_unit(one.value, cell.unit)
        fits = low <= value <= high
        readings.append(FormulaReading(one.name, value, fits))
        name = f"{one.name}: " if one.name else ""
        lines.append(
            f"{'fits' if fits else 'does not fit'}: {name}{one.arithmetic} = "
            f"{_like(value, cell.printed.value)} [{one.source}]"
        )
    return Analytic(readings[0].value, None, tuple(lines), tuple(readings), searched, ours)


def _like(value: Decimal, printed: Decimal | None) -> str:
    """With two decimals, and the published power of ten: 21.44e8 for a published 21e8."""
    power = 0 if printed is None else int(printed.as_tuple().exponent)
    if power <= 0 or value == 0:
        return _shown(value)
    power = min(power, value.adjusted())
    return f"{value.scaleb(-power):,.2f}e{power}"


def _rounded(value: Decimal, printed: Decimal) -> str:
    """As the paper would print it: with as many digits where it prints powers of ten."""
    if int(printed.as_tuple().exponent) <= 0:
        return str(value.quantize(printed, context=Context(prec=200)))
    power = value.adjusted() + 1 - len(printed.as_tuple().digits)
    return f"{value.scaleb(-power):.0f}e{power}"


def _shown(value: Decimal) -> str:
    return f"{Context(prec=15).plus(value).normalize():f}"


def in_unit(value: int | Fraction, unit: str | None) -> Decimal:
    """A count in a power of a thousand: 82,280,128 in "M" is 82.280128. `SpecError` for others."""
    prefix = (unit or "").strip()
    if prefix not in _UNITS:
        raise SpecError(f"unit '{unit}' is unknown for a count; use one of '', k, M, G, T")
    return Decimal(value.numerator).scaleb(-_UNITS[prefix]) / value.denominator


def same_product(one: str, other: str) -> bool:
    """Whether two products have the same factors, in whatever order: '2ST' is '2TS'."""
    plain = (re.sub(r"[\s·×*$]", "", product) for product in (one, other))
    left, right = (sorted(re.findall(r"\([^)]*\)|\d+(?:\.\d+)?|.", text)) for text in plain)
    return left == right
