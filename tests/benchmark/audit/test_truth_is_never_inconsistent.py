from collections.abc import Iterable
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from fedrepro.benchmark.audit.checks import (
    best_round,
    claims,
    granularity,
    mean_and_sd,
    relations,
    repeats,
    same_experiment,
)
from fedrepro.benchmark.spec.model import Cell, Claim, Paper, Relation
from tests.benchmark.audit import small_paper
from tests.benchmark.audit.small_paper import (
    cell,
    on_clients,
    paper,
    printed,
    rows,
    rules,
    statuses,
)

places = st.integers(0, 3)
# Thousandths hit ties of every coarser print, where rounding rules differ.
shares = st.integers(0, 100_000).map(lambda n: Fraction(n, 1000))


@settings(deadline=None)
@given(st.lists(shares, min_size=2, max_size=6), places, places, st.sampled_from([0, 1]), rules)
def test_mean_and_sd_of_true_trials(
    trials: list[Fraction], digits: int, result_digits: int, ddof: int, rule: str
) -> None:
    cells = small_paper.trials([printed(x, digits, rule) for x in trials])
    result = small_paper.mean_and_sd(trials, ddof, result_digits, rule)
    found = mean_and_sd.check(paper(*cells, cell(result, column="mean")))
    assert statuses(found) == {"consistent"}


@settings(deadline=None)
@given(
    st.integers(1, 40), st.integers(1, 60), st.data(), st.integers(0, 2), st.integers(1, 3), rules
)
def test_accuracies_of_whole_images(
    clients: int, size: int, data: st.DataObject, digits: int, runs: int, rule: str
) -> None:
    steps = clients * size * runs
    ks = data.draw(st.lists(st.integers(0, steps), min_size=1, max_size=12))
    spread = " ± 0.1" if runs > 1 else ""
    texts = [printed(Fraction(100 * k, steps), digits, rule) + spread for k in ks]
    known = {"count": clients, "test_size": size}
    for setting, possible in ((known, {"consistent"}), ({}, {"consistent", "undecidable"})):
        made = paper(*on_clients(texts, setting), runs=runs if runs > 1 else None)
        assert statuses(granularity.check(made)) <= possible


@settings(deadline=None)
@given(st.lists(st.tuples(shares, places, places), min_size=1, max_size=6), rules)
def test_one_experiment_printed_twice(values: list[tuple[Fraction, int, int]], rule: str) -> None:
    cells = [
        cell(printed(value, digits, rule), row=f"{i}", table=table)
        for i, (value, first, second) in enumerate(values)
        for table, digits in (("1", first), ("2", second))
    ]
    assert statuses(same_experiment.check(paper(*cells))) == {"consistent"}


@settings(deadline=None)
@given(st.lists(shares, min_size=2, max_size=5), st.lists(places, min_size=6, max_size=6), rules)
def test_best_of_several_rounds(rounds: list[Fraction], digits: list[int], rule: str) -> None:
    cells = [
        cell(printed(value, digits[i], rule), column=f"{i}", at=i + 1)
        for i, value in enumerate(rounds)
    ]
    best = cell(printed(max(rounds), digits[5], rule), column="best", at="best")
    assert statuses(best_round.check(paper(*cells, best))) == {"consistent"}


@settings(deadline=None)
@given(shares, shares, places, places, places, rules)
def test_true_statements_of_a_text(
    a: Fraction, b: Fraction, digits: int, other: int, stated: int, rule: str
) -> None:
    high, low = max(a, b), min(a, b)
    cells = rows({"A": printed(high, digits, rule), "B": printed(low, other, rule)})
    said = [f"'A' - 'B' = {printed(high - low, stated, rule)}"]
    if high > low:
        said += ["'A' > 'B'", "'B' < 'A'"]
    if low:
        said.append(f"'A' / 'B' = {printed(high / low, stated, rule)}")
    made = [Claim(f"c{i}", "s", holds) for i, holds in enumerate(said)]
    assert "inconsistent" not in statuses(claims.check(paper(*cells, claims=made)))


@settings(deadline=None)
@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=5), st.integers(0, 4), rules)
def test_quantities_tied_by_a_formula(sizes: list[int], digits: int, rule: str) -> None:
    def cells() -> Iterable[Cell]:
        for i, size in enumerate(sizes):
            for column, value in (("size", Fraction(size)), ("bits", Fraction(size) * 32 / 3)):
                scaled = value / 10**digits
                yield cell(printed(scaled, 1, rule), row=f"{i}", column=column, unit="")

    tied = Relation("r", "s", "'{row}' at 'bits' = '{row}' at 'size' * 32 / 3")
    found = list(relations.check(paper(*cells(), relations=[tied])))
    assert len(found) == len(sizes)
    assert statuses(found) == {"consistent"}


@settings(deadline=None)
@given(st.lists(shares, min_size=1, max_size=8), rules)
def test_equal_rows_are_only_pointed_at(values: list[Fraction], rule: str) -> None:
    made: Paper = paper(
        *(
            cell(printed(value, 2, rule), row=row, column=f"{i}", experiment=experiment)
            for row, method in (("A", "one"), ("B", "two"))
            for i, value in enumerate(values)
            for experiment in [{"method": method, "clients": {"count": i}}]
        )
    )
    assert statuses(repeats.check(made)) <= {"undecidable"}
