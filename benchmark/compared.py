"""Methods of a paper over all tasks that they share, as a part of the report (`results.Report`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MethodRank:
    """A method among those compared: its mean rank over tasks and trials; 1 is always the best.

    rank_interval: 95 %, over trials.
    """

    method: tuple[str, ...]
    rank: float
    rank_interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Improvement:
    """Two methods over tasks: how often a trial of the first beats the same trial of the second.

    probability: 0.5 means as often better as worse; a tie counts half.
    interval: 95 %, over trials: what other trials on these tasks would give.
    tasks_better, tasks_worse: on how many tasks the first one's mean is better and worse.
    p: Wilcoxon's signed ranks over the tasks, two-sided, Holm over all pairs of the comparison.
    """

    better: tuple[str, ...]
    other: tuple[str, ...]
    probability: float
    interval: tuple[float, float]
    tasks_better: int
    tasks_worse: int
    p: float


@dataclass(frozen=True)
class MethodsCompared:
    """Methods that a paper compares on the same tasks, over all of them (docs/verdicts.md).

    tasks: table, column and metric of each.
    trials: that all of them have, paired by seed.
    methods: by mean rank, the best first. pairs: each pair once, the better-ranked method first.
    friedman_p: of the hypothesis that the tasks rank all methods alike by chance; None for two.
    left_out: tasks of the same methods whose trials are missing or failed, and why.
    scaled: whether a run behind it departs from the paper.
    """

    tasks: tuple[tuple[str, tuple[str, ...], str], ...]
    trials: int
    methods: tuple[MethodRank, ...]
    pairs: tuple[Improvement, ...]
    friedman_p: float | None
    left_out: tuple[str, ...]
    scaled: bool
