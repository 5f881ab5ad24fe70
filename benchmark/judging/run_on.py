"""What a table was run on here, beside what the paper ran it on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..config import RunConfig
from ..planning.plan import Plan, PlannedCell

_MOST = 3
"""More values than this are counted, not listed."""


def run_on(plan: Plan, cells: Sequence[PlannedCell]) -> str:
    """Data, clients, rounds and trials; empty where nothing of these cells is trained.

    Such as `fashion-excerpt, 30 clients, 10 rounds, 10 trials (paper: stl10, 60 clients, 100
    rounds)`; the paper's part is left out where both are alike.
    """
    runs = [(one, run) for one in cells if (run := _federated(one.config)) is not None]
    if not runs:
        return ""
    here = _said(
        (run.data["name"] for _, run in runs),
        (None if run.clients is None else run.clients.get("count") for _, run in runs),
        (run.options.get("rounds") for _, run in runs),
    )
    there = _said(
        (_setting(one.cell.experiment, "clients", "data") for one, _ in runs),
        (_setting(one.cell.experiment, "clients", "count") for one, _ in runs),
        (_setting(one.cell.experiment, "training", "rounds") for one, _ in runs),
    )
    trials = {len(plan.seeds(one.config)) for one, _ in runs if one.config is not None}
    most = max(trials, default=0)
    counted = f"{most} trials" if len(trials) == 1 else f"up to {most} trials"
    paper = f" (paper: {there})" if there and there != here else ""
    return f"{here}, {counted}{paper}"


def _federated(config: RunConfig | None) -> RunConfig | None:
    """The run with clients behind a run; itself where none is."""
    found = config
    while found is not None and found.clients is None:
        found = found.start
    return found or config


def _setting(experiment: Mapping[str, Any], group: str, name: str) -> Any:
    return experiment.get(group, {}).get(name)


def _said(data: Iterable[Any], clients: Iterable[Any], rounds: Iterable[Any]) -> str:
    parts = (_listed(data, ""), _listed(clients, "clients"), _listed(rounds, "rounds"))
    return ", ".join(filter(None, parts))


def _listed(values: Iterable[Any], noun: str) -> str:
    """`10, 20 or 30 rounds`; nothing where there is no value."""
    found = [str(value) for value in dict.fromkeys(values) if value is not None]
    if not found:
        return ""
    if len(found) > _MOST:
        text = f"{len(found)} data sets" if not noun else f"{found[0]} to {found[-1]}"
    else:
        text = f"{', '.join(found[:-1])} or {found[-1]}" if len(found) > 1 else found[0]
    return f"{text} {noun}".strip()
