"""How many images each part of a release has, so that a plan need not read what may be absent.

It stands here and not beside the sets, which need torch and are part of what every stored trial
depends on: trials read the data themselves. Sources are those that the sets' own modules name
(`data/sets`).
Evidence: `tests/benchmark/test_work.py` (against the sets that are at hand).
"""

from __future__ import annotations

from fractions import Fraction

_SIZES = {
    "cifar10": {"train": 50_000, "test": 10_000},
    "cifar100": {"train": 50_000, "test": 10_000},
    "digits": {"train": 600, "test": 500, "unlabeled": 697},
    "emnist": {"train": 112_800, "test": 18_800},
    "fashion-excerpt": {"train": 4_000, "test": 2_000, "unlabeled": 2_000},
    "fashion-mnist": {"train": 60_000, "test": 10_000},
    "mnist": {"train": 60_000, "test": 10_000},
    "photo-patches": {"unlabeled": 700},
    "stl10": {"train": 5_000, "test": 8_000, "unlabeled": 100_000},
    "tiny-imagenet": {"train": 100_000, "test": 10_000},
}
_SHARES = {
    "train-a": Fraction(1, 2),
    "train-b": Fraction(1, 2),
    "train-70": Fraction(7, 10),
    "train-30": Fraction(3, 10),
}
"""Of the training images; `selection.SHARES` says how they are drawn."""


def images_of(name: str, part: str) -> int | None:
    """Images in a part of a set; None for a set or a part of which nothing is known."""
    known = _SIZES.get(name)
    if known is None:
        return None
    if part in _SHARES:
        whole = known.get("train")
        return None if whole is None else round(whole * _SHARES[part])
    return known.get(part, known.get("train") if part == "unlabeled" else None)
