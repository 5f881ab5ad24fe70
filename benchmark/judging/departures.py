"""The departures of a table's cells, each once."""

from __future__ import annotations

from collections.abc import Iterable

from fedrepro.benchmark.results import Departure


class Numbered:
    """Departures in the order in which they come up; cells name them by position.

    Most are one object in thousands of cells, and looked up as that: four texts are slow to hash.
    """

    def __init__(self) -> None:
        self._positions: dict[Departure, int] = {}
        self._known: dict[int, tuple[int, Departure]] = {}

    @property
    def all(self) -> tuple[Departure, ...]:
        """Those that have come up."""
        return tuple(self._positions)

    def positions(self, departures: Iterable[Departure]) -> tuple[int, ...]:
        """Where departures stand among `all`, which they join."""
        return tuple(map(self._position, departures))

    def _position(self, departure: Departure) -> int:
        known = self._known.get(id(departure))
        if known is None:
            position = self._positions.setdefault(departure, len(self._positions))
            # With the departure itself, so that no other object can have its identity.
            known = self._known[id(departure)] = position, departure
        return known[0]
