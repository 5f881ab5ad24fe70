"""Files of results, and a TOML map that says which value of a tool's export is which cell and seed.

A Flower history, a W&B chart and MLflow's metrics can be read. A reader gives, by run and key, the
points as they stand in the file, and a line of the map names one of them.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ..errors import FedreproError
from ..metrics import best
from ..spec import lines, toml_file
from ..spec.fields import At, Count, InFile, Text
from ..spec.model import Paper
from ..spec.problems import FileProblems, InvalidSpecError, name_of, read_text, suggestion, validate
from .binding import cell_of
from .rows import Row, csv_lines, joined, number, read_rows, refused, repeated, shown, whole_number

RoundValues = list[tuple[int, Any]]
"""Round and value, which may still be text."""
LoggedValues = Iterator[tuple[str, str, int, Any]]
"""What a file holds: run, key, round and value, or `EMPTY` where a column has none."""
EMPTY = object()
Curves = Mapping[str, Mapping[str, RoundValues]]
"""By run and key; a file of one run has the run ''."""

_FLOWER = (
    "metrics_distributed", "metrics_centralized", "metrics_distributed_fit", "losses_distributed",
    "losses_centralized",
)  # fmt: skip
_IS_ROUND = re.compile(r"(.*[\W_])?rounds?", re.IGNORECASE)
_BOUNDS = ("__MIN", "__MAX")
"""How columns end with which a W&B chart says that a value stands for several."""


@dataclass(frozen=True)
class _Entry(InFile):
    """One value of one file. `offset`: added to the file's rounds, which some tools count from 0.
    `round`: if not the cell's."""

    tool: Literal["flower", "wandb", "mlflow"]
    file: Text
    key: Text
    table: Text
    row: Text
    column: Text
    seed: Annotated[Count, Field(ge=0)]
    run: Text | None = None
    round: At | None = None
    offset: Count = 0
    unit: Text | None = None


def read_files(files: Sequence[Path], paper: Paper) -> list[Row]:
    """The results in TOML maps of exports, and else CSV; raises `FedreproError`."""
    rows: list[Row] = []
    for file in files:
        is_map = file.suffix.lower() == ".toml"
        rows += read_map(file, paper) if is_map else read_rows(file, paper.id)
    return rows


def read_map(file: Path, paper: Paper) -> list[Row]:
    """The results that a map names: `[[results]]`, with what all of them share above. Files are
    relative to the map's folder. Raises `FedreproError` for what cannot be read or found."""
    report, data = toml_file.read(file)
    if data is None:
        raise InvalidSpecError(report.problems)
    entries = data.pop("results", None)
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise FedreproError(f"{file}: a map of exports needs [[results]], one for each value")
    where = lines.find_lines(report.text)
    read: dict[tuple[str, str], Curves] = {}
    rows = []
    for i, own in enumerate(entries):
        place = f"{name_of(file)}:{lines.line_of(where, ('results', i))}"
        problems = FileProblems(file, "")
        entry = validate(_Entry, {**data, **own}, problems)
        if entry is None:
            raise refused(place, problems.problems[0].message)
        row = Row(place, entry.table, joined(entry.row), joined(entry.column), entry.seed, 0.0,
                  unit=entry.unit)  # fmt: skip
        cell = cell_of(row, paper)
        at = entry.round or cell.read
        source = (file.parent / entry.file).resolve()
        known = entry.tool, str(source)
        if known not in read:
            curves = read[known] = defaultdict(lambda: defaultdict(list))
            for run, key, n, value in _READERS[entry.tool](source):
                curves[run][key] += () if value is EMPTY else ((n, value),)
        run, key = _choose(read[known], entry.run, entry.key, place)
        points = [(n + entry.offset, value) for n, value in read[known][run][key]]
        value, taken = _value_at(points, at, cell.metric, place)
        in_file = taken if isinstance(taken, str) else taken - entry.offset
        for name in (one for one in read[known][run] if _IS_ROUND.fullmatch(one)):
            said = dict[Any, Any](read[known][run][name]).get(in_file, taken)
            if name != key and number(said, place) not in (taken, None):
                told = f"step {in_file} is taken for round {taken}, and '{shown(name)}' says {said}"
                raise refused(place, f"{told}; export by that, or leave it out")
        of = (*known, run, key, in_file)
        rows.append(replace(row, value=value, round=str(taken), source=of, offset=entry.offset))
    return rows


def _flower(file: Path) -> LoggedValues:
    """`vars(history)` of Flower as JSON: `metrics_*` by name, and `losses_*`, lists of (round,
    value). Keys are `metrics_distributed.accuracy`, `losses_centralized`, ..."""
    name = name_of(file)
    history = _json(read_text(file), name)
    if not isinstance(history, dict) or not set(_FLOWER) & history.keys():
        raise FedreproError(f"{name} is no Flower history: it has none of {', '.join(_FLOWER[:2])}")
    for part in _FLOWER:
        held = history.get(part) or {}
        if not isinstance(held, dict):
            held = {"": held}
        named = {f"{part}.{key}".rstrip("."): points for key, points in held.items()}
        for key, points in named.items():
            place = f"{name}, {shown(key)}"
            for pair in points if isinstance(points, list) else [points]:
                if not isinstance(pair, list) or len(pair) != 2:
                    raise FedreproError(f"{place} is no list of pairs [round, value]")
                yield "", key, whole_number(pair[0], place, "round"), pair[1]


