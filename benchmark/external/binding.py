"""Which cells of a paper results belong to, what is said of them, and an empty file of them."""

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..claims.nodes import Values
from ..errors import FedreproError
from ..metrics import looks_like_fraction, outside
from ..planning.plan import Plan, PlannedCell, make_plan
from ..results import ProtocolScale
from ..spec import limits
from ..spec.model import Cell, CellKey, Paper, Profile
from ..spec.problems import suggestion
from ..spec.settings import get, key_of
from .rows import PROFILE, Row, refused, shown

_NO_RESULTS = {"analytic": "it is computed from a formula", "descriptive": "it is no measurement"}
_DECLARED = {
    "full": "They are declared to follow the published protocol, and are judged as such",
    "scaled": "They are not declared to follow the published protocol, so no printed number is "
    "held against them; what is judged is whether the paper's comparisons hold",
}


def external_plan(paper: Paper, tables: Sequence[str]) -> Plan:
    """Cells of some tables under the published protocol, nothing to run; raises `SpecError`."""
    as_published = replace(paper, profiles={PROFILE: Profile(1, name=PROFILE)})
    return replace(make_plan(as_published, PROFILE, tables=tables), runs=(), drawings=())


def why_not(cell: Cell) -> str | None:
    """Why a cell takes no results, or None if it takes some."""
    if cell.kind in _NO_RESULTS:
        return _NO_RESULTS[cell.kind]
    return "the paper prints a dash there" if cell.printed.is_dash else cell.skip


def bind_rows(rows: Iterable[Row], plan: Plan, protocol: ProtocolScale) -> Values:
    """Results by cell of a plan.

    Cells of one table that show one number of one run must not contradict each other. They share
    what is given for any of them if they print the same, or, as in CP-CFL's Table 11, single trials
    and their mean. Raises `FedreproError` for a name that the paper does not have, a cell that
    takes no results, and a trial that is given twice. Also for a metric, round or unit not the
    cell's."""
    first, cells = _first(plan.cells), {one.cell.key: one.cell for one in plan.cells}
    found: dict[CellKey, dict[int, Row]] = {}
    runs = {one.cell.key: run_of(one) for one in plan.cells}
    made: dict[object, tuple[str, object]] = {}
    prints = defaultdict[CellKey, set[str]](set)
    for row in rows:
        cell = cell_of(row, plan.paper)
        if row.table not in plan.tables:
            hint = suggestion(row.table, plan.tables)
            raise refused(row.place, f"table '{row.table}' is not judged here{hint}")
        if problem := _problem(row, cell, protocol):
            raise refused(row.place, problem)
        trial = runs[cell.key], row.seed
        source = row.source or ()
        for of, is_of in ((source, trial), (source[:3], row.seed)) if source else ():
            place, known = made.setdefault(of, (row.place, is_of))
            if known != is_of:
                said = f"this value or run is that of another trial; first at {place}"
                raise refused(row.place, said)
        trials = found.setdefault(first[cell.key], {})
        before = trials.get(row.seed)
        again = before is not None and (before.row, before.column) == (row.row, row.column)
        if before is not None and (again or before.value != row.value):
            other = f" for {before.row} @ {before.column}, which shows the same trials"
            other += "; give each its own settings in the spec, such as clients.data of a column"
            said = f"seed {row.seed} of table {row.table}, {cell.label} is given twice; first at "
            raise refused(row.place, f"{said}{before.place}{'' if again else other}")
        if len(trials) == limits.TRIALS:
            said = f"{cell.label} has more trials than the {limits.TRIALS:,} that are read"
            raise refused(row.place, said)
        trials[row.seed] = row
        prints[first[cell.key]].add(cell.printed.text)
    if not found:
        raise FedreproError("no line of the results has a value; fill in the column value")
    of_trials = {first[key] for key in first if cells[key].trial is not None}
    return {
        key: {seed: _value(row, cells[key]) for seed, row in sorted(found[one].items())}
        for key, one in first.items()
        if one in found and (one in of_trials or cells[key].printed.text in prints[one])
    }


def _first(cells: Sequence[PlannedCell]) -> dict[CellKey, CellKey]:
    """By cell that takes results, the first of those of its table that show its number and run."""
    groups: dict[tuple[object, ...], CellKey] = {}
    first: dict[CellKey, CellKey] = {}
    for one in cells:
        key = one.cell.key
        if why_not(one.cell) is None:
            of_run = (one.cell.table, run_of(one), one.cell.metric, one.cell.unit, one.read)
            first[key] = groups.setdefault(of_run, key)
    return first


def run_of(one: PlannedCell) -> object:
    """What cells share that show one run."""
    return key_of(one.cell.experiment) if one.config is None else one.config.key


def cell_of(row: Row, paper: Paper) -> Cell:
    """The cell of a result; raises as `bind_rows`."""
    tables = {table.id: table for table in paper.tables}
    if row.table not in tables:
        said = f"paper {paper.id} has no table '{shown(row.table)}'"
        raise refused(row.place, said + suggestion(row.table, tables))
    table = tables[row.table]
    labels = []
    for what, name in (("row", row.row), ("column", row.column)):
        known = {"|".join(label): label for label in getattr(table, f"{what}s")}
        if name not in known:
            said = f"table {table.id} has no {what} '{shown(name)}'{suggestion(name, known)}"
            raise refused(row.place, said)
        labels.append(known[name])
    cell = table.by_place[labels[0], labels[1]]
    if (reason := why_not(cell)) is not None:
        raise refused(row.place, f"table {table.id}, {cell.label} takes no results: {reason}")
    return cell


