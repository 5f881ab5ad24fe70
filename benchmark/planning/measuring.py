"""Short trials that show what stored trials do not: of each kind one run, at two lengths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..config import RunConfig
from .estimate import Kind, TrialTimes, images_of, kind_of, work_of
from .looks_reached import with_starts
from .summary import Trial

LENGTHS = (1, 3)
"""Rounds, or epochs. The difference between the two is what rounds take, without the set-up."""
_PRETRAINING_IMAGES = 512
"""At most so many: an epoch of a whole set may take hours."""


def to_measure(runs: Iterable[RunConfig], known: TrialTimes) -> list[Trial]:
    """Short trials of each kind among `runs` of which nothing is known, after their starts."""
    cheapest: dict[Kind, RunConfig] = {}
    for run in sorted(runs, key=work_of, reverse=True):
        if known.seconds(run) is None:
            cheapest[kind_of(run)] = run
    short = (_shortened(run, rounds) for run in cheapest.values() for rounds in LENGTHS)
    return list(dict.fromkeys(trial for run in short for trial in with_starts(run, 0)))


def _shortened(run: RunConfig, rounds: int) -> RunConfig:
    loop = "rounds" if "rounds" in run.options else "epochs"
    options = {**run.options}
    if loop in options:
        options[loop] = min(options[loop], rounds)
    data, start = {**run.data}, run.start
    if run.stage == "pretraining":
        data["images"] = min(_PRETRAINING_IMAGES, round(images_of(run)))
    if start is not None:
        start = _shortened(start, 1)
    return replace(run, options=options, data=data, start=start)
