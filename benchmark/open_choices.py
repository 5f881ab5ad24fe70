"""What a paper leaves open, as a report shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """An alternative of a choice.

    Attributes:
        is_taken: whether this report is under it.
        only_evaluates: whether it reads the same trials in another way.
        has_effect: no where it is taken and the profile or `--set` wins over all that it sets.
    """

    name: str
    taken: str
    why: str
    speaks: str
    is_taken: bool
    only_evaluates: bool
    has_effect: bool = True

    @property
    def state(self) -> str:
        """'taken', 'taken, without effect here' or nothing."""
        if not self.is_taken:
            return ""
        return "taken" if self.has_effect else "taken, without effect here"


@dataclass(frozen=True, slots=True)
class ChoiceResult:
    """Something that the paper leaves open and that can be run in more than one way.

    Attributes:
        table: the one that it is about, None for all.
        taken, why: what is taken unless a reading says otherwise.
    """

    name: str
    table: str | None
    setting: str
    taken: str
    why: str
    alternatives: tuple[ReadingResult, ...]
