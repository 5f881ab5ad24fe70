"""Headroom: by how much a probe on pre-trained features beats one on random features."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..config import chain
from ..data_names import title
from ..stats.intervals import Interval, t_interval
from .plan import PlannedCell

METRIC, PIXELS = "headroom", "probe_pixels"


@dataclass(frozen=True)
class DataHeadroom:
    """What pre-training can be worth on the clients' data set, in the unit of its cell."""

    data: str
    gain: Interval
    unit: str | None
    pixels: float | None = None
    """What a probe on raw pixels reaches; None where that was not measured."""

    @property
    def said(self) -> str:
        """`3.1 [2.0, 4.2] points of headroom on digits`."""
        form, noun = (".1f", "points of ") if self.unit == "%" else (".3f", "")
        return f"{self.gain.shown(form)} {noun}headroom on {title(self.data)}"


def measured(
    cells: Iterable[PlannedCell], trials: Callable[[PlannedCell], Sequence[float]]
) -> dict[str, DataHeadroom]:
    """By the clients' data set, the headroom that trials of cells with that metric say."""
    found: dict[str, DataHeadroom] = {}
    pixels: dict[str, float] = {}
    for one in cells:
        if one.config is None or one.cell.metric not in (METRIC, PIXELS):
            continue
        data, values = data_of(one), trials(one)
        if values and one.cell.metric == PIXELS:
            pixels[data] = t_interval(values).mean
        elif values:
            found.setdefault(data, DataHeadroom(data, t_interval(values), one.cell.unit))
    return {data: replace(one, pixels=pixels.get(data)) for data, one in found.items()}


def data_of(planned: PlannedCell) -> str:
    """The data set that clients learn from in a cell's run; empty where it has no run."""
    runs = list(chain(planned.config))
    trained = (one for one in runs if one.stage == "federated")
    return next((str(one.data["name"]) for one in (*trained, *runs)), "")
