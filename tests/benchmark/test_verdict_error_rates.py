"""The verdicts' error rates, by simulation: at the margin's edge REPRODUCED may come up in at most
5 % of tables, and DISCREPANT in at most 5 % of tables for any of their cells."""

import numpy as np
import pytest

from fedrepro.benchmark.judging.published_value import published_values
from fedrepro.benchmark.judging.verdicts import JudgedCell, judge_table
from fedrepro.benchmark.spec.printed import Printed

SIZES = [400, pytest.param(10_000, marks=pytest.mark.slow)]


def limit(tables):
    """5 %, and the 99.8 % Monte-Carlo bound above it."""
    return 0.05 + 2.9 * np.sqrt(0.05 * 0.95 / tables)


def printed(rng, true, sd, runs, digits):
    """What a paper prints of `runs` trials: the mean, and an SD with ddof 0 where runs > 1."""
    draws = rng.normal(true, sd, runs)
    text = f"{draws.mean():.{digits}f}"
    return text if runs == 1 else f"{text} ± {draws.std():.{max(digits, 2)}f}"


def rate(word, tables, cell=None, *, offsets, margin, sds=(0.5,), runs=1, n=5, digits=6):
    """How often simulated tables have the word, or one cell of theirs; our true means lie `offsets`
    from the paper's."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(tables):
        texts = [printed(rng, 70.0, sd, runs, digits) for sd in sds]
        sides = published_values([Printed.parse(text) for text in texts], ddof=0, runs=runs)
        trials = [
            tuple(rng.normal(70.0 + offset, sd, n)) for offset, sd in zip(offsets, sds, strict=True)
        ]
        cells = [JudgedCell(side, one, margin) for side, one in zip(sides, trials, strict=True)]
        found = [verdict.word for verdict in judge_table(cells)]
        hits += (word in found) if cell is None else (found[cell] == word)
    return hits / tables


@pytest.mark.parametrize("tables", SIZES)
@pytest.mark.parametrize("beyond", [1.0, 1.3])
@pytest.mark.parametrize("digits", [6, 1, 0])
@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("runs", [1, 5])
def test_reproduced_at_or_beyond_the_margins_edge_is_rare(runs, n, digits, beyond, tables):
    table = {"offsets": [3.0 * beyond], "margin": 3.0, "runs": runs, "n": n, "digits": digits}
    assert rate("REPRODUCED", tables, cell=0, **table) <= limit(tables)


def test_reproduced_at_the_edge_is_not_rarer_than_it_need_be():
    found = rate("REPRODUCED", 4000, cell=0, offsets=[9.0], margin=9.0)
    assert found == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize("tables", SIZES)
@pytest.mark.parametrize("noisier", [1.5, 2.0])
def test_pooling_published_spreads_keeps_the_error_rate_of_the_noisiest_cell(noisier, tables):
    sds = [0.5] * 4 + [0.5 * noisier]
    table = {"offsets": [0, 0, 0, 0, 9.0], "margin": 9.0, "sds": sds, "runs": 5, "n": 10}
    assert rate("REPRODUCED", tables, cell=4, **table) <= limit(tables)


@pytest.mark.parametrize("tables", SIZES)
@pytest.mark.parametrize("margin", [0.05, 0.5, 3.0])
@pytest.mark.parametrize(("runs", "n"), [(1, 3), (1, 5), (5, 5), (5, 10)])
def test_discrepant_anywhere_in_a_table_with_cells_at_the_edge_is_rare(runs, n, margin, tables):
    table = {"offsets": [margin, -margin, margin, -margin, margin], "sds": [0.5] * 5}
    table |= {"margin": margin, "runs": runs, "n": n, "digits": 1}
    assert rate("DISCREPANT", tables, **table) <= limit(tables)


def test_a_true_reproduction_and_a_true_discrepancy_are_found():
    table = {"sds": [0.3], "runs": 5, "digits": 2, "margin": 2.0}
    assert rate("REPRODUCED", 300, cell=0, offsets=[0.2], **table) > 0.99
    assert rate("DISCREPANT", 300, cell=0, offsets=[4.0], **table) > 0.99
