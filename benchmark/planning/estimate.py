"""How long trials take on this device, from trials that have been measured on it.

Where the run itself has stored trials, their mean counts. Else the trials of its kind are scaled by
work: the multiply-adds of all forward passes in training. The set-up of a trial shows where trials
of two lengths are stored.
Evidence: `tests/benchmark/test_estimate.py`; measured ratios are in `docs/commands.md`.
"""

import json
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache

from ...methods import registry
from ..config import RunConfig, Trial, chain, with_starts
from ..data_names import images_in
from ..store.store import TrialRecord

_UNKNOWN_IMAGES = 50_000  # between trials of one set the number cancels out
_ORDERING_S = 1.0, 5e-11
"""Seconds of a set-up and of a multiply-add, for trials of which nothing has been measured."""
LENGTHS = (1, 3)
"""Rounds, or epochs, of short trials. Their difference is what rounds take, without the set-up."""
_PRETRAINING_IMAGES = 512
"""At most so many in a short trial: an epoch of a whole set may take hours."""

RunKind = tuple[str, str, str, str, int, str]
"""Stage, method, objective, name of the encoder, image size, precision."""


@dataclass(frozen=True)
class Estimate:
    """How long missing trials take with `workers` on `device`.

    `seconds`: of the trials of whose kind something has been measured. `trials`: how many are
    missing. `own`: those estimated from stored trials of the same run. `unmeasured`: by kind of
    run, those that no stored trial says anything about. `longest`: the run with the longest trial,
    and its seconds; None where nothing is measured."""

    seconds: float
    trials: int
    own: int
    unmeasured: Mapping[RunKind, int]
    workers: int
    device: str
    longest: tuple[RunConfig, float] | None

    @property
    def left(self) -> int:
        return sum(self.unmeasured.values())

    @property
    def said(self) -> str:
        if self.longest is None:
            return "no time has been measured yet"
        more = f", and {self.left} trials of unmeasured kinds" if self.left else ""
        return f"about {duration(self.seconds)}{more}"

    def lines(self) -> Iterator[str]:
        """For a reader: the time, what it is made from, and the longest trial."""
        if self.longest is not None:
            (run, seconds), known = self.longest, self.trials - self.left
            slots = f"{self.workers} process{'es' * (self.workers != 1)} on {self.device}"
            yield (
                f"about {duration(self.seconds)} for {known} trials with {slots}: {self.own} by "
                f"stored trials of the same run, {known - self.own} by those of their kind, "
                "scaled by multiply-adds (expect a factor of up to 3)"
            )
            yield f"longest trial: about {duration(seconds)}, {run.key} ({run.description})"
        if self.left:
            yield (
                f"time unknown of {self.left} trials of {len(self.unmeasured)} kinds: nothing like "
                f"them is stored that ran on {self.device}; `--measure` trains short trials of each"
            )


class TrialTimes:
    """Estimated wall seconds of trials on one device.

    `device`: the name of the hardware, as trials record it. `records`: stored trials; those of
    other devices are left out. `workers`: how many processes train at once."""

    def __init__(self, device: str, records: Iterable[TrialRecord] = (), workers: int = 1) -> None:
        self._device, self._workers = device, workers
        self._own = defaultdict[str, list[float]](list)
        self._kinds = defaultdict[RunKind, dict[float, list[float]]](lambda: defaultdict(list))
        for record in records:
            wall_s = record.provenance.get("wall_s")
            if wall_s is not None and record.provenance.get("device") == device:
                self._own[record.run].append(float(wall_s))
                # A config that an older version or a missing plugin made cannot be counted.
                with suppress(Exception):
                    config = RunConfig.from_dict(record.config)
                    self._kinds[kind_of(config)][work_of(config)].append(float(wall_s))

    def _measured(self, config: RunConfig) -> list[tuple[float, float]]:
        """Of its kind, pairs of work and mean seconds, rising in work."""
        by_work = self._kinds.get(kind_of(config), {})
        return sorted((work, statistics.mean(walls)) for work, walls in by_work.items())

    def seconds(self, config: RunConfig) -> float | None:
        """Of one trial of `config`; None where nothing of its kind has been measured."""
        if config.key in self._own:
            return statistics.mean(self._own[config.key])
        measured = self._measured(config)
        return _scaled(measured, work_of(config)) if measured else None

    def ordering(self, config: RunConfig) -> float:
        """Seconds to put trials in order by; a guess where nothing has been measured."""
        known, (set_up, step) = self.seconds(config), _ORDERING_S
        return set_up + step * work_of(config) if known is None else known

    def longest(self, config: RunConfig) -> float | None:
        """Seconds of the longest trial of the kind of `config`, smaller ones scaled to its work.
        None where no trial of its kind is stored."""
        if measured := self._measured(config):
            return max(wall_s * max(1.0, work_of(config) / work) for work, wall_s in measured)
        return max(self._own.get(config.key, ()), default=None)

    def of(self, missing: Iterable[Trial]) -> Estimate | None:
        """The time for trials, each counted once; None where there are none."""
        runs = [run for run, _ in dict.fromkeys(missing)]
        if not runs:
            return None
        each = {run: self.seconds(run) for run in dict.fromkeys(runs)}
        known = {run: seconds for run, seconds in each.items() if seconds is not None}
        return Estimate(
            seconds=elapsed([(run, known[run]) for run in runs if run in known], self._workers),
            trials=len(runs),
            own=sum(run.key in self._own for run in runs),
            unmeasured=Counter(kind_of(run) for run in runs if run not in known),
            workers=self._workers,
            device=self._device,
            longest=max(known.items(), key=lambda one: one[1], default=None),
        )

    def to_measure(self, runs: Iterable[RunConfig]) -> list[Trial]:
        """Short trials of each kind among `runs` of which nothing is known, after their starts. Of
        each kind it is the cheapest run, at two lengths."""
        unknown = [run for run in runs if self.seconds(run) is None]
        cheapest = {kind_of(run): run for run in sorted(unknown, key=work_of, reverse=True)}
        short = (_shortened(run, rounds) for run in cheapest.values() for rounds in LENGTHS)
        return list(dict.fromkeys(trial for run in short for trial in with_starts(run, 0)))


