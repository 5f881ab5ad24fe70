"""What a positive control may not read: the paper's own method, and runs that are judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from ..config import RunConfig, chain
from ..errors import SpecError
from ..spec.model import Paper, Table, matches
from .bind_cells import bind
from .nodes import CellKey, key_of


def refused(paper: Paper, runs: Mapping[CellKey, RunConfig]) -> Iterator[tuple[Table, int, str]]:
    """By table and position the controls that rest on what is judged, with the reason.

    A method is the paper's own if a row of `own` uses it and none of `baselines`. Comparisons that
    name no cell are passed over.

    runs: under one profile, of the cells that have one.
    """
    own: set[str] = set()
    baselines: set[str] = set()
    judged: dict[RunConfig, str] = {}
    for table in paper.tables:
        for cell in table.cells if not table.is_control else ():
            if (run := runs.get(key_of(cell))) is not None:
                own |= _methods(run) if _is_own(paper, cell.row) else set()
                baselines |= _methods(run) if paper.is_baseline("|".join(cell.row)) else set()
                judged.setdefault(run, f"table {table.id}, {cell.label}")
    for table in paper.tables:
        for i, claim in enumerate(table.claims if table.is_control else ()):
            with suppress(SpecError):
                for leaf in (leaf for one in bind(claim, table, paper) for leaf in one.leaves):
                    run = runs.get(leaf.key)
                    if _is_own(paper, leaf.cell.row) or (run and _methods(run) & (own - baselines)):
                        said = f"{leaf.text} is of the paper's own method"
                    elif run in judged:
                        said = f"{leaf.text} reads the run of {judged[run]}, which it is to check"
                    else:
                        continue
                    yield table, i, f"control '{claim.id}': {said}"
                    break


def _is_own(paper: Paper, row: tuple[str, ...]) -> bool:
    return any(matches(pattern, row) for pattern in paper.own)


def _methods(run: RunConfig) -> set[str]:
    return {one.method for one in chain(run)}
