"""The claim language: text to syntax tree, by recursive descent.

    claim      = sum comparison sum { comparison sum } [ where ]
    comparison = ">" | "<" | "=" | "~" number
    sum        = product { ("+" | "-") product }
    product    = atom { ("*" | "/") atom }
    atom       = number | cells | function | "(" sum ")"
    function   = ("max" | "min" | "mean") "(" cells ")"
    cells      = 'row' { "," 'row' } [ where ]
    where      = [ "at" 'column' { "," 'column' } ] [ "in" 'table' ]

Nothing here knows of tables: `benchmark.claims.bind_cells` binds the patterns to cells.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Generic, Literal, NamedTuple, TypeVar, cast, get_args

from ..errors import SpecError
from ..spec import limits
from ..spec.fields import Label

Relation = Literal[">", "<", "=", "~"]
Sign = Literal["+", "-", "*", "/"]
FunctionName = Literal["max", "min", "mean"]
Part = TypeVar("Part")
"""Lists of cells as they are written, or the cells to which they are bound."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<quoted>'[^']*')|(?P<word>[A-Za-z]+)|(?P<sign>[-+*/()<>=~,−]))"
)
_ONE_LINE = str.maketrans("\r\n\t", "   ")


@dataclass(frozen=True)
class Number:
    """A number of the text. as_printed: it stands alone beside '=', so its rounding counts."""

    value: Decimal
    as_printed: bool = False


@dataclass(frozen=True)
class Cells:
    """Patterns of rows, and of columns where the list has its own 'at'; `*` matches a label part.

    whole: a function takes all columns of the list together, since its parentheses hold them.
    """

    rows: tuple[Label, ...]
    columns: tuple[Label, ...] | None = None
    table: str | None = None
    whole: bool = False


@dataclass(frozen=True)
class Aggregate(Generic[Part]):
    """The largest, smallest or mean value of some cells."""

    name: FunctionName
    cells: Part


@dataclass(frozen=True)
class Arithmetic(Generic[Part]):
    """Two expressions under one sign."""

    sign: Sign
    left: Part
    right: Part


Expression = Number | Cells | Aggregate[Cells] | Arithmetic["Expression"]


@dataclass(frozen=True)
class Step:
    """One comparison of a chain and what stands to its right. tolerance: of '~' alone."""

    relation: Relation
    tolerance: Decimal | None
    right: Expression


@dataclass(frozen=True)
class Chain:
    """A parsed claim: `first`, then comparison by comparison.

    trailing: an 'at' or 'in' that ends the claim behind something other than a list, as in "'A' > 5
    at 'x'"; its rows are empty.
    """

    first: Expression
    steps: tuple[Step, ...]
    trailing: Cells | None


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


def parse(text: str) -> Chain:
    """The syntax tree of a claim.

    Raises `SpecError` with the position (counted from 1) for text that is not one, and for one
    that exceeds `spec.limits`.
    """
    if len(text) > limits.CLAIM:
        raise SpecError(f"a claim of {len(text)} characters; at most {limits.CLAIM} are read")
    return _Parser(text).claim()


def _tokens(text: str) -> list[_Token]:
    tokens, position = [], 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            start = position + len(text[position:]) - len(text[position:].lstrip())
            found = text[start]
            hint = "; the closing quote is missing" if found == "'" else ""
            raise _error(text, start, f"'{found}' has no meaning in a claim{hint}")
        kind = match.lastgroup or ""
        tokens.append(_Token(kind, match[kind].replace("−", "-"), match.start(kind)))
        position = match.end()
    tokens.append(_Token("end", "the end", end))
    return tokens