def _json(text: str, place: str) -> Any:
    """JSON; raises `FedreproError` for anything else, and for a name that is there twice."""
    try:
        return json.loads(text, object_pairs_hook=_each_once)
    except RecursionError:
        raise refused(place, "is nested too deeply") from None
    except ValueError as error:
        said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise refused(place, f"is no JSON: {shown(said)}") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if (twice := repeated(name for name, _ in pairs)) is not None:
        raise ValueError(f"'{twice}' is there twice")
    return dict(pairs)


def _wandb(file: Path) -> LoggedValues:
    """The CSV of a W&B chart (columns `Step`, `RUN - KEY` and its bounds) or of a run's history
    (`_step`, `KEY`). Names of runs hold no ' - ' as a rule, and keys none either. Raises
    `FedreproError` for a chart of grouped runs, whose lines are means of several."""
    first, header, body = csv_lines(file)
    step = next((one for one in ("Step", "_step", "step") if one in header), None)
    if step is None:
        raise refused(first, "no column Step or _step; is this a W&B export?")
    columns = [one for one in header if one != step and not one.endswith(_BOUNDS)]
    for place, line in body:
        round = whole_number(line[step], f"{place}, {step}", "step")
        for column in columns:
            if any(line.get(column + end, "") not in ("", line[column]) for end in _BOUNDS):
                said = f"'{shown(column)}' has other bounds than its value: it groups several runs"
                raise refused(place, f"{said} (or steps); export each run alone")
            run, _, key = column.rpartition(" - ")
            yield run, key, round, line[column] or EMPTY


def _mlflow(file: Path) -> LoggedValues:
    """MLflow's metrics as CSV: columns `run_id` (or `run_uuid`), `key`, `value` and `step`. A table
    of its database also has `is_nan`, with a value of 0."""
    first, header, body = csv_lines(file)
    run = "run_uuid" if "run_uuid" in header else "run_id"
    if lacking := [one for one in (run, "key", "value", "step") if one not in header]:
        said = f"column '{lacking[0]}' is missing; is this a table of MLflow metrics?"
        raise refused(first, said)
    for place, fields in body:
        is_number = fields.get("is_nan", "").lower() in ("", "0", "0.0", "false", "f")
        value = fields["value"] if is_number else "nan"
        yield fields[run], fields["key"], whole_number(fields["step"], place, "step"), value


_READERS: Mapping[str, Callable[[Path], LoggedValues]] = {
    "flower": _flower, "wandb": _wandb, "mlflow": _mlflow,
}  # fmt: skip
"""By tool; raises `FedreproError` for what is no such export."""


def _choose(curves: Curves, run: str | None, key: str, place: str) -> tuple[str, str]:
    """The one run, named if there are several, and the key, of Flower also the name alone."""
    if not curves:
        raise refused(place, "the file has no values")
    if run is None:
        having = [one for one in curves if len(curves) == 1 or key in curves[one]]
        if len(having) != 1:
            said = f"the file has {len(curves)} runs; name one{suggestion('', curves)}"
            raise refused(place, said)
        [run] = having
    if run not in curves:
        raise refused(place, f"the file has no run '{shown(run)}'{suggestion(run, curves)}")
    held = {key: points for key, points in curves[run].items() if points}
    meant = [one for one in (f"{part}.{key}" for part in _FLOWER[:2]) if one in held]
    if key in held or len(meant) == 1:
        return run, key if key in held else meant[0]
    if meant:
        raise refused(place, f"'{shown(key)}' may be {' or '.join(meant)}; say which")
    raise refused(place, f"the file has no '{shown(key)}'{suggestion(key, held)}")


def _value_at(
    points: RoundValues, at: int | Literal["final", "best"], metric: str | None, place: str
) -> tuple[float, int | str]:
    """The value at a round, at the last one, or the best; and what was taken of these."""
    rounds = [round for round, _ in points]
    if (twice := repeated(rounds)) is not None:
        raise refused(place, f"the file has round {twice} twice")
    wanted = max(rounds) if at == "final" else at
    if at != "best" and wanted not in rounds:
        said = f"round {wanted} is not there (rounds {min(rounds)} to {max(rounds)})"
        raise refused(place, f"{said}; name another with round")
    found = [number(value, place) for round, value in points if at == "best" or round == wanted]
    numbers = [value for value in found if value is not None]
    if len(numbers) < len(found):
        raise refused(place, "the file has no value at this round")
    return best(numbers, metric), wanted