def _problem(row: Row, cell: Cell, protocol: ProtocolScale) -> str | None:
    if row.metric not in (None, cell.metric):
        return f"{cell.label} shows {cell.metric}, not '{shown(row.metric or '')}'"
    at, given = rounds_of(row, cell)
    if (given == "best") != (at == "best"):
        return f"{cell.label} is read at round {at}, not {shown(given)}"
    if given not in (at, "final") and not given.isdecimal():
        return f"round '{shown(given)}' is no number, nor final or best"
    if protocol == "full" and given != at:
        said = f"{cell.label} is read at round {at}, not {shown(given)}: that is"
        return f"{said} not the published protocol; use --protocol scaled"
    known = {cell.unit or "", *(("%", "fraction") if cell.unit == "%" else ())}
    if row.unit is not None and row.unit not in known:
        return f"{cell.label} is in {cell.unit or 'plain numbers'}, not in '{shown(row.unit)}'"
    if problem := outside(_value(row, cell), cell.metric, cell.unit):
        return f"{cell.label}: {problem}"
    printed = cell.printed.value
    is_unsaid = row.unit is None and (printed is None or printed > 1)
    if is_unsaid and looks_like_fraction(row.value, cell.metric, cell.unit, endless=1.0):
        said = f"{cell.label} is in percent, and {row.value:g} looks like a fraction; give percent,"
        return f"{said} or say 'fraction' (or '%') in a column unit"
    if protocol == "full" and (row.departs or not row.profiles <= {"", "paper", PROFILE}):
        said = f"these are trials of profile {shown(row.made)}, not of the published protocol"
        return f"{said}; use --protocol scaled"
    return None


def rounds_of(row: Row, cell: Cell) -> tuple[str, str]:
    """At which round a cell is read, and of which one a result is; the last one by its number."""
    at = str(cell.read)
    read = str(get(cell.experiment, "training.rounds") or at) if at == "final" else at
    return read, read if row.round in (None, at) else str(row.round)


def _value(row: Row, cell: Cell) -> float:
    return row.value * (100.0 if row.unit == "fraction" and cell.unit == "%" else 1.0)


def said_of(
    paper: Paper, scale: ProtocolScale, note: str, files: Sequence[str], rows: Sequence[Row]
) -> str:
    """What a reader must know. Who leaves seeds out can choose the answer, so that is reported."""
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
        several = ", ".join(sorted({one for _, one in rounds}, key=lambda one: (len(one), one)))
        made += f" Cells that the paper reads at one round were given at rounds {several}."
    if scale == "full" and "paper" not in paper.profiles:
        made += " How many trials are planned is not known: the spec has no profile `paper`."
    return (
        f"External results: fedrepro trained nothing here and cannot vouch for these numbers, "
        f"which were made elsewhere{source}. {_DECLARED[scale]}{said}.{made}"
    )


def template(
    paper: Paper, tables: Sequence[str] | None = None, trials: int | None = None
) -> tuple[str, Counter[str]]:
    """CSV with a line for each cell that takes results and each trial, without the values. The
    second result is, by reason, how many cells have no line. Of cells that share results, one that
    is no single trial has a line. `trials`: None for as many as the paper's own protocol has.
    Raises `SpecError` for a table that does not exist."""
    judged = [one.id for one in paper.tables if not one.is_control]
    cells = external_plan(paper, judged if tables is None else tables).cells
    first, groups, without = _first(cells), dict[CellKey, list[Cell]](), Counter[str]()
    for cell in (one.cell for one in cells):
        if reason := why_not(cell):
            without[reason] += 1
        else:
            groups.setdefault(first[cell.key], []).append(cell)
    published = paper.profiles.get("paper")
    n, text = trials or (published.trials if published is not None else 1), io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("table", "row", "column", "metric", "unit", "round", "seed", "value"))
    for group in groups.values():
        cell = next((one for one in group if one.trial is None), group[0])
        if len(group) > 1:
            what = "column" if len({one.column for one in group}) > 1 else "row"
            alike = dict.fromkeys("|".join(getattr(one, what)) for one in group)
            said = f"{what}s {', '.join(alike)} of table {cell.table} are one experiment"
            without[f"{said}, by the settings in the spec"] += len(group) - 1
        labels = "|".join(cell.row), "|".join(cell.column)
        unit = (cell.unit or "").removeprefix("%")  # `_problem` believes it of who fills this in
        texts = (cell.table, *labels, cell.metric or "", unit, str(cell.read))
        # A spreadsheet would compute what begins so; reading takes the apostrophe away again.
        named = [f"'{text}" if text[:1] in ("=", "+", "-", "@") else text for text in texts]
        lines.writerows((*named, seed, "") for seed in range(n))
    return text.getvalue(), without
