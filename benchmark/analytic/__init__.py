"""Analytic cells: printed values that follow from definitions, recomputed without training.

One formula a file, found by the name that a spec gives as `formula`; its function `recompute`
takes a cell and returns an `Analytic`.
"""

from .base import Analytic, judge_analytic, recompute, recomputed

__all__ = ["Analytic", "judge_analytic", "recompute", "recomputed"]
