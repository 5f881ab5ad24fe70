"""Small made-up papers, and rounding as authors do it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from fedrepro.benchmark.audit.findings import Finding
from fedrepro.benchmark.spec.model import Cell, Claim, Paper, Relation, Sd, Table
from fedrepro.benchmark.spec.printed import Printed

ROUNDINGS = {"up": ROUND_HALF_UP, "even": ROUND_HALF_EVEN}
rules = st.sampled_from(["up", "even"])


def statuses(findings: Iterable[Finding]) -> set[str]:
    return {one.status for one in findings}


def cell(text: str, row: str = "A", column: str = "C", **given: Any) -> Cell:
    usual = {"paper": "p", "table": "1", "kind": "empirical", "metric": "accuracy", "unit": "%"}
    own: dict[str, Any] = {"experiment": {"method": "made-up", "name": row}, **usual, **given}
    place: dict[str, Any] = {"row": tuple(row.split("|")), "column": tuple(column.split("|"))}
    own["read"] = own.pop("at", "final")
    return Cell(printed=Printed.parse(text), **place, **own)


def rows(texts: Mapping[str, str], **given: Any) -> list[Cell]:
    """A column of cells: what is printed, by the label of its row."""
    return [cell(text, row, **given) for row, text in texts.items()]


def trials(values: Sequence[str], **given: Any) -> list[Cell]:
    return [cell(text, column=f"{i}", trial=i, **given) for i, text in enumerate(values, 1)]


def on_clients(texts: Sequence[str], clients: Mapping[str, int]) -> list[Cell]:
    """A column of accuracies of different methods on the same clients."""
    return [
        cell(text, row=f"{i}", experiment={"method": "made-up", "name": i, "clients": clients})
        for i, text in enumerate(texts)
    ]


def paper(
    *cells: Cell,
    claims: Sequence[Claim] = (),
    relations: Sequence[Relation] = (),
    runs: int | None = None,
    ddof: int | None = None,
) -> Paper:
    ids, sd = dict.fromkeys(cell.table for cell in cells), Sd(ddof, runs)
    tables = tuple(
        Table(id, "t", "4", "empirical", "accuracy", "%", paper="p", cells=of_table, sd=sd)
        for id in ids
        if (of_table := tuple(cell for cell in cells if cell.table == id))
    )
    first = (replace(one, claims=tuple(claims), relations=tuple(relations)) for one in tables[:1])
    return Paper("p", "T", "N. N.", 2024, {}, tables=(*first, *tables[1:]))


def printed(value: Fraction | Decimal | int, places: int, rule: str) -> str:
    """A value printed with that many decimals, ties by the rule `up` or `even`."""
    unit = Decimal(1).scaleb(-places)
    if isinstance(value, Decimal):
        return str(value.quantize(unit, ROUNDINGS[rule]))
    exact = Fraction(value) * 10**places
    whole = exact.numerator // exact.denominator
    rest = exact - whole
    up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and (rule == "up" or whole % 2 == 1))
    return str(Decimal(whole + up).scaleb(-places))


def moments(values: Sequence[Fraction], ddof: int) -> tuple[Fraction, Fraction]:
    mean = sum(values, Fraction(0)) / len(values)
    return mean, sum(((x - mean) ** 2 for x in values), Fraction(0)) / (len(values) - ddof)


def mean_and_sd(values: Sequence[Fraction], ddof: int, places: int, rule: str) -> str:
    """Both as a paper prints them."""
    mean, variance = moments(values, ddof)
    with localcontext() as context:
        context.prec = 60
        sd = (Decimal(variance.numerator) / Decimal(variance.denominator)).sqrt()
    return f"{printed(mean, places, rule)} ± {printed(sd, places, rule)}"
