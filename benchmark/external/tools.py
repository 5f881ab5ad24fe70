"""Curves in what common tools write: a Flower history, a W&B chart and MLflow metrics.

A reader gives, by run and key, the points as they stand in the file; `value_at` takes one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from ..errors import FedreproError
from ..spec.problems import suggestion
from .rows import csv_lines, number, parse_json, shown, whole_number

Points = list[tuple[int, Any]]
"""Round and value, which may still be text."""
Curves = Mapping[str, Mapping[str, Points]]
"""By run and key; a file of one run has the run ''."""
Reader = Callable[[str, str], Curves]
"""Of a file's text and name."""

_FLOWER = (
    "metrics_distributed", "metrics_centralized", "metrics_distributed_fit", "losses_distributed",
    "losses_centralized",
)  # fmt: skip
_STEPS = ("Step", "_step", "step")
_BOUNDS = ("__MIN", "__MAX")
_RUN_IDS = ("run_id", "run_uuid")


def flower(text: str, name: str) -> Curves:
    """`vars(history)` of Flower as JSON: `metrics_*` by name, and `losses_*`, lists of (round,
    value). Keys are `metrics_distributed.accuracy`, `losses_centralized`, ...

    Raises `FedreproError` for what is no such object.
    """
    history = parse_json(text, name)
    if not isinstance(history, dict) or not set(_FLOWER) & history.keys():
        raise FedreproError(f"{name} is no Flower history: it has none of {', '.join(_FLOWER[:2])}")
    curves: dict[str, Points] = {}
    for part in _FLOWER:
        held = history.get(part)
        if isinstance(held, dict):
            curves |= {f"{part}.{key}": _pairs(points, f"{name}, {part}.{shown(key)}")
                       for key, points in held.items()}  # fmt: skip
        elif held:
            curves[part] = _pairs(held, f"{name}, {part}")
    return {"": curves}


def wandb(text: str, name: str) -> Curves:
    """The CSV of a W&B chart (columns `Step`, `RUN - KEY` and its bounds) or of a run's history
    (`_step`, `KEY`).

    Raises `FedreproError` for a file without a column of steps.
    """
    header, body = csv_lines(text, name)
    step = next((one for one in _STEPS if one in header), None)
    if step is None:
        raise FedreproError(f"{name}:1: no column {' or '.join(_STEPS[:2])}; is this a W&B export?")
    at = header.index(step)
    named = {
        i: _run_and_key(column)
        for i, column in enumerate(header)
        if i != at and column and not column.endswith(_BOUNDS)
    }
    curves: dict[str, dict[str, Points]] = {}
    for run, key in named.values():
        curves.setdefault(run, {})[key] = []
    for place, line in body:
        round = whole_number(line[at], f"{place}, {step}", "step")
        for i, (run, key) in named.items():
            if line[i]:
                curves[run][key].append((round, line[i]))
    return curves


def mlflow(text: str, name: str) -> Curves:
    """MLflow's metrics as CSV: columns `run_id` (or `run_uuid`), `key`, `value` and `step`.

    Raises `FedreproError` for a file without them.
    """
    header, body = csv_lines(text, name)
    run = next((one for one in _RUN_IDS if one in header), None)
    lacking = [one for one in ("key", "value", "step") if one not in header]
    if run is None or lacking:
        raise FedreproError(
            f"{name}:1: column '{lacking[0] if lacking else _RUN_IDS[0]}' is missing; "
            "is this a table of MLflow metrics?"
        )
    curves: dict[str, dict[str, Points]] = {}
    for place, line in body:
        fields = dict(zip(header, line, strict=True))
        points = curves.setdefault(fields[run], {}).setdefault(fields["key"], [])
        points.append((whole_number(fields["step"], place, "step"), fields["value"]))
    return curves


READERS: Mapping[str, Reader] = {"flower": flower, "wandb": wandb, "mlflow": mlflow}


def choose(curves: Curves, run: str | None, key: str, place: str) -> Points:
    """The points of one run and key.

    run: may be left out where the file has one run. key: of a Flower history also the name alone.

    Raises `FedreproError` for what is not there, or not the only one.
    """
    if run is None and len(curves) > 1:
        having = [one for one, held in curves.items() if key in held]
        if len(having) != 1:
            raise FedreproError(
                f"{place}: the file has {len(curves)} runs; name one{suggestion('', curves)}"
            )
        run = having[0]
    elif run is None:
        run = next(iter(curves), "")
    if run not in curves:
        raise FedreproError(f"{place}: the file has no run '{shown(run)}'{suggestion(run, curves)}")
    held = curves[run]
    if key in held:
        return held[key]
    meant = [f"{part}.{key}" for part in _FLOWER[:2] if f"{part}.{key}" in held]
    if len(meant) == 1:
        return held[meant[0]]
    if meant:
        raise FedreproError(f"{place}: '{shown(key)}' may be {' or '.join(meant)}; say which")
    raise FedreproError(f"{place}: the file has no '{shown(key)}'{suggestion(key, held)}")


def value_at(points: Points, at: int | Literal["final", "best"], place: str) -> float:
    """The value at a round, at the last one, or the largest.

    Raises `FedreproError` where there is none, or it is no finite number.
    """
    rounds = [round for round, _ in points]
    if not points:
        raise FedreproError(f"{place}: the curve is empty")
    if len(set(rounds)) < len(rounds):
        twice = next(round for round in rounds if rounds.count(round) > 1)
        raise FedreproError(f"{place}: round {twice} is there twice")
    if at == "best":
        return max(_finite(value, place) for _, value in points)
    wanted = max(rounds) if at == "final" else at
    if wanted not in rounds:
        raise FedreproError(
            f"{place}: round {wanted} is not there (rounds {min(rounds)} to {max(rounds)}); "
            "name another with round"
        )
    return _finite(dict(points)[wanted], place)


def _finite(value: Any, place: str) -> float:
    found = number(value, place)
    if found is None:
        raise FedreproError(f"{place}: the value is empty")
    return found


def _pairs(points: Any, place: str) -> Points:
    if not isinstance(points, Iterable) or isinstance(points, (str, dict)):
        raise FedreproError(f"{place} is no list of (round, value)")
    found: Points = []
    for pair in points:
        if not isinstance(pair, list) or len(pair) != 2:
            raise FedreproError(f"{place} is no list of (round, value)")
        found.append((whole_number(pair[0], place, "round"), pair[1]))
    return found


def _run_and_key(column: str) -> tuple[str, str]:
    """Of `RUN - KEY` both; names of runs hold no ' - ' as a rule, and keys none either."""
    run, dash, key = column.rpartition(" - ")
    return (run, key) if dash else ("", column)
