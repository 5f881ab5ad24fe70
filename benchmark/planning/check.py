"""Checks loaded specs against the code: names, options, profiles and claims."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..claims.bind_cells import bind, instances
from ..errors import SpecError
from ..spec import authors, names, settings
from ..spec.lines import Path
from ..spec.model import Cell, DrawnRun, Experiment, Paper, Profile, Readout, Table
from ..spec.problems import Problem, Reporter, in_order
from .overrides import override

BUILT: Mapping[str, tuple[str, str, str]] = {
    "method": ("method", "federated", "training"),
    "clients.partition": ("partition", "partition", "clients"),
    "encoder.name": ("encoder", "encoder", "encoder"),
    "pretraining.method": ("objective", "objective", "pretraining"),
}
"""By path of a name: what it names, its registered kind, and the section with its options."""


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
    effective: profiles and positions of their overrides that changed something.
    seen, built: what has been checked, by its settings; cells share most of them.
    """

    paper: Paper
    missing: dict[tuple[str, str, bool], dict[str, None]]
    problems: list[Problem] = field(default_factory=list)
    effective: set[tuple[str, int]] = field(default_factory=set)
    seen: set[tuple[Any, ...]] = field(default_factory=set)
    built: dict[tuple[str, str, bytes], tuple[Any, str | None]] = field(default_factory=dict)

    @cached_property
    def declared(self) -> frozenset[str]:
        """Names of which the paper says that they are still to be written."""
        text = self.paper.file.read_text(encoding="utf-8")
        return frozenset(tomllib.loads(text).get("vocabulary", ()))

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """Those that say themselves what they run; one like another has nothing to check."""
        return tuple(one for one in self.paper.profiles.values() if one.like is None)

    def check(self) -> None:
        for table in self.paper.tables:
            report = Reporter(table.file, table.file.read_text(encoding="utf-8"))
            for bound, label in _bound(table):
                self._names(table, bound)
                self._bound(bound, label, report)
            self._claims(table, report)
            self.problems += in_order(report.problems)
        self._idle_overrides()

    def _names(self, table: Table, bound: Cell | DrawnRun) -> None:
        used = [(what, name) for _, what, name in names.used(bound.experiment)]
        if bound.metric is not None and getattr(bound, "kind", "empirical") == "empirical":
            used.append(("metric", bound.metric))
        for what, name in used:
            if not names.exists(what, name):
                key = (what, name, name in self.declared)
                self.missing.setdefault(key, {})[f"{self.paper.id} {table.id}"] = None

    def _bound(self, bound: Cell | DrawnRun, label: Sequence[str], report: Reporter) -> None:
        own = settings.key_of(bound.experiment), bound.read.at, repr(bound.overrides)
        if own in self.seen:
            return
        self.seen.add(own)
        fine = self._options(bound.experiment, bound.read, "", label, report)
        for profile in self.profiles:
            under = f"profile {profile.name}: "
            count, overrides = len(profile.overrides), profile.overrides_for(bound)
            if fine and not overrides and not profile.on:
                continue
            try:
                changed = override(bound.experiment, bound.read, overrides)
                self.effective |= {(profile.name, i) for i in changed.effective if i < count}
                if changed.effective or not fine:
                    self._options(changed.experiment, changed.read, under, label, report)
                for data_set, more in profile.on.items():
                    moved = override(changed.experiment, changed.read, more)
                    here = f"{under}on {data_set}: "
                    self._options(moved.experiment, moved.read, here, label, report)
            except SpecError as error:
                report.add(_row(report, label), under + str(error))

    def _options(
        self, given: Experiment, read: Readout, under: str, label: Sequence[str], report: Reporter
    ) -> bool:
        """Builds what is implemented, which checks every option; whether nothing is wrong.

        `read` must be within the rounds of the method.
        """
        rounds, problems = settings.get(given, "training.rounds"), list[str | None]()
        for path, (what, kind, section) in BUILT.items():
            name = settings.get(given, path)
            if not names.exists(what, name) or (kind == "objective" and not _objective(name)):
                continue
            built, problem = self._built(kind, name, given.get(section, {}))
            problems.append(problem)
            rounds = getattr(built, "rounds", rounds)
        for section in settings.section_classes():
            problems.append(self._built("", section, given.get(section, {}))[1])
        if isinstance(read.at, int) and isinstance(rounds, int) and read.at > rounds:
            problems.append(f"round {read.at} is read, but the run ends at round {rounds}")
        found = [under + problem for problem in problems if problem is not None]
        for message in found:
            report.add(_row(report, label), message)
        return not found

    def _built(self, kind: str, name: str, options: Mapping[str, Any]) -> tuple[Any, str | None]:
        """What options make, or what is wrong with them; without a kind, those of a section."""
        key = kind, name, settings.key_of(options)
        if key not in self.built:
            made, problem = None, None
            try:
                if kind:
                    made = settings.build(kind, name, options)
                else:
                    made = settings.made(settings.section_classes()[name], options, name)
            except SpecError as error:
                problem = str(error)
            self.built[key] = made, problem
        return self.built[key]

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
        for profile in self.profiles:
            for i, one in enumerate(profile.overrides):
                if self.seen and (profile.name, i) not in self.effective:
                    report.add(
                        ("profiles", profile.name, "overrides", i),
                        f"'{one.path}' changes no cell; is the setting given anywhere?",
                    )
        self.problems += in_order(report.problems)


def _bound(table: Table) -> Iterator[tuple[Cell | DrawnRun, Sequence[str]]]:
    """Everything in a table that is bound to an experiment, with the label of its row."""
    for cell in table.cells:
        if cell.experiment:
            yield cell, cell.row
    for run in table.figure.runs if table.figure else ():
        yield run, run.label


def _objective(name: Any) -> bool:
    """Whether the name stands for an objective, not for a federated method or for nothing."""
    return name != names.NO_PRETRAINING and not names.exists("method", name)


def _row(report: Reporter, label: Sequence[str]) -> Path:
    """Where the row with `label` (or the row and column of a drawn run) stands in the file."""
    for i, row in enumerate(tomllib.loads(report.text).get("rows", [])):
        own = row["label"] if isinstance(row["label"], list) else [row["label"]]
        if list(label[: len(own)]) == own:
            return ("rows", i)
    return ()
