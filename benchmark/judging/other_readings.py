"""What other readings of a paper make of cells and claims (`benchmark.spec.readings`)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..config import FULL_PRECISION
from ..planning.plan import Plan
from ..results import (
    CellResult,
    CellUnder,
    ChoiceResult,
    ClaimUnder,
    ReadingResult,
    TableResult,
    Universe,
)
from ..spec.readings import choices_of, free_readings

ByReadings = Mapping[tuple[str, ...], Sequence[TableResult]]
"""Judged tables by the readings that they are under."""

_PRECISIONS = {
    "bf16": "convolutions, dense layers and what lies between them in bfloat16; weights, "
    "optimisers, statistics of normalisation, losses and averages in float32",
    "tf32": "convolutions and dense layers in TF32, all else in float32",
}


def choices(plan: Plan) -> tuple[ChoiceResult, ...]:
    """What the paper leaves open with alternatives, of the tables that are shown."""
    taken = plan.paper.readings
    return _precisions(plan) + tuple(
        ChoiceResult(
            name=str(choice.name),
            table=table,
            setting=choice.setting,
            taken=choice.taken,
            why=choice.why,
            alternatives=tuple(
                ReadingResult(
                    name=one.name,
                    taken=one.taken,
                    why=one.why,
                    speaks=one.speaks,
                    is_taken=one.name in taken,
                    # Of what is taken, whether the plan without it reads anything else.
                    has_effect=one.name not in taken
                    or not plan.reads_as(plan.under([name for name in taken if name != one.name])),
                    only_evaluates=one.only_evaluates,
                )
                for one in choice.alternatives
            ),
        )
        for choice, table in choices_of(plan.paper)
        if choice.alternatives and table in (None, *plan.tables)
    )


def _precisions(plan: Plan) -> tuple[ChoiceResult, ...]:
    used = sorted({run.precision for run in plan.runs} - {FULL_PRECISION})
    why = "it is faster where the device has it"
    speaks = "docs/notes/precision.md: paired trials in this precision and in float32"
    choice = ChoiceResult(
        name="precision",
        table=None,
        setting="in which numbers networks multiply",
        taken="float32",
        why="what PyTorch and TensorFlow do on processors unless told otherwise",
        alternatives=tuple(
            ReadingResult(f"--precision {one}", _PRECISIONS[one], why, speaks, True, False)
            for one in used
        ),
    )
    return (choice,) if used else ()


def read_otherwise(plan: Plan) -> Iterator[Plan]:
    """The plan under each reading, too, that reads its own trials in another way."""
    trained = [one.cell for one in plan.cells if one.config is not None]
    for reading in free_readings(plan.paper):
        other = reading.alternative
        if other.only_evaluates and any(
            reading.concerns(cell.table, cell.experiment)
            and (other.at is not None or cell.metric in other.metrics)
            for cell in trained
        ):
            yield plan.under((*plan.paper.readings, reading.name))


def with_other_readings(judged: ByReadings) -> tuple[TableResult, ...]:
    """The first tables, with what their cells are under the last reading of each of the others."""
    tables, *_ = judged.values()
    places = {
        readings[-1]: {(one.id, cell.row, cell.column): cell for one in other for cell in one.cells}
        for readings, other in [*judged.items()][1:]
    }

    def facts(cell: CellResult) -> tuple[object, ...]:
        return cell.metric, cell.trials, cell.verdict

    def read(table: str, cell: CellResult) -> CellResult:
        found = []
        for name, cells in places.items():
            other = cells.get((table, cell.row, cell.column))
            if other is not None and facts(other) != facts(cell):
                word, difference = other.verdict.word, other.verdict.difference
                found.append(CellUnder(name, other.mean, other.sd, word, difference))
        return replace(cell, under=tuple(found))

    return tuple(
        replace(one, cells=tuple(read(one.id, cell) for cell in one.cells)) for one in tables
    )


def universes(judged: ByReadings) -> tuple[Universe, ...]:
    """The claims by readings; none where only one set of readings was judged."""
    if len(judged) < 2:
        return ()
    return tuple(
        Universe(
            readings,
            tuple(
                ClaimUnder(table.id, one.id, one.word, one.answer.ours, one.answer.printed)
                for table in tables
                for one in table.claims
            ),
        )
        for readings, tables in judged.items()
    )
