"""Can all that is said of the same printed numbers be true at once?

Each statement alone may be possible within rounding and all of them together not. The printed
values, every print of one quantity, the arithmetic of the text, the relations of the specs, and
means of printed trials are one system of linear inequalities for each set of numbers that they tie
together; it is solved exactly, under each rule of rounding. Statements that are contradicted alone
are findings of other checks, and left out here, as are those with words that have no sharp bound.
Of a sentence with several readings, all must be impossible beside the others.

What a finding names cannot do without any of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...claims.bind_cells import instances
from ...claims.nodes import CellKey, Elementary, key_of
from ...claims.printed import support_one
from ...spec.model import Cell, Paper, Table
from ...spec.printed import RULES, Rule
from ..expressions import approximate, cells_of
from ..feasible import contradiction
from ..findings import Finding, finding
from ..linear import Form, Inequality, box_of, inequalities
from ..quantities import quantities
from ..rounding import digits
from . import mean_and_sd
from .claims import readings

KIND = "joint"
HEAVY = True
Rows = list[Inequality]


@dataclass(frozen=True, eq=False)
class Statement:
    """Something that is said of printed numbers, in one or several readings.

    options: by reading, its inequalities under a rule. cells: those that it is about.
    """

    table: str
    name: str
    text: str
    shown: str
    cells: tuple[Cell, ...]
    options: tuple[Callable[[Rule], Rows], ...]


@dataclass(frozen=True)
class Conflict:
    """Statements and prints that cannot all hold, with the sum that shows it."""

    statements: tuple[Statement, ...]
    cells: tuple[Cell, ...]
    sums: tuple[str, ...]


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each smallest set of statements that contradict each other."""
    prints = quantities(paper)
    stated = list(statements(paper, prints))
    conflicts = []
    for tied in _components(stated, prints):
        left = list(tied)
        while left and (found := conflict(left, prints)) is not None:
            conflicts.append(found)
            left = [one for one in left if one not in found.statements]
    yield from (_finding(paper, one) for one in conflicts)
    if stated and not conflicts:
        yield _sound(paper, stated)


def statements(paper: Paper, prints: Mapping[CellKey, Sequence[Cell]]) -> Iterator[Statement]:
    """All that is sharp, linear, possible alone, and not already true of all values."""

    def name(cell: Cell) -> CellKey:
        return key_of(prints.get(key_of(cell), (cell,))[0])

    def options(comparisons: Sequence[Elementary]) -> Callable[[Rule], Rows] | None:
        """The inequalities of one reading; None where one is contradicted alone, or has a dash."""
        words = {support_one(one) for one in comparisons}
        if words & {"contradicted", "not printed"} or any(map(approximate, comparisons)):
            return None

        def rows(rule: Rule) -> Rows:
            found = (inequalities(one, name, rule) for one in comparisons)
            return [row for some in found if some is not None for row in some]

        return rows

    for table in paper.tables:
        for sentence, reads in readings(paper, table).items():
            printed = [read for read in reads if read.word != "not printed"]
            sharp = bool(printed) and len(printed) == len(reads)
            made = [rows for read in printed if (rows := options(read.comparisons)) is not None]
            if sharp and made and all(read.is_sharp and not read.claim.vague for read in printed):
                comparisons = [one for read in printed for one in read.comparisons]
                yield _statement(table, sentence, printed[0].claim.says, comparisons, made)
        for relation in (one for one in table.relations if one.vague is None):
            for where, bound in instances(relation, table, paper):
                rows = options(bound)
                if rows is not None and all(one.leaves for one in bound):
                    place = f"{relation.id} {where}".strip()
                    yield _statement(table, place, f"{where}: {relation.says}", bound, [rows])
    for row in mean_and_sd.rows(paper):
        if row.mean_fits:
            yield _mean(row, name)


def conflict(
    stated: Sequence[Statement], prints: Mapping[CellKey, Sequence[Cell]]
) -> Conflict | None:
    """A smallest set of statements that cannot all hold under either rule; None if there is none.

    First those with one reading; then each other sentence, all of whose readings must fail.
    """
    fixed = [one for one in stated if len(one.options) == 1]
    found = _impossible(fixed, [one.options[0] for one in fixed], prints)
    for open_one in (one for one in stated if len(one.options) > 1):
        if found is not None:
            break
        parts = [
            _impossible([*fixed, open_one], [*(one.options[0] for one in fixed), option], prints)
            for option in open_one.options
        ]
        if all(part is not None for part in parts):
            found = _union([part for part in parts if part is not None])
    return found


def _impossible(
    stated: Sequence[Statement],
    options: Sequence[Callable[[Rule], Rows]],
    prints: Mapping[CellKey, Sequence[Cell]],
) -> Conflict | None:
    parts = []
    for rule in RULES:
        rows: list[tuple[Inequality, Statement | Cell]] = []
        for one, option in zip(stated, options, strict=True):
            rows += [(row, one) for row in option(rule)]
        rows += _boxes(stated, prints, rule)
        proof = contradiction([row for row, _ in rows])
        if proof is None:
            return None
        used = [(rows[i], times) for i, times in proof.multipliers]
        sources = [source for (_, source), _ in used]
        parts.append(
            Conflict(
                tuple(dict.fromkeys(one for one in sources if isinstance(one, Statement))),
                tuple(one for one in sources if isinstance(one, Cell)),
                (_sum([(row, source, times) for (row, source), times in used], proof.left),),
            )
        )
    return _union(parts)


