"""Judges numbers that were made elsewhere, as they are declared by who gives them.

fedrepro knows nothing of how they were made. Only what is declared to follow the published protocol
is held against the print; all else is not compared.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..claims.nodes import Values
from ..external.binding import bind_rows, cell_of, external_plan
from ..external.copies import counted_once, equal_runs
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

    tables: ids; None for those that have results. protocol, note: how the numbers were made, as
    declared by who gives them. files: names of the files that they were read from. Raises
    `FedreproError` for results that belong to no cell of these tables
    (`benchmark.external.binding`).
    """
    named = dict.fromkeys(cell_of(row, paper).table for row in rows)
    plan = external_plan(paper, [*named] if tables is None else tables)
    given = bind_rows(rows, plan, protocol)
    seeds = tuple(sorted({seed for trials in given.values() for seed in trials}))
    statement = _statement(protocol, note, files, rows)
    external = External(protocol, note, tuple(files), seeds, len(rows), statement)
    is_full, full = protocol == "full", "declared to follow the published protocol"
    published = paper.profiles.get("paper") if is_full else None
    # Trials of a cell that are planned, by table: the protocol's, and no fewer than another has.
    most = dict.fromkeys(named, 1 if published is None else published.trials)
    for (table, *_), found in given.items():
        most[table] = max(most[table], len(found))
    shown, own = replace(plan, trials=len(seeds)), note or "not declared to be that"
    declared = Departure("protocol", "the published protocol", own, _WHY)
    equal = equal_runs(given, plan.cells)
    trials = {
        key: _trials(given.get(key, {}), seeds, most.get(key[0], 0), equal.get(key))
        for key in (one.cell.key for one in shown.cells)
    }
    made = f"results of others, {full if is_full else own}"
    evidence = Evidence(shown, {}, trials, None if is_full else declared, made)
    report = judge_evidence(evidence, command=command, audit=audit)
    return replace(
        report,
        tables=tuple(_table(table, given, len(seeds), command) for table in report.tables),
        provenance=replace(report.provenance, seeds=seeds, device="not known to fedrepro"),
        external=external,
    )


def _statement(scale: ProtocolScale, note: str, files: Sequence[str], rows: Sequence[Row]) -> str:
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
    return (
        f"External results: fedrepro trained nothing here and cannot vouch for these numbers, "
        f"which were made elsewhere{source}. {_DECLARED[scale]}{said}.{made}"
    )


def _trials(
    given: Mapping[int, float], seeds: Sequence[int], most: int, equal: str | None
) -> CellTrials:
    """What was given for a cell, of the `seeds` in all; `most` are planned. equal: what is said if
    its trials are another run's."""
    if not given:
        return CellTrials(missing="no result was given for this cell")
    kept, told = counted_once(given), [equal] if equal else []
    if len(given) < most:
        told += [f"{len(given)} of {most} trials were given"]
    if len(kept) < len(given):
        alike = " or ".join(f"{value:g}" for value in kept.values())
        told += [f"its {len(given)} trials are all {alike}; copies are counted once"]
    trials = {seed: kept.get(seed) for seed in seeds}
    return CellTrials(trials, incomplete="; ".join(told) or None)


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
