from __future__ import annotations

from collections import Counter
from fractions import Fraction

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrepro.benchmark.data.selection import mixed_order, share, subset

class_lists = st.lists(st.integers(0, 4), min_size=1, max_size=80)


@settings(max_examples=60, deadline=None)
@given(class_lists)
def test_every_beginning_has_the_classes_of_the_whole(classes: list[int]) -> None:
    labels = torch.tensor(classes)
    order = mixed_order(len(labels), labels, "x")
    assert sorted(order.tolist()) == list(range(len(labels)))
    sizes = Counter(classes)
    for m in range(1, len(labels) + 1):
        got = Counter(labels[order[:m]].tolist())
        # Some fraction t exists such that every class has t of its images, rounded.
        lowest = max(Fraction(2 * got[c] - 1, 2 * n) for c, n in sizes.items())
        highest = min(Fraction(2 * got[c] + 1, 2 * n) for c, n in sizes.items())
        assert lowest <= highest


@settings(max_examples=40, deadline=None)
@given(class_lists, st.booleans(), st.booleans())
def test_shares_are_disjoint_and_complete(classes: list[int], labelled: bool, halves: bool) -> None:
    n, labels = len(classes), torch.tensor(classes) if labelled else None
    parts = ("train-a", "train-b") if halves else ("train-70", "train-30")
    first, second = (share(part, n, labels, "x").tolist() for part in parts)
    assert sorted(first + second) == list(range(n))
    assert len(first) == ((n + 1) // 2 if halves else round(0.7 * n))


def test_larger_subsets_hold_smaller_ones() -> None:
    labels = torch.arange(10).repeat(20)
    small, large = (set(subset(200, labels, n, "x").tolist()) for n in (30, 90))
    assert small < large


def test_orders_are_fixed_but_differ_by_name() -> None:
    torch.manual_seed(5)
    assert torch.equal(mixed_order(50, None, "a"), mixed_order(50, None, "a"))
    assert not torch.equal(mixed_order(50, None, "a"), mixed_order(50, None, "b"))
    labels = torch.arange(5).repeat(10)
    assert not torch.equal(mixed_order(50, labels, "a"), mixed_order(50, labels, "b"))