def _union(parts: Sequence[Conflict]) -> Conflict:
    cells = {key_of(cell): cell for part in parts for cell in part.cells}
    return Conflict(
        tuple(dict.fromkeys(one for part in parts for one in part.statements)),
        tuple(cells.values()),
        tuple(dict.fromkeys(text for part in parts for text in part.sums)),
    )


def _boxes(
    stated: Sequence[Statement], prints: Mapping[CellKey, Sequence[Cell]], rule: Rule
) -> Iterator[tuple[Inequality, Cell]]:
    """Every print of every quantity that is spoken of."""
    printed: dict[CellKey, Cell] = {}
    for cell in (cell for one in stated for cell in one.cells):
        printed |= {key_of(other): other for other in prints.get(key_of(cell), (cell,))}
    for key, cell in printed.items():
        quantity = key_of(prints.get(key, (cell,))[0])
        yield from ((row, cell) for row in box_of(cell, quantity, rule))


def _components(
    stated: Sequence[Statement], prints: Mapping[CellKey, Sequence[Cell]]
) -> list[list[Statement]]:
    """Statements that share a quantity, directly or over others, stand together."""
    groups: list[tuple[set[CellKey], list[Statement]]] = []
    for one in stated:
        keys = {key_of(prints.get(key_of(cell), (cell,))[0]) for cell in one.cells}
        tied = [one]
        apart = []
        for others, members in groups:
            if keys.isdisjoint(others):
                apart.append((others, members))
            else:
                keys |= others
                tied = [*members, *tied]
        groups = [*apart, (keys, tied)]
    return [members for _, members in groups]


def _statement(
    table: Table,
    name: str,
    says: str,
    comparisons: Sequence[Elementary],
    options: Sequence[Callable[[Rule], Rows]],
) -> Statement:
    shown = "; ".join(dict.fromkeys(one.printed for one in comparisons))
    cells = tuple(cells_of(comparisons))
    return Statement(table.id, name, says.rstrip("."), shown, cells, tuple(options))


def _mean(row: mean_and_sd.Row, name: Callable[[Cell], CellKey]) -> Statement:
    def rows(rule: Rule) -> Rows:
        form = Form(Fraction(0), {name(row.result): Fraction(-len(row.trials))})
        for trial in row.trials:
            form += Form(Fraction(0), {name(trial): Fraction(1)})
        return [Inequality(form, False), Inequality(form.times(Fraction(-1)), False)]

    label = " · ".join(row.result.row)
    return Statement(
        row.result.table,
        f"mean {label}",
        f"{label}: the mean is that of the printed trials",
        f"{row.result.printed.text} is the mean of {', '.join(t.printed.text for t in row.trials)}",
        (row.result, *row.trials),
        (rows,),
    )


def _sum(used: Sequence[tuple[Inequality, Statement | Cell, Fraction]], left: Fraction) -> str:
    """The inequalities of one proof as bounds on printed numbers, and what their sum leaves."""
    bounds = []
    for row, source, times in used:
        if isinstance(source, Cell):
            ((_, weight),) = row.form.weights.items()
            side = "at most" if weight > 0 else "at least"
            end = -row.form.constant / weight
            word = f"below {digits(end)}" if row.strict and weight > 0 else f"{side} {digits(end)}"
            factor = "" if times == 1 else f"{digits(times)} times "
            bounds.append(f"{factor}{source.printed.text} (table {source.table}) is {word}")
    gap = "only touches what is stated" if not left else f"misses what is stated by {digits(-left)}"
    return f"{'; '.join(dict.fromkeys(bounds))}: the sum {gap}"


def _finding(paper: Paper, found: Conflict) -> Finding:
    first, *_ = found.statements or (None,)
    several = len(found.statements) > 1
    told = " ".join(f"{one.text} (table {one.table})." for one in found.statements)
    said = "Each of these can be true, all of them cannot: " if several else ""
    cells = {key_of(cell): cell for one in found.statements for cell in one.cells}
    shown = {key_of(cell): cell for cell in found.cells}
    return finding(
        paper,
        KIND,
        [part for one in found.statements for part in (one.table, one.name)],
        {**cells, **shown}.values(),
        table=None if first is None else first.table,
        statement=f"{said}{told}",
        published="; ".join(one.shown for one in found.statements),
        computed=" | ".join(found.sums),
        status="inconsistent",
    )


def _sound(paper: Paper, stated: Sequence[Statement]) -> Finding:
    cells = {key_of(cell): cell for one in stated for cell in one.cells}
    return finding(
        paper,
        KIND,
        ("all",),
        cells.values(),
        statement="What text, relations and printed trials say of the same numbers, as far as it "
        "is linear, does not contradict itself.",
        published=f"{len(stated)} statements about {len(cells)} printed numbers",
        computed="values that print so satisfy all statements with one reading at once, and "
        "beside them each other sentence in one of its readings",
        status="consistent",
    )