def _shortened(run: RunConfig, rounds: int) -> RunConfig:
    loop = "rounds" if "rounds" in run.options else "epochs"
    options, data = {**run.options}, {**run.data}
    if loop in options:
        options[loop] = min(options[loop], rounds)
    if run.stage == "pretraining":
        data["images"] = min(_PRETRAINING_IMAGES, round(images_of(run)))
    start = None if run.init_from is None else _shortened(run.init_from, 1)
    return replace(run, options=options, data=data, init_from=start)


def _scaled(measured: list[tuple[float, float]], work: float) -> float:
    """Seconds at `work` from pairs of work and seconds, rising in work."""
    (least, shortest), (most, longest) = measured[0], measured[-1]
    near, seconds = min(measured, key=lambda one: abs(math.log(one[0] / work)))
    if least == most:
        return seconds * work / near
    slope = max(0.0, (longest - shortest) / (most - least))
    return max(seconds + slope * (work - near), seconds * min(1.0, work / near))


def kind_of(config: RunConfig) -> RunKind:
    """Trials of one kind differ in how much they compute, and hardly in how."""
    objective = config.objective["name"] if config.objective else ""
    encoder, size = config.encoder["name"], config.data["image_size"]
    return config.stage, config.method, objective, encoder, size, config.precision


def work_of(config: RunConfig) -> float:
    """Multiply-adds of the forward passes in training, at least one image's."""
    options, passes = config.options, 1.0
    if config.stage != "costs":
        epochs = options.get("epochs", 1)
        if "local_epochs" in options:
            epochs = options["rounds"] * (options["local_epochs"] + options.get("server_epochs", 0))
        seen = options.get("participation", 1.0) * options.get("label_share", 1.0)
        passes = max(1.0, images_of(config) * seen * epochs)
    encoder = json.dumps(config.encoder, sort_keys=True)
    return passes * _multiply_adds(encoder, config.data["channels"], config.data["image_size"])


def images_of(config: RunConfig) -> float:
    """Training images of all clients, or of the one set."""
    data, clients = config.data, config.clients or {}
    if "counts" in clients:
        images = sum(map(sum, clients["counts"]))
    elif "samples" in clients:
        images = clients["count"] * clients["samples"]
    elif "major" in clients:
        images = clients["count"] * (clients["n_major"] * clients["major"] + clients["minor"])
    else:
        images = data["images"] or images_in(data["name"], data["part"]) or _UNKNOWN_IMAGES
    more = images_in(data["name"], "unlabeled") or 0 if data.get("unlabeled_part") else 0
    return float(images + min(more, data["images"] or more))


@cache
def _multiply_adds(encoder: str, channels: int, size: int) -> int:
    # What computes is imported when it is needed: `fedrepro list` says no time.
    from ...methods.costs.model_costs import network_cost

    options = json.loads(encoder)
    network = registry.make("encoder", options["name"], options).build(channels, size)
    return max(1, network_cost(network, channels, size, size).multiply_adds)


def elapsed(trials: Sequence[tuple[RunConfig, float]], workers: int) -> float:
    """Wall seconds of trials (run, seconds) on `workers` processes: at least the longest chain."""
    own = dict(trials)
    longest = max((sum(own.get(one, 0.0) for one in chain(run)) for run in own), default=0.0)
    return max(sum(seconds for _, seconds in trials) / max(workers, 1), longest)


def duration(seconds: float) -> str:
    """Seconds as people say them: '8 s', '7 min', '2.5 h', '3 days'."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    if seconds < 3570:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.0f} days"
