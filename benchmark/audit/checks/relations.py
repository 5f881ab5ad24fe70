"""Do printed quantities obey the formulas that tie them together, row by row?

The formulas stand in the specs (`[[relations]]`), and hold within the rounding of all printed
numbers. One that is read from `vague` words is at most undecidable.
"""

from collections.abc import Iterator

from ...claims.bind_cells import instances
from ...claims.printed import support
from ...spec.model import Paper
from ..expressions import computed_of, published_of
from ..findings import Finding, Status, finding


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each relation and row whose cells are printed."""
    for table, relation in ((each, one) for each in paper.tables for one in each.relations):
        for where, comparisons in instances(relation, table, paper):
            word, _ = support(comparisons)
            if word == "not printed":
                continue
            printed = [one for one in comparisons if support([one])[0] != "not printed"]
            status: Status = "consistent" if word == "supported" else "undecidable"
            note = "" if relation.note is None else f" {relation.note.rstrip('.')}."
            if word == "contradicted" and relation.vague is not None:
                note += " Contradicted as read in the spec; "
                note += f"'{relation.vague}' can be read otherwise."
            elif word == "contradicted" and not any(one.is_approximate for one in printed):
                status = "inconsistent"
            place = f"Table {table.id}, {where}" if where else f"Table {table.id}"
            source = f" ({relation.where})" if relation.where else ""
            yield finding(
                ("relation", table.id, relation.id, where),
                (cell for one in printed for cell in one.leaves),
                table=table.id,
                statement=f"{place}: {relation.says.rstrip('.')}{source}.{note}",
                published=published_of(printed),
                computed="; ".join(map(computed_of, printed)),
                status=status,
            )
