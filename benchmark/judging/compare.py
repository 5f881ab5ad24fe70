"""What differs between two judged reports: what `regress` and `diff` have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from fedrepro.benchmark.errors import FedreproError

STRICT = ConfigDict(strict=True, allow_inf_nan=False)
"""For what is read back: no type is guessed, and no number is infinite or none."""
ABSENT = "absent"


class HasVerdict(Protocol):
    """A cell, of which nothing but its word is known here."""

    @property
    def word(self) -> str: ...


Cell = TypeVar("Cell", bound=HasVerdict)
Read = TypeVar("Read")
Means = tuple[float, float]


@dataclass(frozen=True)
class Change:
    """One thing that is not the same on both sides.

    where: the cell, `3: CP-CFL|SimCLR @ T = 25`, or the claim, `3: id`. before, after: words, or
    means as text. difference: of the means, in the cell's unit.
    """

    what: Literal["value", "verdict", "claim"]
    where: str
    before: str
    after: str
    difference: float | None = None


def changed_cells(
    before: Mapping[str, Cell],
    after: Mapping[str, Cell],
    moved: Callable[[Cell, Cell], Means | None],
) -> Iterator[Change]:
    """Cells by place whose word or value differs.

    moved: the two means of cells whose values count as different, else None.
    """
    for where in dict.fromkeys((*before, *after)):
        a, b = before.get(where), after.get(where)
        words = _word(a), _word(b)
        if words[0] != words[1]:
            yield Change("verdict", where, *words)
        means = None if a is None or b is None else moved(a, b)
        if means is not None:
            texts = f"{means[0]:.4g}", f"{means[1]:.4g}"
            yield Change("value", where, *texts, means[1] - means[0])


def changed_claims(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    """Claims by place whose word differs."""
    for where in dict.fromkeys((*before, *after)):
        words = before.get(where, ABSENT), after.get(where, ABSENT)
        if words[0] != words[1]:
            yield Change("claim", where, *words)


def read_as(kind: TypeAdapter[Read], path: Path, what: str) -> Read:
    """The content of a JSON file, of the type `kind`.

    what: 'baseline', for the message. Raises `FedreproError` for any other content, and if the
    file cannot be read.
    """
    try:
        # A pipe would wait for its other end, and a device may have no end.
        if path.exists() and not path.is_file():
            raise FedreproError(f"the {what} {path} is no file")
        return kind.validate_json(path.read_bytes())
    except FileNotFoundError:
        raise FedreproError(f"there is no {what} {path}") from None
    except OSError as error:
        raise FedreproError(f"cannot read the {what} {path}: {error.strerror}") from None
    except ValidationError as error:
        raise FedreproError(f"{path} is no {what}: {_first(error)}") from None


def _first(error: ValidationError) -> str:
    found: Any = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, found["loc"]))
    return " ".join(f"{place}: {found['msg']}".removeprefix(": ").split())


def _word(cell: HasVerdict | None) -> str:
    return ABSENT if cell is None else cell.word
