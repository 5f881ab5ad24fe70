"""The claim language (`docs/spec-format.md`, Claims): text to syntax tree, by recursive descent.

Nothing here knows of tables: `benchmark.claims.bind_cells` binds the patterns to cells.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Generic, Literal, NamedTuple, TypeVar, cast, get_args

from ..errors import SpecError
from ..spec import limits
from ..spec.fields import Label

RelationSign = Literal[">", "<", "=", "~"]
Sign = Literal["+", "-", "*", "/"]
FunctionName = Literal["max", "min", "mean"]
Operand = TypeVar("Operand")
"""Lists of cells as they are written, or the cells to which they are bound."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<quoted>'[^']*')|(?P<word>[A-Za-z]+)|(?P<sign>[-+*/()<>=~,−]))"
)
_ONE_LINE = str.maketrans("\r\n\t", "   ")


@dataclass(frozen=True)
class Number:
    """A number of the text. `as_printed`: it stands for all that rounds to it."""

    value: Decimal
    as_printed: bool = False


@dataclass(frozen=True)
class Cells:
    """Patterns of rows, and of columns where the list has its own 'at'; `*` matches a label part.
    `whole`: a function takes all columns of the list together, since its parentheses hold them."""

    rows: tuple[Label, ...]
    columns: tuple[Label, ...] | None = None
    table: str | None = None
    whole: bool = False


@dataclass(frozen=True)
class Aggregate(Generic[Operand]):
    """The largest, smallest or mean value of some cells."""

    name: FunctionName
    cells: Operand


@dataclass(frozen=True)
class Arithmetic(Generic[Operand]):
    """Two expressions under one sign."""

    sign: Sign
    left: Operand
    right: Operand


Expression = Number | Cells | Aggregate[Cells] | Arithmetic["Expression"]


@dataclass(frozen=True)
class Chain:
    """A parsed claim: its sides, and between each two a relation, with the tolerance of '~'.

    `trailing`: an 'at' or 'in' that ends the claim behind no list ("'A' > 5 at 'x'"), without rows.
    """

    sides: tuple[Expression, ...]
    relations: tuple[tuple[RelationSign, Decimal | None], ...]
    trailing: Cells | None


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


def parse(text: str) -> Chain:
    """The syntax tree of a claim. Raises `SpecError` with the position (counted from 1) for text
    that is not one, and for one that exceeds `spec.limits`."""
    if len(text) > limits.CLAIM:
        raise SpecError(f"a claim of {len(text)} characters; at most {limits.CLAIM} are read")
    return _Parser(text).claim()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self.read())
        self.next = self.nested = self.operations = 0

    def read(self) -> Iterator[_Token]:
        position, end = 0, len(self.text.rstrip())
        while position < end:
            match = _TOKEN.match(self.text, position)
            if match is None:
                start = end - len(self.text[position:end].lstrip())
                hint = "; the closing quote is missing" if self.text[start] == "'" else ""
                raise self.fail(f"'{self.text[start]}' has no meaning in a claim{hint}", start)
            kind = match.lastgroup or ""
            yield _Token(kind, match[kind].replace("−", "-"), match.start(kind))
            position = match.end()
        yield _Token("end", "the end", end)

    @property
    def token(self) -> _Token:
        return self.tokens[self.next]

    def take(self) -> _Token:
        self.next += 1
        return self.tokens[self.next - 1]

    def fail(self, message: str, position: int | None = None) -> SpecError:
        at = 1 + (self.token.position if position is None else position)
        return SpecError(f'claim "{self.text.translate(_ONE_LINE)}", position {at}: {message}')

    def expected(self, what: str) -> SpecError:
        return self.fail(f"expected {what}, found {self.token.text}")

    def accept(self, *texts: str) -> str | None:
        if self.token.kind in ("sign", "word") and self.token.text in texts:
            return self.take().text
        return None

    def expect(self, text: str) -> None:
        if self.accept(text) is None:
            raise self.expected(f"'{text}'")

    def claim(self) -> Chain:
        sides, relations = [self.sum()], list[tuple[RelationSign, Decimal | None]]()
        trailing: Cells | None = None
        while self.token.kind != "end":
            if relations and self.token.text in ("at", "in"):
                trailing = self.where(())
                if self.token.kind != "end":
                    raise self.expected("the end of the claim")
            else:
                relations.append(self.relation())
                sides.append(self.sum())
        if not relations:
            raise self.fail("expected a comparison (>, <, = or ~) and a right side")
        return Chain(tuple(sides), tuple(relations), trailing)

    def relation(self) -> tuple[RelationSign, Decimal | None]:
        relation = self.accept(">", "<", "=", "~")
        if relation is None:
            raise self.expected("a comparison (>, <, = or ~)")
        if relation == "~" and self.token.kind != "number":
            raise self.expected("the tolerance of '~'")
        return cast(RelationSign, relation), self.decimal() if relation == "~" else None

    def decimal(self) -> Decimal:
        value = Decimal(self.token.text)
        if (problem := limits.number_problem(value)) is not None:
            raise self.fail(f"the number {problem}")
        self.take()
        return value

    def sum(self) -> Expression:
        return self.chain(lambda: self.chain(self.atom, "*", "/"), "+", "-")

    def chain(self, part: Callable[[], Expression], *signs: str) -> Expression:
        left = part()
        while (sign := self.accept(*signs)) is not None:
            self.operations += 1
            if self.operations > limits.OPERATIONS:
                raise self.fail(f"more than {limits.OPERATIONS} operations in one claim")
            left = Arithmetic(cast(Sign, sign), left, part())
        return left

    def atom(self) -> Expression:
        kind = self.token.kind
        if kind == "number":
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
        if kind == "word":
            return self.function()
        if kind == "quoted":
            return self.where(self.labels("row"))
        raise self.expected("a number, a quoted row, a function or '('")

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
        texts = [self.quoted(what)]
        while self.accept(","):
            texts.append(self.quoted(what))
        return tuple(tuple(part.strip() for part in text.split("|")) for text in texts)

    def quoted(self, what: str) -> str:
        if self.token.kind != "quoted":
            raise self.expected(f"a quoted {what}")
        return self.take().text[1:-1]
