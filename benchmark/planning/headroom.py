"""Headroom: by how much a probe on pre-trained features beats one on random features."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..config import chain
from ..data_names import title
from ..stats.intervals import Interval, t_interval
from .plan import PlannedCell

METRIC = "headroom"
PROBES = ("probe_random", "probe_pretrained", "probe_pixels")
_ON = ("random features", "pre-trained ones", "raw pixels")
Trials = Callable[[PlannedCell], Sequence[float]]


@dataclass(frozen=True)
class DataHeadroom:
    """What pre-training can be worth on the clients' data set, in the unit of its cell. `probes`:
    what those of `PROBES` reach; empty unless trials of all three are stored."""

    data: str
    gain: Interval
    unit: str | None
    probes: tuple[float, ...] = ()

    @property
    def line(self) -> str:
        """`pre-training has 3.1 [2.0, 4.2] points of headroom on digits (...)`."""
        each = ", ".join(f"{n:.3g} on {on}" for n, on in zip(self.probes, _ON, strict=False))
        unit = f", in {self.unit}" if self.unit else ""
        return f"pre-training has {self.said}" + f" (probes have {each}{unit})" * bool(self.probes)

    @property
    def said(self) -> str:
        """`3.1 [2.0, 4.2] points of headroom on digits`."""
        form, noun = (".1f", "points of ") if self.unit == "%" else (".3f", "")
        return f"{self.gain.shown(form)} {noun}headroom on {title(self.data)}"


def measured(
    cells: Iterable[PlannedCell], trials: Trials, of_probes: Trials
) -> dict[str, DataHeadroom]:
    """By the clients' data set, what trials of cells with that metric say, and its probes."""
    found: dict[str, DataHeadroom] = {}
    for one in cells:
        if one.cell.metric == METRIC and (values := trials(one)):
            each = [of_probes(replace(one, cell=replace(one.cell, metric=name))) for name in PROBES]
            means = tuple(t_interval(reached).mean for reached in each) if all(each) else ()
            room = DataHeadroom(data_of(one), t_interval(values), one.cell.unit, means)
            found.setdefault(room.data, room)
    return found


def data_of(planned: PlannedCell) -> str:
    """The data set that clients learn from in a cell's run; empty where it has no run."""
    runs = sorted(chain(planned.config), key=lambda run: run.stage != "federated")
    return next((str(one.data["name"]) for one in runs), "")
