"""Judges numbers that were made elsewhere, as they are declared by who gives them.

fedrepro knows nothing of how they were made. Only what is declared to follow the published protocol
is compared with the published values.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..claims.nodes import Values
from ..external.binding import bind_rows, cell_of, external_plan, said_of
from ..external.copies import hides_copies, said_of_copies, sorted_runs
from ..external.rows import PROFILE, Row
from ..results import Departure, External, ProtocolScale, Report, TableResult
from ..spec.model import Paper
from .evidence import CellTrials, Evidence
from .judge import judge_evidence

_WHY = "so it is declared by who gave the numbers; fedrepro did not make them"


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

    `tables`: ids; None for those that have results. `protocol`, `note`: how the numbers were made,
    as declared by who gives them. `files`: names of the files that they were read from. Raises
    `FedreproError` for results that belong to no cell of these tables
    (`benchmark.external.binding`)."""
    lines, rows = rows, [one for one in rows if not math.isnan(one.value)]
    named = dict.fromkeys(cell_of(row, paper).table for row in rows)
    plan = external_plan(paper, [*named] if tables is None else tables)
    given = bind_rows(rows, plan, protocol)
    seeds = tuple(sorted({seed for trials in given.values() for seed in trials}))
    is_full, full = protocol == "full", "declared to follow the published protocol"
    published = paper.profiles.get("paper") if is_full else None
    # Trials of a cell that are planned, by table: the protocol's, and no fewer than another has.
    most = dict.fromkeys(named, 1 if published is None else published.trials)
    trials_of = [(table, len(found)) for (table, *_), found in given.items()]
    asked = {(row.table, row.row, row.column, row.seed) for row in lines if is_full}
    trials_of += [(place[0], n) for place, n in Counter(one[:3] for one in asked).items()]
    for table, n in trials_of:
        most[table] = max(most.get(table, 0), n)
    ours = [one for one in paper.profiles.values() if any(one.name in row.profiles for row in rows)]
    checked = [one.name for one in ours if any(each.is_control for each in paper.under(one).tables)]
    whys = [f"The controls of profile {' and '.join(checked)} are not judged here."]
    if n := sorted_runs(plan.cells, given):
        whys += [f"All {n} runs are sorted by value, so that equal seeds are no pairs."]
    why = " ".join(whys[not checked :])
    few = "Copies among values of so few digits do not show."
    more = [few] if hides_copies(plan.cells, given) else []
    statement = " ".join(filter(None, (said_of(paper, protocol, note, files, rows), *more, why)))
    external = External(protocol, note, tuple(files), seeds, len(rows), statement)
    shown, own = replace(plan, trials=len(seeds)), note or "not declared to be that"
    declared = Departure("protocol", "the published protocol", own, _WHY)
    copies = said_of_copies(plan.cells, given)
    trials = {
        key: _trials(given.get(key, {}), seeds, most.get(key[0], 0), copies.get(key))
        for key in (one.cell.key for one in shown.cells)
    }
    on = f"results of others, {full if is_full else own}"
    evidence = Evidence(shown, {}, trials, None if is_full else declared, on, why or None)
    report = judge_evidence(evidence, command=command, audit=audit)
    made = "; ".join(dict.fromkeys(row.made for row in rows if row.made not in ("", PROFILE)))
    return replace(
        report,
        profile=f"{PROFILE}: {made}" if made else PROFILE,
        tables=tuple(_table(table, given, len(seeds), command) for table in report.tables),
        protected=all(len(seeds) in (one.trials, *one.looks) for one in ours),
        provenance=replace(report.provenance, seeds=seeds, device="not known to fedrepro"),
        external=external,
    )


def _trials(
    given: Mapping[int, float], seeds: Sequence[int], most: int, copies: str | None
) -> CellTrials:
    """What was given for a cell, of the `seeds` in all; `most` are planned. `copies`: what is
    said of trials that are none of its own."""
    if not given:
        return CellTrials(missing="no result was given for this cell")
    fewer = f"{len(given)} of {most} trials were given" if len(given) < most else None
    told = "; ".join(filter(None, (copies, fewer)))
    return CellTrials({seed: given.get(seed) for seed in seeds}, incomplete=told or None)


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
