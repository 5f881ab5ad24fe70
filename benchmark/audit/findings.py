"""A finding on printed numbers, and all findings of a paper.

Checks are the modules of `benchmark.audit.checks`, found by name. A finding is `inconsistent` only
where no values that print like the published ones could satisfy its statement. It is `undecidable`
where rounding, or what the paper does not say, leaves the answer open.
"""

import importlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...methods.registry import names_in
from ..spec.model import Cell, CellKey, Paper

Status = Literal["consistent", "inconsistent", "undecidable"]
STATUSES: tuple[Status, ...] = ("inconsistent", "undecidable", "consistent")
"""In the order in which reports show them."""

_CHECKS = "fedrepro.benchmark.audit.checks"


@dataclass(frozen=True)
class Finding:
    """One statement that should hold between printed numbers, and whether it can. `tables`: those
    with the numbers. `published`, `computed`: the two sides, with the arithmetic."""

    id: str
    paper: str
    tables: tuple[str, ...]
    kind: str
    statement: str
    published: str
    computed: str
    status: Status
    cells: tuple[CellKey, ...] = ()


def finding(
    name: Sequence[str],
    cells: Iterable[Cell],
    *,
    statement: str,
    published: str,
    computed: str,
    status: Status,
    table: str | None = None,
) -> Finding:
    """A finding about `cells`, stated in `table`; `name` begins with its kind."""
    cells = tuple(cells)
    tables = dict.fromkeys((*(() if table is None else (table,)), *(cell.table for cell in cells)))
    id = "/".join(filter(None, (re.sub(r"[^\w.+]+", "-", s.lower()).strip("-") for s in name)))
    keys = tuple(dict.fromkeys(one.key for one in cells))
    return Finding(id, "", tuple(tables), name[0], statement, published, computed, status, keys)


def findings_for(paper: Paper, tables: Collection[str] | None = None) -> tuple[Finding, ...]:
    """The findings of a paper, check by check in the order of their names. `tables`: only findings
    that concern one of them. A check is then spared tables that its module does not need
    (`needed`); `HEAVY` ones, which load scipy, are for whole papers."""
    found: list[Finding] = []
    for name in names_in(_CHECKS):
        module = importlib.import_module(f"{_CHECKS}.{name.replace('-', '_')}")
        seen = paper
        if tables is not None:
            if getattr(module, "HEAVY", False):
                continue
            if hasattr(module, "needed"):
                ids = module.needed(paper, tables)
                seen = replace(paper, tables=tuple(one for one in paper.tables if one.id in ids))
        made = module.check(seen)
        found += (replace(one, id=f"{paper.id}/{one.id}", paper=paper.id) for one in made)
    return tuple(one for one in found if tables is None or not {*one.tables}.isdisjoint(tables))
