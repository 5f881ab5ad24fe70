"""What a paper leaves open, and its claims under other readings (`benchmark.spec.readings`)."""

from collections.abc import Sequence

from ..planning.plan import Plan
from ..results import ChoiceResult, ClaimUnder, ReadingResult, Report, Universe
from ..spec.readings import choices_of


def choices(plan: Plan) -> tuple[ChoiceResult, ...]:
    """What the paper leaves open with alternatives, of the tables that are shown."""
    taken = plan.paper.readings
    return tuple(
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


def universes(reports: Sequence[Report]) -> tuple[Universe, ...]:
    """The claims of reports that differ in their readings."""
    return tuple(
        Universe(
            report.readings,
            tuple(
                ClaimUnder(table.id, one.id, one.word, one.answer.ours, one.answer.printed)
                for table in report.tables
                for one in table.claims
            ),
        )
        for report in reports
    )
