"""With how many trials each claim is judged, counting how often it was judged before.

A look is told from others by what is tested: the claim's expression, the runs of its cells with
metric and round, and the source that trained them. Changed code makes other trials, which nobody
has looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..claims.nodes import CellKey, Elementary, Leaf, key_of
from ..claims.trials import Claims
from ..errors import StoreError
from ..planning.plan import PlannedCell
from ..results import ClaimResult, TableResult
from ..spec.model import Claim
from ..stats.looks import Looks
from ..store import fingerprint
from ..store.files import sha256_of
from ..store.looks import LookBook
from .evidence import Evidence
from .time_needed import seconds_needed

_NEVER = 10**400
"""A number of declared trials of which any number of trials is a share of exactly 0."""


@dataclass
class LookTaker:
    """Counts the looks of one report, and notes them in the store's book at its end.

    book: None for trials that are in no store on disk; each claim is then looked at once.
    """

    book: LookBook | None
    taken: dict[str, Looks] = field(default_factory=dict)
    _refused: StoreError | FileNotFoundError | None = None

    @cached_property
    def known(self) -> Mapping[str, Looks]:
        """The looks before this report."""
        if self.book is None:
            return {}
        try:
            return self.book.read()
        except StoreError as error:
            self._refused = error
            return {}

    def note(self) -> bool:
        """Notes the looks of this report; whether that could be done."""
        if self.book is None:
            return True
        try:
            if self._refused is not None:
                raise self._refused
            self.book.note(self.taken)
        except (StoreError, FileNotFoundError) as error:
            self.book.warn(f"this look at the claims is not noted: {error}")
            return False
        return True


@dataclass
class TableLooks:
    """The looks at the claims of one table, by claim id."""

    taker: LookTaker
    evidence: Evidence
    claims: Claims

    @cached_property
    def ids(self) -> Mapping[str, str]:
        """What tells the tests apart that are made here, by claim; untestable claims have none."""
        found = {claim.id: self._identity(claim, one) for claim, one in self.claims}
        return {name: id for name, id in found.items() if id is not None}

    @cached_property
    def trials(self) -> Mapping[str, int]:
        """How many paired trials there are of each claim that has an id."""
        return {
            claim.id: min(map(self._paired, filter(self._trained, comparisons)))
            for claim, comparisons in self.claims
            if claim.id in self.ids
        }

    @cached_property
    def looks(self) -> Mapping[str, Looks]:
        """The looks at each claim, this one included."""
        declared = {claim.id: self._declared(comparisons) for claim, comparisons in self.claims}
        return {
            name: _with(self.taker.known.get(self.ids[name]), n, declared[name])
            for name, n in self.trials.items()
            if n >= 2
        }

    @cached_property
    def spendable(self) -> Mapping[str, Looks]:
        """The same for a test, which has one look or more: one without a share of the level where
        every look was at more trials than there are now."""
        return {
            name: looks if looks.counts else Looks((self.trials[name],), _NEVER)
            for name, looks in self.looks.items()
        }

    def finish(self, results: Sequence[ClaimResult]) -> tuple[ClaimResult, ...]:
        """Results with their looks, which are kept to be noted, and the time that more take."""
        return tuple(
            replace(
                self._finished(one),
                seconds_needed=seconds_needed(one, comparisons, self.evidence),
            )
            for one, (_, comparisons) in zip(results, self.claims, strict=True)
        )

    def _finished(self, result: ClaimResult) -> ClaimResult:
        looks = self.looks.get(result.id)
        if looks is None or result.p is None:
            return result
        if looks.counts:
            self.taker.taken[self.ids[result.id]] = looks
        said = self._said(result.id, looks)
        return replace(
            result,
            reason=f"{result.reason} {said}" if said else result.reason,
            looks=looks.counts,
            declared=looks.declared,
        )

    def _said(self, name: str, looks: Looks) -> str:
        """What a reader must know where this look is not at all the trials there are."""
        n, known = self.trials[name], self.taker.known.get(self.ids[name])
        if n > looks.declared:
            return (
                f"Of {n} trials the first {looks.declared} count: so many were declared before "
                "the first look."
            )
        if known is not None and n < known.counts[-1]:
            return f"It was judged with {known.counts[-1]} trials before; fewer are no new look."
        return ""

    def _identity(self, claim: Claim, comparisons: Sequence[Elementary]) -> str | None:
        cells = []
        for leaf in {leaf.key: leaf for one in comparisons for leaf in one.leaves}.values():
            trials = self.evidence.cells.get(leaf.key)
            if trials is not None and trials.incomplete:
                return None
            planned = self._of(leaf)
            if planned is None or planned.config is None:
                continue
            records = self.evidence.records(planned.config)
            if not records:
                return None
            source = fingerprint.digest(records[0].source)
            cells.append([planned.config.key, planned.cell.metric, planned.read.at, source])
        if not any(map(self._trained, comparisons)):
            return None
        return sha256_of(json.dumps([claim.holds, claim.every_trial, cells]).encode())[:16]

    def _trained(self, comparison: Elementary) -> bool:
        return any(map(self._varies, comparison.leaves))

    def _varies(self, leaf: Leaf) -> bool:
        """Whether a cell is another number in each trial: costs are counted once."""
        planned = self._of(leaf)
        return (
            planned is not None and planned.config is not None and planned.config.stage != "costs"
        )

    def _declared(self, comparisons: Sequence[Elementary]) -> int:
        """How many trials the profile declares of the runs that are compared: the fewest count."""
        plan = self.evidence.plan
        leaves = {leaf.key: leaf for one in comparisons for leaf in one.leaves}.values()
        planned = (self._of(leaf) for leaf in leaves if self._varies(leaf))
        runs = [one.config for one in planned if one is not None and one.config is not None]
        return min(map(plan.declared, runs), default=plan.profile.declared)

    def _paired(self, comparison: Elementary) -> int:
        """How many seeds all cells of a comparison have."""
        seeds = [
            self.evidence.cells[leaf.key].by_seed.keys()
            for leaf in comparison.leaves
            if self._varies(leaf)
        ]
        return len(set(seeds[0]).intersection(*seeds[1:]))

    def _of(self, leaf: Leaf) -> PlannedCell | None:
        return self._planned.get(leaf.key)

    @cached_property
    def _planned(self) -> Mapping[CellKey, PlannedCell]:
        return {key_of(one.cell): one for one in self.evidence.plan.cells}


def _with(known: Looks | None, n: int, declared: int) -> Looks:
    """The looks at a claim of which there are n paired trials.

    The first look declares at least its own trials. Later ones are never beyond what was declared,
    and add nothing unless they are at more trials than all before: who has seen twenty trials
    cannot look at five of them anew.
    """
    if known is None:
        return Looks((n,), max(declared, n))
    n = min(n, known.declared)
    before = tuple(count for count in known.counts if count <= n)
    return Looks((*before, n) if n > known.counts[-1] else before, known.declared)


def noted(tables: Sequence[TableResult], done: bool) -> tuple[TableResult, ...]:
    """Tables whose claims say that this look is not noted, unless that is done."""
    if done:
        return tuple(tables)
    said = "This look could not be noted in the store."
    return tuple(
        replace(
            table,
            claims=tuple(
                replace(one, reason=f"{one.reason} {said}") if one.looks else one
                for one in table.claims
            ),
        )
        for table in tables
    )
