"""Made-up tables with a known truth: rows by columns of trials that share their seeds."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Literal

import numpy as np

from fedrepro.benchmark.claims.answer import ClaimAnswer, Known, answer_claim
from fedrepro.benchmark.claims.nodes import Elementary
from fedrepro.benchmark.spec.model import Cell, Claim
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.stats.intervals import Floats
from fedrepro.benchmark.stats.pattern import Pattern

Noise = Literal["normal", "skewed", "all fall", "own falls"]
ROWS, COLUMNS, SPREAD, NOISE = 6, 4, 5.0, 3.0
FALLEN, DEPTH = 0.13, 5.0
"""Share of a method's trials that fall in all columns, and how far, in standard deviations."""


def noise(rng: np.random.Generator, kind: Noise, n: int, rows: int = ROWS) -> Floats:
    """Errors with mean zero; trials and methods share half of their variance. [rows, columns, n]"""

    def draw(*shape: int) -> Floats:
        return rng.exponential(size=shape) - 1 if kind == "skewed" else rng.normal(size=shape)

    parts = 0.5 * draw(1, COLUMNS, n) + 0.5 * draw(rows, 1, n) + 0.5**0.5 * draw(rows, COLUMNS, n)
    may_fall = np.arange(rows)[:, None, None] < (1 if kind == "own falls" else rows)
    falls = (rng.random((rows, 1, n)) < FALLEN) & may_fall & ("fall" in kind)
    return NOISE * (parts - DEPTH * (falls - FALLEN * (may_fall & ("fall" in kind))))


def prints(rng: np.random.Generator, rows: int = ROWS) -> Floats:
    """Printed values whose rows differ by some SPREAD. [rows, columns]"""
    return SPREAD * rng.normal(size=(rows, 1)) + rng.normal(size=(rows, COLUMNS))


def pattern(printed: Floats, trials: Floats) -> Pattern:
    """Values as a table whose rows are methods of their own."""
    rows = tuple(f"r{i}" for i in range(len(printed)))
    columns = tuple(f"c{i}" for i in range(printed.shape[1]))
    return Pattern(printed, np.full(printed.shape, 0.005), trials, rows, columns, rows)


def tables(
    count: int, n: int, slope: float, kind: Noise = "normal", seed: int = 0
) -> Iterator[Pattern]:
    """Tables whose true values are `slope` times the printed ones."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        printed = prints(rng)
        yield pattern(printed, slope * printed[..., None] + noise(rng, kind, n))


def own_against_all(
    printed: Sequence[float], trials: Floats, looks: tuple[int, ...] = ()
) -> ClaimAnswer:
    """The claim that the first of some methods is ahead of each other one. trials: [methods, n]"""
    leaves = [
        Cell(
            "p", "1", (f"m{i}",), ("c",), "empirical", "accuracy", "%",
            Printed(f"{value:.2f}", Decimal(f"{value:.2f}")), "final", {},
        )
        for i, value in enumerate(printed)
    ]  # fmt: skip
    comparisons = [Elementary(">", None, leaves[0], other, "%", "1") for other in leaves[1:]]
    values = {
        leaf.key: dict(enumerate(map(float, one))) for leaf, one in zip(leaves, trials, strict=True)
    }
    return answer_claim(Claim("c", "says", "holds"), comparisons, Known(values, looks=looks))
