"""Draws what a paper's headline comparisons come to, against the headroom of the data.

    python -m tools.headroom PAPER [--jobs N]

Trains the tables of the headline claims under the profile `headroom`, on its own data and on other
sets, and measures the headroom there. Trials are kept in results/store. Writes
results/headroom/PAPER.json, docs/headroom-PAPER.svg and the part of docs/calibration.md between the
marks. `--drawn` trains nothing and draws from the file.
"""

import argparse
import io
import json
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

import fedrepro
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.stats.intervals import Interval, t_interval
from tools.found import filled, interval_text, without_columns

ROOT = Path(__file__).parent.parent
PLACEBO = "noise"
INK, PLACEBO_INK, PRINT_INK = "#3b6fb6", "#b0487f", "#565f68"


@dataclass(frozen=True)
class Measured:
    """One comparison on one data set: differences and headroom by trial, in points."""

    claim: str
    text: str
    printed: float
    data: str
    headroom: list[float]
    differences: list[float]


def measure(paper: str, jobs: int | None) -> Iterator[Measured]:
    """Trains what is missing, on the profile's own data set and on the others."""
    spec = load_paper(paper)
    rule = tomllib.loads((ROOT / f"tools/calibration/{paper}.toml").read_text("utf-8"))
    headlines = [
        (table.id, claim.id) for table in spec.tables for claim in table.claims if claim.headline
    ]
    for on in (None, *rule["headroom_on"]):
        how = {"on": on, "jobs": jobs}
        tables = list(dict.fromkeys(table for table, _ in headlines))
        report = fedrepro.run(paper, "headroom", tables=tables, **how).report
        room = next(c for c in report.controls[0].cells if c.metric == "headroom" and c.trials)
        name = on or str(spec.profiles["headroom"].data)
        for table in report.tables:
            for claim in (one for one in table.claims if (table.id, one.id) in headlines):
                for one in claim.comparisons:
                    printed = float(Decimal(one.published_left) - Decimal(one.published_right))
                    rooms = [value for value in room.trials if value is not None]
                    yield Measured(claim.id, one.text, printed, name, rooms, list(one.differences))


def picture(found: list[Measured]) -> bytes:
    """A panel for each comparison, as SVG: the same bytes for the same numbers."""
    texts = list(dict.fromkeys(one.text for one in found))
    with rc_context({"svg.hashsalt": "fedrepro", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(4.2 * len(texts), 3.6), layout="constrained")
        for axes, text in zip(figure.subplots(1, len(texts), squeeze=False)[0], texts, strict=True):
            here = [one for one in found if one.text == text]
            # Labels of neighbours stand above and below their points, so that they do not meet.
            for i, one in enumerate(sorted(here, key=lambda one: sum(one.differences))):
                room, ours = t_interval(one.headroom), t_interval(one.differences)
                ink = PLACEBO_INK if one.data == PLACEBO else INK
                axes.errorbar(
                    room.mean, ours.mean, xerr=_arm(room), yerr=_arm(ours), fmt="o", color=ink
                )
                place = room.mean, ours.mean
                axes.annotate(
                    one.data,
                    place,
                    (-4, 4 if i % 2 else -4),
                    textcoords="offset points",
                    ha="right",
                    va="bottom" if i % 2 else "top",
                    color=ink,
                )
                axes.axhline(one.printed, color=PRINT_INK, linestyle="--", linewidth=1)
            axes.margins(x=0.35)
            axes.axhline(0, color=PRINT_INK, linewidth=0.5)
            axes.set(
                title=without_columns(text),
                xlabel="headroom of the data, points",
                ylabel="difference, points",
            )
        content = io.BytesIO()
        figure.savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()


def _arm(interval: Interval) -> float:
    return 0.0 if interval.high is None else interval.high - interval.mean


def table(found: list[Measured]) -> Iterator[str]:
    """The numbers of the picture."""
    yield "| comparison | printed | data | headroom | difference here |"
    yield "|---|---|---|---|---|"
    for one in found:
        text = without_columns(one.text).replace("|", "\\|")
        place = f"`{one.data}`" + (" (placebo)" if one.data == PLACEBO else "")
        rooms, ours = interval_text(one.headroom), interval_text(one.differences)
        yield f"| {text} | {one.printed:.1f} | {place} | {rooms} | {ours} |"


def main() -> None:
    """Measures or reads, and writes file, picture and table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paper")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--drawn", action="store_true")
    given = parser.parse_args()
    path = ROOT / "results/headroom" / f"{given.paper}.json"
    if given.drawn:
        found = [Measured(**one) for one in json.loads(path.read_text("utf-8"))]
    else:
        found = list(measure(given.paper, given.jobs))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", "utf-8")
    (ROOT / "docs" / f"headroom-{given.paper}.svg").write_bytes(picture(found))
    page = ROOT / "docs/calibration.md"
    marks = f"headroom {given.paper}"
    page.write_text(filled(page.read_text("utf-8"), table(found), marks), "utf-8")


if __name__ == "__main__":
    main()
