"""Headroom: by how much a probe on pre-trained features beats one on random features."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..config import chain
from ..data_names import title
from ..stats.intervals import Interval, t_interval
from .plan import PlannedCell

METRIC = "headroom"
Trials = Callable[[PlannedCell], Sequence[float]]


@dataclass(frozen=True)
class DataHeadroom:
    """What pre-training can be worth on the clients' data set, in the unit of its cell. `pixels`:
    what a probe on raw pixels reaches; None where trials are not stored."""

    data: str
    gain: Interval
    unit: str | None
    pixels: float | None = None

    @property
    def line(self) -> str:
        """`pre-training has 3.1 [2.0, 4.2] points of headroom on digits (...)`."""
        pixels = "" if self.pixels is None else f" (a probe on raw pixels has {self.pixels:.3g})"
        return f"pre-training has {self.said}{pixels}"

    @property
    def said(self) -> str:
        """`3.1 [2.0, 4.2] points of headroom on digits`."""
        form, noun = (".1f", "points of ") if self.unit == "%" else (".3f", "")
        return f"{self.gain.shown(form)} {noun}headroom on {title(self.data)}"


def measured(
    cells: Iterable[PlannedCell], trials: Trials, of_pixels: Trials
) -> dict[str, DataHeadroom]:
    """By the clients' data set, what trials of cells with that metric say, and raw pixels there."""
    found: dict[str, DataHeadroom] = {}
    for one in cells:
        if one.cell.metric == METRIC and (values := trials(one)):
            pixels = of_pixels(replace(one, cell=replace(one.cell, metric="probe_pixels")))
            mean = t_interval(pixels).mean if pixels else None
            room = DataHeadroom(data_of(one), t_interval(values), one.cell.unit, mean)
            found.setdefault(room.data, room)
    return found


def data_of(planned: PlannedCell) -> str:
    """The data set that clients learn from in a cell's run; empty where it has no run."""
    runs = list(chain(planned.config))
    trained = (one for one in runs if one.stage == "federated")
    return next((str(one.data["name"]) for one in (*trained, *runs)), "")
