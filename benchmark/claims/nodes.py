"""Elementary comparisons: what a claim is once its patterns are bound to cells."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from ..errors import SpecError
from ..spec.model import Cell, CellKey
from .grammar import Aggregate, Arithmetic, Number, RelationSign

Values = Mapping[CellKey, Mapping[int, float]]
"""What was measured, by cell and seed, in the unit of the cell; each cell here has a value."""
Node = Number | Cell | Aggregate[tuple[Cell, ...]] | Arithmetic["Node"]


@dataclass(frozen=True)
class Elementary:
    """One comparison of two values in a claim of `table`. `unit`: of both, None for bare ratios."""

    relation: RelationSign
    tolerance: Decimal | None
    left: Node
    right: Node
    unit: str | None
    table: str

    @property
    def sign(self) -> int:
        return -1 if self.relation == "<" else 1

    @property
    def exact(self) -> Arithmetic[Node]:
        """Left less right."""
        return Arithmetic("-", self.left, self.right)

    @property
    def difference(self) -> Arithmetic[Node]:
        """Left less right, where a number alone beside '=' stands for all that rounds to it."""
        left, right = (
            replace(one, as_printed=self.relation == "=") if isinstance(one, Number) else one
            for one in (self.left, self.right)
        )
        return Arithmetic("-", left, right)

    @property
    def leaves(self) -> list[Cell]:
        """Its cells in order, repeats included."""
        return list(leaves(self.exact))

    @property
    def is_approximate(self) -> bool:
        """Whether a cell of it is printed as approximate, so that its rounding is not known."""
        return any(leaf.printed.approximate for leaf in self.leaves)

    @property
    def text(self) -> str:
        return self._shown(self.named)

    def named(self, cell: Cell) -> str:
        """A cell's label, with its table where that is another one."""
        return cell.label + ("" if cell.table == self.table else f" (table {cell.table})")

    @property
    def printed(self) -> str:
        return self._shown(printed_text)

    def _shown(self, text: Callable[[Cell], str]) -> str:
        tolerance = "" if self.tolerance is None else f" {self.tolerance}"
        return f"{show(self.left, text)} {self.relation}{tolerance} {show(self.right, text)}"


def leaves(node: Node) -> Iterator[Cell]:
    """The cells below a node, in order, repeats included."""
    match node:
        case Cell():
            yield node
        case Aggregate():
            yield from node.cells
        case Arithmetic():
            yield from leaves(node.left)
            yield from leaves(node.right)


def is_trained(leaf: Cell) -> bool:
    """Whether a cell's trials may differ; what is counted or computed is one number."""
    return leaf.kind == "empirical"


def printed_text(cell: Cell) -> str:
    """What is printed in a cell."""
    return cell.printed.text or "(not printed)"


def show(node: Node, text: Callable[[Cell], str] = printed_text, nested: bool = False) -> str:
    """A node as text, its cells as `text` says: `CP-CFL|SimCLR @ T = 25 - 3` or `76.80 - 3`."""
    match node:
        case Number():
            return str(node.value)
        case Cell():
            return text(node)
        case Aggregate():
            return f"{node.name}({', '.join(map(text, node.cells))})"
        case Arithmetic():
            both = f"{show(node.left, text, True)} {node.sign} {show(node.right, text, True)}"
            return f"({both})" if nested else both


def unit_of(node: Node) -> str | None:
    """A node's unit; None for a bare number, which fits any unit; `SpecError` where none fits."""
    match node:
        case Number():
            return None
        case Cell():
            return node.unit or ""
        case Aggregate():
            return common_unit(map(unit_of, node.cells), "listed")
        case Arithmetic():
            left, right = unit_of(node.left), unit_of(node.right)
            if node.sign in "+-":
                return common_unit([left, right], "added or subtracted")
            if node.sign == "*" and left and right:
                raise SpecError(f"a product of '{left}' and '{right}' has no unit")
            if node.sign == "*":
                return left or right
            if left is not None and right is not None and left != right:
                raise SpecError(f"values in '{left}' and '{right}' cannot be divided")
            if left is None and right:
                raise SpecError(f"a number cannot be divided by a value in '{right}'")
            return left if right is None else ""


def common_unit(units: Iterable[str | None], how: str) -> str | None:
    """The one unit of values compared, added or listed together (`how`); else `SpecError`."""
    named = {unit for unit in units if unit is not None}
    if len(named) > 1:
        first, second, *_ = sorted(named)
        raise SpecError(f"values in '{first}' and '{second}' cannot be {how}")
    return next(iter(named), None)
