"""Analytic cells: printed values that follow from definitions, recomputed without training.

A formula is a function of the name that a spec gives as `formula`, from a cell to an `Analytic`.
"""

from .base import Analytic, judge_analytic, recompute, recomputed

__all__ = ["Analytic", "judge_analytic", "recompute", "recomputed"]
