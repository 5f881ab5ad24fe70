"""Judges numbers that were made elsewhere, as they are declared by who gives them.

fedrepro knows nothing of how they were made. Only what is declared to follow the published protocol
is held against the print; all else is not compared.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..claims.nodes import Values
from ..external.binding import bind_rows, cell_of, external_plan
from ..external.rows import Row
from ..results import Departure, External, ProtocolScale, Report, TableResult
from ..spec.model import Paper
from .evidence import CellTrials, Evidence
from .judge import judge_evidence

_WHY = "so it is declared by who gave the numbers; fedrepro did not make them"
_DECLARED = {
    "full": "They are declared to follow the published protocol, and are judged as such",
    "scaled": "They are not declared to follow the published protocol, so no printed number is "
    "held against them; what is judged is whether the paper's comparisons hold",
}


def judge_external(
    paper: Paper,
    rows: Sequence[Row],
    *,
    command: str,
    tables: Sequence[str] | None = None,
    protocol: ProtocolScale = "scaled",
    note: str = "",
    files: Sequence[str] = (),
    audit: bool = True,
) -> Report:
    """The report of a paper on results that were made elsewhere.

    tables: ids; None for those that have results.
    protocol, note: how the numbers were made, as declared by who gives them.
    files: names of the files that they were read from.

    Raises `FedreproError` for results that belong to no cell of these tables
    (`benchmark.external.binding`).
    """
    named = dict.fromkeys(cell_of(row, paper).table for row in rows)
    plan = external_plan(paper, [*named] if tables is None else tables)
    given = bind_rows(rows, plan, protocol)
    seeds = tuple(sorted({seed for trials in given.values() for seed in trials}))
    of_ours = dict.fromkeys(row.profile for row in rows if row.profile)
    statement = _statement(protocol, note, files, seeds, tuple(of_ours))
    external = External(protocol, note, tuple(files), seeds, len(rows), statement)
    most = Counter[str]()  # trials of a cell, by table
    for (table, *_), trials in given.items():
        most[table] = max(most[table], len(trials))
    shown, own = replace(plan, trials=len(seeds)), note or "not declared to be that"
    declared = Departure("protocol", "the published protocol", own, _WHY)
    is_full, full = protocol == "full", "declared to follow the published protocol"
    evidence = Evidence(
        shown,
        {},
        given={
            one.cell.key: _trials(given.get(one.cell.key, {}), seeds, most[one.cell.table])
            for one in shown.cells
        },
        declared=None if is_full else declared,
        made=f"results of others, {full if is_full else own}",
    )
    report = judge_evidence(evidence, command=command, audit=audit)
    known = "not known to fedrepro"
    return replace(
        report,
        tables=tuple(_table(table, given, len(seeds), command) for table in report.tables),
        provenance=replace(report.provenance, seeds=seeds, device=known),
        external=external,
    )


def _statement(
    scale: ProtocolScale,
    note: str,
    files: Sequence[str],
    seeds: Sequence[int],
    profiles: Sequence[str],
) -> str:
    """What a reader must know. Who leaves seeds out can choose the answer, so that is told."""
    source = f" ({', '.join(files)})" if files else ""
    made = f" By their files they are of the profiles {', '.join(profiles)}." if profiles else ""
    said = f": “{note}”" if note else ""
    missing = sorted(set(range(max(seeds) + 1)) - set(seeds))
    named = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
    gaps = f" Of the seeds 0 to {max(seeds)}, {len(missing)} are missing: {named}."
    return (
        f"External results: fedrepro trained nothing here and cannot vouch for these numbers, "
        f"which were made elsewhere{source}. {_DECLARED[scale]}{said}.{made}"
        f"{gaps if missing else ''}"
    )


def _trials(given: Mapping[int, float], seeds: Sequence[int], most: int) -> CellTrials:
    """What was given for a cell, of the `seeds` in all. Fewer than another cell of its table has,
    which is `most`, are fewer than were planned. One number under all seeds is one trial; only
    whole ones, such as counts, are trusted to come out equal."""
    if not given:
        return CellTrials(missing="no result was given for this cell")
    value, *others = given.values()
    told = f"{len(given)} of {most} trials were given" if len(given) < most else None
    kept = given
    if len(others) > 1 and not value.is_integer() and {*others} == {value}:
        told = f"its {len(given)} trials are all {value:g}; copies are counted once"
        kept = {min(given): value}
    return CellTrials({seed: kept.get(seed) for seed in seeds}, incomplete=told)


def _table(table: TableResult, given: Values, n_seeds: int, command: str) -> TableResult:
    """A table whose cells lead to no run of ours, and that says which cells lack seeds."""
    places = [(table.id, cell.row, cell.column) for cell in table.cells]
    counts = [len(given[place]) for place in places if place in given]
    fewer = sum(count < n_seeds for count in counts)
    said = f"{fewer} of {len(counts)} cells with results have fewer than the {n_seeds} seeds that"
    note = f"{said} were given in all; comparisons use the seeds that both sides have."
    return replace(
        table,
        cells=tuple(replace(cell, run=None, command=None) for cell in table.cells),
        notes=(*table.notes, note) if fewer else table.notes,
        command=command,
    )
