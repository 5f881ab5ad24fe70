"""The spread of a cell by source of randomness, in Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping

from ..benchmark.judging.variance_by_source import SourceSpread, VarianceBySource
from ..benchmark.plain import as_plain
from .markdown_text import escape
from .writers.csv import escape as as_text

NAMES = {
    "everything": "everything",
    "pretraining": "encoder pre-training",
    "partition": "partition of the data",
    "weights": "initial weights",
    "participants": "clients of a round",
    "clusters": "starts of clusterings",
    "batches": "batches, views and the rest",
}
COLUMNS = (
    "paper", "profile", "on", "table", "row", "column", "metric", "unit", "source", "n", "mean",
    "sd", "sd_low_95", "sd_high_95", "share", "share_low_95", "share_high_95", "trials", "failed",
)  # fmt: skip


def markdown(found: VarianceBySource) -> str:
    """A heading, a line a source, and whether they add up."""
    on = "" if found.on is None else f" on {found.on}"
    unit = f" ({escape(found.unit)})" if found.unit else ""
    lines = [
        f"# {escape(found.paper)}, table {escape(found.table)}: "
        f"{escape('|'.join(found.row))}, {escape('|'.join(found.column))}",
        "",
        f"Profile {escape(found.profile)}{escape(on)}, {found.draws} draws of each source, all "
        "others held at trial 0.",
        "",
        f"| drawn anew | trials | mean{unit} | SD | 95 % | share of variance | 95 % |",
        "|---|---|---|---|---|---|---|",
        *(_row(one) for one in found.sources),
        _row(found.everything),
        "",
    ]
    if found.together is not None:
        low, high = found.together_interval or (None, None)
        lines.append(f"Shares sum to {found.together:.2f} ({low:.2f} to {high:.2f}). {found.says}")
    else:
        lines.append(found.says)
    failed = [(one, why) for one in (*found.sources, found.everything) for why in one.failed]
    lines += [f"- failed, {NAMES[one.source]}: {escape(why)}" for one, why in failed]
    return "\n".join(lines) + "\n"


def as_csv(found: VarianceBySource) -> str:
    """A header and a line a source."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    place = (found.table, "|".join(found.row), "|".join(found.column))
    names = (found.paper, found.profile, found.on, *place, found.metric, found.unit)
    for one in (*found.sources, found.everything):
        trials = " ".join("" if value is None else f"{value:.6g}" for value in one.trials)
        lines.writerow(
            (
                *map(as_text, names), one.source, _count(one), one.mean, one.sd,
                *(one.interval or (None, None)), one.share, *(one.share_interval or (None, None)),
                trials, as_text("; ".join(one.failed)),
            )
        )  # fmt: skip
    return text.getvalue()


def as_json(found: VarianceBySource) -> str:
    """All of it, a value a line."""
    return json.dumps(as_plain(found), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


FILES: Mapping[str, Callable[[VarianceBySource], str]] = {
    "variance.md": markdown,
    "variance.csv": as_csv,
    "variance.json": as_json,
}


def _row(one: SourceSpread) -> str:
    share = "" if one.share is None else f"{one.share:.0%}"
    cells = (NAMES[one.source], str(_count(one)), _number(one.mean), _number(one.sd))
    shares = (share, _range(one.share_interval, ".0%"))
    return "| " + " | ".join((*cells, _range(one.interval, ".2f"), *shares)) + " |"


def _count(one: SourceSpread) -> int:
    return sum(value is not None for value in one.trials)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _range(interval: tuple[float, float] | None, form: str) -> str:
    return "" if interval is None else f"{interval[0]:{form}} to {interval[1]:{form}}"
