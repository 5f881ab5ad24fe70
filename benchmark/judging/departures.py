"""The departures of a table's cells, each once."""

from __future__ import annotations

from collections.abc import Iterable

from fedrepro.benchmark.results import Departure


class DepartureTable:
    """Departures in the order in which they come up; cells name them by position."""

    def __init__(self) -> None:
        self._positions: dict[Departure, int] = {}

    @property
    def all(self) -> tuple[Departure, ...]:
        """Those that have come up."""
        return tuple(self._positions)

    def positions(self, departures: Iterable[Departure]) -> tuple[int, ...]:
        """Where departures stand among `all`, which they join."""
        return tuple(self._positions.setdefault(one, len(self._positions)) for one in departures)
