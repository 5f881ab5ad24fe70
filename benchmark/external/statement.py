"""What a report says of results that were made elsewhere."""

from collections import Counter
from collections.abc import Sequence

from ..results import ProtocolScale
from ..spec.model import Paper
from .binding import cell_of, rounds_of
from .rows import Row

_DECLARED = {
    "full": "They are declared to follow the published protocol, and are judged as such",
    "scaled": "They are not declared to follow the published protocol, so no printed number is "
    "held against them; what is judged is whether the paper's comparisons hold",
}


def said_of(
    paper: Paper, scale: ProtocolScale, note: str, files: Sequence[str], rows: Sequence[Row]
) -> str:
    """What a reader must know. Who leaves seeds out can choose the answer, so that is told."""
    source = f" ({', '.join(files)})" if files else ""
    profiles = ", ".join(dict.fromkeys(row.made for row in rows if row.made))
    made = f" By their files they are of the profiles {profiles}." if profiles else ""
    for offset, n in Counter(row.offset for row in rows if row.offset).items():
        made += f" Their map adds {offset} to the rounds of {n} values."
    said = f": “{note}”" if note else ""
    seeds = {row.seed for row in rows}
    missing = sorted(set(range(max(seeds) + 1)) - seeds)
    named = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
    if missing:
        made += f" Of the seeds 0 to {max(seeds)}, {len(missing)} are missing: {named}."
    rounds = {rounds_of(row, cell_of(row, paper)) for row in rows}
    if len(rounds) > len({read for read, _ in rounds}):
        several = ", ".join(dict.fromkeys(one for _, one in sorted(rounds)))
        made += f" Cells that the paper reads at one round were given at rounds {several}."
    if scale == "full" and "paper" not in paper.profiles:
        made += " How many trials are planned is not known: the spec has no profile `paper`."
    return (
        f"External results: fedrepro trained nothing here and cannot vouch for these numbers, "
        f"which were made elsewhere{source}. {_DECLARED[scale]}{said}.{made}"
    )
