"""Figures drawn by hand, measured on their paths."""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import pairwise

import pytest

from benchmark.results import Series
from reports import charts
from reports.frame import Axis
from reports.palette import PALETTE

Point = tuple[float, float]


def paths(drawn: str, colour: str) -> list[tuple[str, str]]:
    """Data and style of every path in a colour, in order."""
    found = re.findall(r'<path d="([^"]*)" (?:style|fill)="([^"]*)"', drawn)
    return [(data, style) for data, style in found if colour in style]


def points(data: str) -> list[Point]:
    pairs = re.findall(r"(-?[\d.]+) (-?[\d.]+)", data)
    return [(float(x), float(y)) for x, y in pairs]


def test_ticks_are_few_even_and_within_the_axis() -> None:
    draw = random.Random(0)
    for _ in range(500):
        values = [draw.uniform(-1, 1) * 10 ** draw.uniform(-4, 5) for _ in range(3)]
        axis = Axis.over(values)
        ticks = [at for at, _ in axis.ticks]
        steps = [b - a for a, b in pairwise(ticks)]
        assert 3 <= len(ticks) <= 8
        assert steps == pytest.approx([steps[0]] * len(steps))
        assert f"{steps[0]:.0e}"[0] in "125"
        assert axis.low <= min(ticks) <= max(ticks) <= axis.high
        assert axis.low < min(values) <= max(values) < axis.high
        assert [float(text.replace("−", "-")) for _, text in axis.ticks] == pytest.approx(ticks)


@pytest.mark.parametrize("value", [0.0, 7.0, -1e-9])
def test_an_axis_over_one_value_has_it_in_its_middle(value: float) -> None:
    axis = Axis.over([value])
    assert axis.low < value < axis.high
    assert (axis.low + axis.high) / 2 == pytest.approx(value)


@pytest.mark.parametrize("last", [1, 2, 9, 40, 300])
def test_rounds_are_whole_and_counted_from_one(last: int) -> None:
    texts = [text for _, text in Axis.over([1.0, float(last)], whole=True).ticks]
    assert texts[0] == "1"
    assert all(text.isdigit() and int(text) <= last for text in texts)
    assert len(texts) == len(set(texts)) <= 9


def test_a_curve_is_the_mean_and_its_band_the_range() -> None:
    trials = [([1.0, 2.0, 3.0], [0.0, 10.0, 30.0]), ([1.0, 2.0, 3.0], [20.0, 20.0, 30.0])]
    drawn = charts.curves(Series("curves", "", "", "", lines={"A": trials}))
    (band, _), (mean, _) = (
        one for one in paths(drawn, PALETTE[0]) if not one[0].startswith("M-7 0")
    )
    low, high = points(band)[:3], points(band)[:2:-1]
    line = points(mean)
    assert [x for x, _ in line] == [x for x, _ in low] == [x for x, _ in high]
    unit = (low[0][1] - high[0][1]) / 20  # y grows downwards
    for t, (least, middle, largest) in enumerate([(0, 10, 20), (10, 15, 20), (30, 30, 30)]):
        for place, value in ((low, least), (line, middle), (high, largest)):
            assert (low[0][1] - place[t][1]) / unit == pytest.approx(value, abs=0.1)


def test_a_run_of_one_round_is_drawn_as_a_point() -> None:
    for rounds, dotted in (([1.0], True), ([1.0, 2.0], False)):
        series = Series("curves", "", "", "", lines={"A": [(rounds, rounds)]})
        assert ("h0" in charts.curves(series)) == dotted


def test_a_large_mark_stands_at_the_mean_of_the_faint_ones() -> None:
    trials = [([0.0], [4.0]), ([2.0], [0.0]), ([1.0], [-1.0])]
    drawn = charts.scatter(Series("scatter", "", "x", "y", lines={"A": trials}))
    faint, large, key = (points(data) for data, _ in paths(drawn, PALETTE[0]))
    assert key == [(0, 0)]
    assert large[0] == pytest.approx(
        [sum(point[axis] for point in faint) / 3 for axis in (0, 1)], abs=0.11
    )


def test_more_series_than_colours_have_other_marks() -> None:
    lines = {f"method <{i}>": [([float(i)], [float(i)])] for i in range(2 * len(PALETTE) + 1)}
    drawn = charts.scatter(Series("scatter", "", "", "", lines=lines))
    first = [(data[-1], style) for data, style in paths(drawn, PALETTE[0])]
    assert [("z" in end, "square" in style) for end, style in first[:6:2]] == [
        (False, False), (False, True), (True, False),
    ]  # fmt: skip
    for label in lines:
        assert drawn.count(label.replace("<", "&lt;").replace(">", "&gt;")) == 1
        assert label not in drawn


def test_the_area_of_a_dot_is_the_number_of_images() -> None:
    series = Series("counts", "", "", "", matrix=[[2, 0, 8], [0, 18, 0]], groups=[0, 1])
    drawn = charts.counts(series)
    widths = {
        len(points(data)): float(re.findall(r"stroke-width:([\d.]+)", style)[0]) ** 2
        for colour in PALETTE[:2]
        for data, style in paths(drawn, colour)
    }
    assert len(paths(drawn, PALETTE[0])) == 2
    assert len(paths(drawn, PALETTE[1])) == 1
    assert sum(widths) == 1  # each of the three numbers occurs once
    sizes = sorted(
        float(width) ** 2 for width in re.findall(r"stroke-width:([\d.]+);stroke-linecap", drawn)
    )
    assert [size / sizes[0] for size in sizes] == pytest.approx([1, 4, 9], rel=0.05)


def test_boxes_cover_as_much_as_there_are_choices() -> None:
    matrix = [[0, 1, 1], [0, 0, 2], [0, 1, 2], [1, 1, 2]]  # rounds x clients
    drawn = charts.choices(Series("choices", "", "", "", matrix=matrix, groups=[0, 0, 1]))
    chosen = Counter(model for row in matrix for model in row)
    areas = {}
    for model in chosen:
        boxes = re.findall(r"h([\d.]+)v([\d.]+)h-", paths(drawn, PALETTE[model])[0][0])
        areas[model] = sum(float(width) * float(height) for width, height in boxes)
    total = sum(areas.values())
    for model, times in chosen.items():
        assert areas[model] / total == pytest.approx(times / 12, rel=0.01)
    assert [f"model {m}" in drawn for m in (1, 2, 3, 4)] == [True, True, True, False]
