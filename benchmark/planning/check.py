"""Checks loaded specs against the code: names, options, profiles and claims."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..claims.bind_cells import bind, instances
from ..config import RunConfig
from ..errors import SpecError
from ..spec import authors, names, settings
from ..spec.lines import KeyPath
from ..spec.model import AS_PUBLISHED, Cell, CellKey, Paper, Table, matches
from ..spec.problems import FileProblems, Problem, in_order, read_text, suggestion
from .plan import bound_in, idle_settings, planned_cell, refused
from .resolve import ENDS, Resolver, UnresolvedError, metric_of


def check(papers: Sequence[Paper]) -> tuple[tuple[Problem, ...], tuple[str, ...], list[Problem]]:
    """What is wrong with loaded papers, the names in them that nothing implements yet, and
    `cautions`. These say what must be known of how runs are set up, which is no mistake.

    Wrong are options that a method refuses, and settings of a row or column that none of its runs
    takes. So are profiles that read a round which is never reached, or that set out to change what
    no experiment gives. So are claims that name no cell, and settings of authors that no option
    takes. Names that nothing implements are no problem: papers are transcribed before methods are
    written."""
    problems: list[Problem] = list(authors.check_all())
    missing: dict[tuple[str, str], dict[str, None]] = {}
    cautions = dict[Problem, None]()
    for paper in papers:
        checker = _Checker(paper)
        problems += checker.check()
        for known in checker.published.known.values():
            file = paper.table(known.cell.table).file
            cautions |= dict.fromkeys(Problem(file, None, said) for said in known.cautions)
        for bound in (one for table in paper.tables for one in bound_in(table)):
            named = [(what, name) for _, what, name in names.used(bound.experiment)]
            if bound.metric is not None and bound.kind == "empirical":
                named.append(("metric", bound.metric))
            for one in named:
                if not names.exists(*one):
                    missing.setdefault(one, {})[f"{paper.id} {bound.table}"] = None
    told = (f"{what} '{name}' ({', '.join(at)}{names.beside(name)})"
            for (what, name), at in sorted(missing.items()))  # fmt: skip
    return in_order(problems), tuple(told), [*cautions]


class _Checker:
    """Checks one paper as published, then under each profile. A profile like another one has
    nothing to check; what it omits is checked as well."""

    def __init__(self, paper: Paper) -> None:
        self.paper, self.published = paper, Resolver(AS_PUBLISHED)
        self.resolvers: dict[str, tuple[Resolver, Paper]] = {}
        for one in paper.profiles.values():
            if one.like is None:
                under, whole = f"profile {one.name}: ", replace(one, whole=True)
                for at, on in ((under, None), *((f"{under}on {on}: ", on) for on in one.on)):
                    self.resolvers[at] = Resolver(whole, on), paper.under(whole)

    def check(self) -> Iterator[Problem]:
        seen = set[tuple[Any, ...]]()  # cells share most of their settings
        controls = self._controls()
        for table in self.paper.tables:
            report = FileProblems(table.file, read_text(table.file))
            for bound in bound_in(table):
                what = settings.key_of(bound.experiment), bound.read, repr(bound.overrides)
                own = (*what, tuple(table.profiles) if table.is_control else None)
                if own not in seen:
                    seen.add(own)
                    row = [one.label for one in table.row_entries].index(bound.row)
                    for said in self._said(bound, table):
                        report.add(("rows", row), said)
            here = ((("claims", i), said) for (id, i), said in controls.items() if id == table.id)
            for path, said in (*idle_settings(table), *self._claims(table), *here):
                report.add(path, said)
            yield from report.problems
        report = FileProblems(self.paper.file, read_text(self.paper.file))
        for path, said in self._idle_overrides() if seen else ():
            report.add(path, said)
        rows = {one.label for table in self.paper.printed for one in table.row_entries}
        for key in ("own", "baselines"):
            for i, pattern in enumerate(getattr(self.paper, key)):
                if not any(matches(pattern, row) for row in rows):
                    near = suggestion(pattern, [*map("|".join, rows)])
                    report.add((key, i), f"'{pattern}' is no row of this paper{near}")
        yield from report.problems

    def _controls(self) -> Mapping[tuple[str, int], str]:
        """By table and position, the controls that rest on what is judged under some profile."""
        told: dict[tuple[str, int], str] = {}
        for under, (resolver, paper) in self.resolvers.items():
            runs: dict[CellKey, RunConfig] = {}
            has_controls = any(table.is_control for table in paper.tables)
            for cell in (one for table in paper.tables for one in table.cells if has_controls):
                with suppress(SpecError):  # told where the cell stands
                    config = planned_cell(cell, resolver).config
                    runs |= {} if config is None else {cell.key: config}
            for table, i, said in refused(paper, runs) if has_controls else ():
                told.setdefault((table.id, i), under + said)
        return told

    def _said(self, bound: Cell, table: Table) -> Iterator[str]:
        published = [] if table.is_control else _problems(bound, self.published)
        yield from published
        for under, (resolver, paper) in self.resolvers.items():
            changes = published or table.is_control or resolver.overrides(bound)
            if changes and table in paper.tables:
                yield from (under + problem for problem in _problems(bound, resolver))

    def _claims(self, table: Table) -> Iterator[tuple[KeyPath, str]]:
        binds: dict[str, Callable[..., Iterable[Any]]] = {"claims": bind, "relations": instances}
        for section, bound in binds.items():
            for i, entry in enumerate(getattr(table, section)):
                try:
                    list(bound(entry, table, self.paper))
                except SpecError as error:
                    yield (section, i, "holds"), str(error).removeprefix(f"{table.file}, ")

    def _idle_overrides(self) -> Iterator[tuple[KeyPath, str]]:
        effective = {(at, i) for at, (one, _) in self.resolvers.items() for i in one.effective}
        for profile in self.paper.profiles.values():
            for i, one in enumerate(profile.overrides if profile.like is None else ()):
                if (f"profile {profile.name}: ", i) not in effective:
                    said = "changes no cell; correct the path or leave the override out"
                    yield ("profiles", profile.name, "overrides", i), f"'{one.path}' {said}"


def _problems(bound: Cell, resolver: Resolver) -> Sequence[str]:
    """Why a cell has no run, but for settings that nobody gives yet and names to be written."""
    try:
        found = resolver.resolve(bound, metric_of(bound))
    except UnresolvedError as error:
        return error.refused
    except SpecError as error:
        return [str(error)]
    return [
        f"round {one.paper} is read, but the run ends at round {one.here}"
        for one in found.departures
        if one.why == ENDS
    ]
