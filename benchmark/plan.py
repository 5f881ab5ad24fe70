"""The plan: which unique runs stand behind the cells of a paper under a profile."""

from __future__ import annotations

from dataclasses import dataclass

from benchmark.config import RunConfig
from benchmark.results import Departure
from benchmark.spec.types import Cell, Paper, Profile, Read


@dataclass(frozen=True)
class PlannedCell:
    """A cell and the run that it reads.

    config: None for cells that need no training or cannot be run, `reason` then says why. read:
    the cell's reading after the profile's overrides (T = 25 may be read at round 5).
    departures: how the run differs from the published protocol; none means not scaled.
    """

    cell: Cell
    config: RunConfig | None
    reason: str | None
    read: Read
    departures: tuple[Departure, ...]


@dataclass(frozen=True)
class Plan:
    """What will be run. runs: unique, every run after those that it starts from."""

    paper: Paper
    profile: Profile
    on: str | None
    trials: int
    cells: tuple[PlannedCell, ...]
    runs: tuple[RunConfig, ...]

    def seeds(self, config: RunConfig) -> tuple[int, ...]:
        """The trials of a run: fewer where every later run starts from one and the same trial."""
        later = [run for run in self.runs if run.start == config]
        read = any(cell.config == config for cell in self.cells)
        if read or not later or any(run.start_trial is None for run in later):
            return tuple(range(self.trials))
        return tuple(sorted({run.start_trial for run in later if run.start_trial is not None}))
