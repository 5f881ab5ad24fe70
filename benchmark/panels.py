"""Figures as data: the panels that a figure spec asks for, taken from stored trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from benchmark.evidence import Evidence
from benchmark.plan import PlannedDrawing
from benchmark.results import Series
from benchmark.spec.types import Figure


def panels(
    figure: Figure, drawings: Sequence[PlannedDrawing], evidence: Evidence, unit: str | None
) -> tuple[Series, ...]:
    """The panels of one figure; runs without a finished trial are left out.

    unit: of the figure's metric; "%" shows fractions times 100.

    Raises `StoreError` if a trial's arrays are missing or damaged.
    """
    if figure.plot == "curves":
        return _curves(figure, drawings, evidence, unit)
    return tuple(
        panel for drawing in drawings if (panel := _matrix(figure, drawing, evidence)) is not None
    )


def _curves(
    figure: Figure, drawings: Sequence[PlannedDrawing], evidence: Evidence, unit: str | None
) -> tuple[Series, ...]:
    split = int(figure.options.get("split", 0))
    scale = 100.0 if unit == "%" else 1.0
    by_panel: dict[str, dict[str, list[tuple[list[float], list[float]]]]] = {}
    names: dict[str, None] = {}
    for drawing in drawings:
        if drawing.config is None:
            continue
        metric = drawing.run.metric or "accuracy"
        names[metric] = None
        curves = [
            record.metrics[metric]
            for record in evidence.records(drawing.config)
            if metric in record.metrics
        ]
        if curves:
            label = drawing.run.label
            lines = by_panel.setdefault(_title(drawing, label[:split]), {})
            lines[" | ".join(label[split:])] = [
                ([float(t) for t in curve.rounds], [scale * value for value in curve.values])
                for curve in curves
            ]
    y_label = " / ".join(names) + (f" ({unit})" if unit else "")
    return tuple(
        Series(
            kind="curves",
            title=title,
            x_label=str(figure.options.get("x_label", "round")),
            y_label=str(figure.options.get("y_label", y_label)),
            lines=lines,
        )
        for title, lines in by_panel.items()
    )


def _matrix(figure: Figure, drawing: PlannedDrawing, evidence: Evidence) -> Series | None:
    """Choices by round, or class counts, of one trial of one run."""
    name, kind, x_label, y_label = _PLOTS[figure.plot]
    seed = int(figure.options.get("trial", 0))
    record = None if drawing.config is None else evidence.record(drawing.config, seed)
    if record is None:
        return None
    arrays = evidence.store.load_arrays(record)
    if name not in arrays:
        return None
    groups = arrays["group"].tolist() if "group" in arrays else []
    return Series(
        kind=kind,
        title=_title(drawing, drawing.run.label),
        x_label=str(figure.options.get("x_label", x_label)),
        y_label=str(figure.options.get("y_label", y_label)),
        matrix=arrays[name].tolist(),
        groups=groups,
    )


def _title(drawing: PlannedDrawing, label: Sequence[str]) -> str:
    """The printed label; beside it what was really run, where that is something else."""
    printed, config = " | ".join(label), drawing.config
    if config is None or not drawing.departures:
        return printed
    count = (config.clients or {}).get("count", "?")
    ran = f"here {count} clients with {config.data['name']}"
    return f"{printed} ({ran})" if printed else ran


_PLOTS: Mapping[str, tuple[str, Literal["choices", "counts"], str, str]] = {
    "choices": ("choice", "choices", "round", "client"),
    "class-counts": ("class_counts", "counts", "client", "class"),
}
"""By plot: the array that it draws, the kind of series, and what its axes say."""
