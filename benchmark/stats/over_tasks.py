"""Methods over several tasks: how often one is better than another, and their mean ranks.

A trial of ours is the same clients and initial weights for every method, and often on several
tasks, which may even share a trained encoder. So all statistics are first taken within a trial,
over all tasks; intervals then come from the spread between trials, which hold whatever tasks have
in common. The stratified bootstrap of rliable (Agarwal et al. 2021) draws the trials of each task
apart: with tasks that share half of their spread its 95 % intervals covered 50 to 84 %
(`tests/benchmark/test_over_tasks.py` simulates both).

Few trials often agree wholly, and their spread is then zero. One trial in which all methods tie is
added to the interval (not to the number), as Agresti and Coull (1998) add trials to a proportion,
and the spread is at least that of one task that turned in one trial.

Tests over tasks are Demšar's (2006): Friedman for all methods, and Wilcoxon's signed ranks for
pairs, which unlike Nemenyi's do not depend on what else was compared (Benavoli et al. 2016). Both
are counted here: SciPy's own take a tenth of a second for each pair with ties.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .t_tests import t_quantile

Floats = NDArray[np.float64]
_EQUAL = 1e-9
"""Values that differ by less, relative to the largest, differ by rounding alone."""


def wins(values: Floats) -> Floats:
    """The share of tasks, by trial, on which one method is better than another.

    values: tasks x methods x trials, larger is better. Returns methods x methods x trials; a tie
    counts half, so w[i, j] + w[j, i] = 1, and w[i, i] is 1/2.
    """
    size = np.maximum(1.0, np.abs(values).max(axis=(1, 2), keepdims=True))
    difference = (values[:, :, None, :] - values[:, None, :, :]) / size[:, None]
    difference[np.abs(difference) <= _EQUAL] = 0.0
    share: Floats = (1 + np.sign(difference)).mean(axis=0) / 2
    return share


def ranks(won: Floats) -> Floats:
    """The mean rank over tasks of each method in each trial, from `wins`; 1 is always the best.

    A method's rank on a task is one more than the number of methods that are better, ties counting
    half. Returns methods x trials.
    """
    behind: Floats = won.sum(axis=0) + 0.5  # with itself a method ties, which is not to count
    return behind


def interval(
    by_trial: Floats, *, tasks: int, tie: float, low: float, high: float
) -> tuple[float, float]:
    """The 95 % interval of a mean over trials that lies between `low` and `high`.

    by_trial: means over `tasks` tasks, on each of which one method more or less behind is a step of
    1. tie: the value of the trial that is added, in which all methods are alike.

    Raises `ValueError` for fewer than two trials.
    """
    if by_trial.size < 2:
        raise ValueError("one trial has no spread")
    values = np.append(by_trial, tie)
    sd = max(float(values.std(ddof=1)), 1 / tasks / math.sqrt(values.size))
    half = t_quantile(0.975, by_trial.size) * sd / math.sqrt(values.size)
    mean = float(values.mean())
    return max(low, mean - half), min(high, mean + half)


def friedman(means: Floats) -> float | None:
    """P-value that tasks rank methods by chance alone; None for fewer than three methods.

    means: tasks x methods, over trials. With the correction for ties; chi-square, which is rough
    for few tasks.
    """
    from scipy import special

    n, k = means.shape
    if k < 3:
        return None
    ranked = np.stack([ranks(wins(row[None, :, None]))[:, 0] for row in means])
    spread = ((ranked - (k + 1) / 2) ** 2).sum()
    if spread == 0:
        return 1.0
    between = ((ranked.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    return float(special.chdtrc(k - 1, n**2 * (k - 1) * between / spread))


def signed_ranks(differences: Floats) -> float:
    """Two-sided p-value of Wilcoxon's signed ranks that differences are as often above as below 0.

    Exact, zeros left out and ties at their middle rank: of all ways to sign the ranks, the share
    that is as one-sided as these.
    """
    found = differences[np.abs(differences) > _EQUAL]
    size = np.abs(found)
    below = (size[:, None] > size[None, :] + _EQUAL).sum(axis=1)
    level = (np.abs(size[:, None] - size[None, :]) <= _EQUAL).sum(axis=1)
    twice = 2 * below + level + 1  # twice the middle rank: a whole number
    ways = np.ones(1)
    for rank in twice:
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    above = int(twice[found > 0].sum())
    least = min(above, int(twice.sum()) - above)
    return min(1.0, 2 * float(ways[: least + 1].sum() / ways.sum()))
