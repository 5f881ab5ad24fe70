"""Checks loaded specs against the code: names, options, profiles and claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..claims.bind_cells import bind, instances
from ..errors import SpecError
from ..spec import authors, names, settings
from ..spec.lines import Path
from ..spec.model import AS_PUBLISHED, Cell, DrawnRun, Paper, Table
from ..spec.problems import Problem, Reporter, in_order
from .configs import UnresolvedError
from .resolve import ENDS, MEASUREMENTS, Resolver


def check(
    papers: Sequence[Paper],
) -> tuple[tuple[Problem, ...], tuple[str, ...], tuple[str, ...]]:
    """What is wrong with loaded papers, and the names in them that nothing implements yet.

    These are two lists: names that nobody declared, and those in the `vocabulary` of their paper.

    Wrong are options that a method refuses, profiles that read a round which is never reached or
    that set out to change what no experiment gives, claims that name no cell, and settings of
    authors that no option takes. Names that
    nothing implements are no problem: papers may be transcribed before their methods are written.
    """
    problems: list[Problem] = list(authors.check_all())
    missing: dict[tuple[str, str, bool], dict[str, None]] = {}
    for paper in papers:
        checker = _Checker(paper, missing)
        checker.check()
        problems += checker.problems
    return tuple(problems), _listed(missing, declared=False), _listed(missing, declared=True)


def _listed(
    missing: Mapping[tuple[str, str, bool], Iterable[str]], *, declared: bool
) -> tuple[str, ...]:
    return tuple(
        f"{what} '{name}' ({', '.join(where)})"
        for (what, name, said), where in sorted(missing.items())
        if said is declared
    )


@dataclass
class _Checker:
    """Checks one paper.

    missing: by names that nothing implements, and whether the paper declares them, where they
    stand.
    seen: what has been resolved, by its settings; cells share most of them.
    """

    paper: Paper
    missing: dict[tuple[str, str, bool], dict[str, None]]
    problems: list[Problem] = field(default_factory=list)
    seen: set[tuple[Any, ...]] = field(default_factory=set)

    @cached_property
    def resolvers(self) -> list[tuple[str, Resolver]]:
        """What is resolved in the words of messages: as published, then each profile.

        A profile like another one has nothing to check; what it omits is checked as well.
        """
        found = [("", Resolver(AS_PUBLISHED))]
        for one in self.paper.profiles.values():
            if one.like is None:
                under, whole = f"profile {one.name}: ", replace(one, omit=())
                found.append((under, Resolver(whole)))
                found += [(f"{under}on {on}: ", Resolver(whole, on)) for on in one.on]
        return found

    def check(self) -> None:
        for table in self.paper.tables:
            report = Reporter(table.file, table.file.read_text(encoding="utf-8"))
            for bound, label in _bound(table):
                self._names(table, bound)
                self._bound(table, bound, label, report)
            self._claims(table, report)
            self.problems += in_order(report.problems)
        self._idle_overrides()

    def _names(self, table: Table, bound: Cell | DrawnRun) -> None:
        used = [(what, name) for _, what, name in names.used(bound.experiment)]
        if bound.metric is not None and getattr(bound, "kind", "empirical") == "empirical":
            used.append(("metric", bound.metric))
        for what, name in used:
            if not names.exists(what, name):
                key = (what, name, name in self.paper.vocabulary)
                self.missing.setdefault(key, {})[f"{self.paper.id} {table.id}"] = None

    def _bound(
        self, table: Table, bound: Cell | DrawnRun, label: Sequence[str], report: Reporter
    ) -> None:
        """Resolves a cell as published, and under every profile, on each of its data sets."""
        own = settings.key_of(bound.experiment), bound.read.at, repr(bound.overrides)
        if own in self.seen:
            return
        self.seen.add(own)
        fine = not _problems(bound, self.resolvers[0][1])
        for under, resolver in self.resolvers:
            if fine and not resolver.overrides(bound):
                continue
            for problem in _problems(bound, resolver):
                report.add(_row(table, label), under + problem)

    def _claims(self, table: Table, report: Reporter) -> None:
        bindings: tuple[tuple[str, Sequence[Any], Callable[..., Iterable[Any]]], ...] = (
            ("claims", table.claims, bind),
            ("relations", table.relations, instances),
        )
        for section, entries, bound in bindings:
            for i, entry in enumerate(entries):
                try:
                    list(bound(entry, table, self.paper))
                except SpecError as error:
                    said = str(error).removeprefix(f"{table.file}, ")
                    report.add((section, i, "holds"), said)

    def _idle_overrides(self) -> None:
        report = Reporter(self.paper.file, self.paper.file.read_text(encoding="utf-8"))
        effective = {f"{under}{i}" for under, one in self.resolvers for i in one.effective}
        for profile in self.paper.profiles.values():
            for i, one in enumerate(profile.overrides if profile.like is None else ()):
                if self.seen and f"profile {profile.name}: {i}" not in effective:
                    report.add(
                        ("profiles", profile.name, "overrides", i),
                        f"'{one.path}' changes no cell; is the setting given anywhere?",
                    )
        self.problems += in_order(report.problems)


def _problems(bound: Cell | DrawnRun, resolver: Resolver) -> Sequence[str]:
    """Why a cell has no run, but for settings that nobody gives yet and names to be written."""
    # Every other metric is one more number of the same run.
    metric = bound.metric if bound.metric in MEASUREMENTS else "accuracy"
    try:
        found = resolver.resolve(bound, metric)
    except UnresolvedError as error:
        return error.refused
    except SpecError as error:
        return [str(error)]
    return [
        f"round {one.paper} is read, but the run ends at round {one.here}"
        for one in found.departures
        if one.why == ENDS
    ]


def _bound(table: Table) -> Iterator[tuple[Cell | DrawnRun, Sequence[str]]]:
    """Everything in a table that is bound to an experiment, with the label of its row."""
    for cell in table.cells:
        if cell.experiment:
            yield cell, cell.row
    for run in table.drawn:
        yield run, run.label


def _row(table: Table, label: Sequence[str]) -> Path:
    """Where the row with `label` (or the row and column of a drawn run) stands in the file."""
    for i, row in enumerate(table.row_entries):
        if tuple(label[: len(row.label)]) == row.label:
            return ("rows", i)
    return ()
