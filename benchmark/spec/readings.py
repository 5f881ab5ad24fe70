"""Interpretations: what a paper leaves open, and the paper as it is under other answers.

An `[[unstated]]` entry is a choice, with what is taken and, where others can be run, alternatives.
A paper under some alternatives is another `Paper`: its cells have other settings, read another
round or another metric, and everything else is as before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..errors import SpecError
from .authors import objective_of
from .choices import Alternative, Unstated
from .layers import Layered, layered
from .model import Cell, Experiment, Origin, Paper, Table
from .problems import suggestion
from .settings import get


@dataclass(frozen=True)
class Reading:
    """An alternative of a choice. `table`: the one that it is about; None for the whole paper."""

    choice: Unstated
    alternative: Alternative
    table: str | None

    @property
    def name(self) -> str:
        return self.alternative.name

    def concerns(self, table: str, experiment: Experiment) -> bool:
        """Whether it may change a run of this experiment."""
        if not experiment or self.table not in (None, table):
            return False
        pretrained = get(experiment, "pretraining.method")
        return self.alternative.is_of(
            (get(experiment, "method"), pretrained),
            (pretrained, objective_of(experiment)),
            get(experiment, "evaluation.protocol"),
        )


def readings_of(paper: Paper) -> tuple[Reading, ...]:
    """Every alternative that a paper's specs name, in their order."""
    return tuple(
        Reading(choice, alternative, table)
        for choice, table in choices_of(paper)
        for alternative in choice.alternatives
    )


def free_readings(paper: Paper) -> tuple[Reading, ...]:
    """The alternatives of choices that the paper's own `readings` leave as taken."""
    known = readings_of(paper)
    settled = {one.choice.name for one in known if one.name in paper.readings}
    return tuple(one for one in known if one.choice.name not in settled)


def choices_of(paper: Paper) -> Iterator[tuple[Unstated, str | None]]:
    """Every choice of a paper with the table that it is about, None for all."""
    yield from ((one, None) for one in paper.unstated)
    yield from ((one, table.id) for table in paper.tables for one in table.unstated)


def under(paper: Paper, names: Sequence[str]) -> Paper:
    """The paper under the alternatives `names`, each of another choice; none gives it as taken.
    Raises `SpecError` for a name that the paper does not have, and for two of one choice."""
    paper = paper.as_taken or paper
    known = {one.name: one for one in readings_of(paper)}
    chosen: dict[str, Reading] = {}
    for name in dict.fromkeys(names):
        if name not in known:
            hint = suggestion(name, known) if known else "; its specs name none"
            raise SpecError(f"paper {paper.id}: no interpretation '{name}'{hint}")
        choice = str(known[name].choice.name)
        if choice in chosen:
            both = f"'{chosen[choice].name}' and '{name}' settle one choice, '{choice}'"
            raise SpecError(f"paper {paper.id}: {both}")
        chosen[choice] = known[name]
    if not chosen:
        return paper
    tables = tuple(_table(table, tuple(chosen.values())) for table in paper.tables)
    taken = tuple(one.name for one in chosen.values())
    return replace(paper, tables=tables, readings=taken, as_taken=paper)


def _table(table: Table, readings: Sequence[Reading]) -> Table:
    cells, runs = (
        tuple(_bound(cell, readings) for cell in some) for some in (table.cells, table.drawn)
    )
    figure = table.figure and replace(table.figure, runs=runs)
    return replace(table, cells=cells, figure=figure)


def _bound(bound: Cell, readings: Sequence[Reading]) -> Cell:
    for reading in readings:
        if reading.concerns(bound.table, bound.experiment):
            other, below = reading.alternative, Layered(bound.experiment, bound.origin)
            whole = layered([(Origin("reading", reading.name), other.set)], below)
            bound = replace(
                bound,
                experiment=whole.settings,
                origin=whole.origin,
                read=bound.read if other.at is None else other.at,
                metric=other.metrics.get(bound.metric or "", bound.metric),
            )
    return bound