def _error(text: str, position: int, message: str) -> SpecError:
    return SpecError(f'claim "{text.translate(_ONE_LINE)}", position {position + 1}: {message}')


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.next = self.nested = self.operations = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.next]

    def take(self) -> _Token:
        token = self.token
        self.next += 1
        return token

    def fail(self, message: str) -> SpecError:
        return _error(self.text, self.token.position, message)

    def accept(self, *texts: str) -> str | None:
        if self.token.kind in ("sign", "word") and self.token.text in texts:
            return self.take().text
        return None

    def expect(self, text: str) -> None:
        if self.accept(text) is None:
            raise self.fail(f"expected '{text}', found {self.token.text}")

    def claim(self) -> Chain:
        first = self.sum()
        steps: list[Step] = []
        trailing: Cells | None = None
        while self.token.kind != "end":
            if steps and self.token.text in ("at", "in"):
                trailing = self.where(())
                if self.token.kind != "end":
                    raise self.fail(f"expected the end of the claim, found {self.token.text}")
            else:
                steps.append(self.step())
        if not steps:
            raise self.fail("expected a comparison (>, <, = or ~) and a right side")
        return Chain(first, tuple(steps), trailing)

    def step(self) -> Step:
        relation = self.accept(">", "<", "=", "~")
        if relation is None:
            raise self.fail(f"expected a comparison (>, <, = or ~), found {self.token.text}")
        if relation == "~" and self.token.kind != "number":
            raise self.fail(f"expected the tolerance of '~', found {self.token.text}")
        tolerance = self.decimal() if relation == "~" else None
        return Step(cast(Relation, relation), tolerance, self.sum())

    def decimal(self) -> Decimal:
        value = Decimal(self.token.text)
        problem = limits.number_problem(value)
        if problem is not None:
            raise self.fail(f"the number {problem}")
        self.take()
        return value

    def sum(self) -> Expression:
        return self.chain(self.product, "+", "-")

    def product(self) -> Expression:
        return self.chain(self.atom, "*", "/")

    def chain(self, part: Callable[[], Expression], *signs: str) -> Expression:
        left = part()
        while (sign := self.accept(*signs)) is not None:
            self.operations += 1
            if self.operations > limits.OPERATIONS:
                raise self.fail(f"more than {limits.OPERATIONS} operations in one claim")
            left = Arithmetic(cast(Sign, sign), left, part())
        return left

    def atom(self) -> Expression:
        if self.token.kind == "number":
            return Number(self.decimal())
        if self.token.text == "-" and self.tokens[self.next + 1].kind == "number":
            self.take()
            return Number(-self.decimal())
        if self.accept("("):
            self.nested += 1
            if self.nested > limits.NESTED:
                raise self.fail(f"more than {limits.NESTED} parentheses inside each other")
            inside = self.sum()
            self.expect(")")
            self.nested -= 1
            return inside
        if self.token.kind == "word":
            return self.function()
        if self.token.kind == "quoted":
            return self.where(self.labels("row"))
        raise self.fail(
            f"expected a number, a quoted row, a function or '(', found {self.token.text}"
        )

    def function(self) -> Aggregate[Cells]:
        if self.token.text not in get_args(FunctionName):
            raise self.fail(f"'{self.token.text}' is not a function (max, min, mean)")
        name = cast(FunctionName, self.take().text)
        self.expect("(")
        cells = self.where(self.labels("row"))
        self.expect(")")
        return Aggregate(name, replace(cells, whole=cells.columns is not None))

    def where(self, rows: tuple[Label, ...]) -> Cells:
        cells = Cells(rows)
        while (word := self.token.text) in ("at", "in"):
            if (cells.columns if word == "at" else cells.table) is not None:
                raise self.fail(f"a list of cells has only one '{word}'")
            self.take()
            if word == "at":
                cells = replace(cells, columns=self.labels("column"))
            else:
                cells = replace(cells, table=self.quoted("table"))
        return cells

    def labels(self, what: str) -> tuple[Label, ...]:
        labels = [self.label(what)]
        while self.accept(","):
            labels.append(self.label(what))
        return tuple(labels)

    def label(self, what: str) -> Label:
        return tuple(part.strip() for part in self.quoted(what).split("|"))

    def quoted(self, what: str) -> str:
        if self.token.kind != "quoted":
            raise self.fail(f"expected a quoted {what}, found {self.token.text}")
        return self.take().text[1:-1]
