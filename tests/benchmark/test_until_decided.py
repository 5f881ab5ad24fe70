"""A run until claims are decided: what it trains, in which order, where it stops and goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.execution.run import Execution
from fedrepro.benchmark.execution.until_decided import Budget, Means, UntilDecided
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.looks_reached import as_stored, looks_of, reached
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.planning.summary import Trial
from fedrepro.benchmark.results import ClaimResult, Report
from fedrepro.benchmark.spec.model import Claim, Margin, Override, Paper, Profile
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.store.store import Store
from fedrepro.methods.outcome import Curve, Outcome

MakePaper = Callable[..., Paper]
ROWS = {
    "strong": {"training": {"learning_rate": 0.01}},
    "weak": {"training": {"learning_rate": 0.02}},
    "even": {"training": {"learning_rate": 0.03}},
    "alike": {"training": {"learning_rate": 0.04}},
}
MEAN = {0.01: 90.0, 0.02: 50.0, 0.03: 60.0, 0.04: 60.0}
LOOKS = (5, 10, 20)


class Clock:
    """Seconds that pass when trials are trained."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def result_of(run: RunConfig, seed: int) -> float:
    """What a trial gives: its method's mean and a spread of a point, without any training."""
    rate = run.options["learning_rate"]
    noise = np.random.default_rng([seed, round(1000 * rate)]).normal()
    return float(MEAN[rate] + noise) / 100


class Bench:
    """A run until decided with trials that are made up, a second each."""

    def __init__(self, plan: Plan, store: Store, seconds: float = math.inf, **more: object) -> None:
        self.store, self.clock = store, Clock()
        self.trained: list[tuple[float, int]] = []
        self.failing: set[tuple[float, int]] = set()
        self.stop_after = math.inf
        self.plan = plan
        means = Means(self.judged, self.train, lambda: lambda run: 1.0)
        looks = looks_of(plan.profile)
        self.steps = UntilDecided(plan, store, looks, means, Budget(seconds, self.clock))

    def judged(self, plan: Plan) -> Report:
        return judge(plan, self.store, command="test", audit=False)

    def train(self, trials: Sequence[Trial]) -> Execution:
        done = Execution()
        with self.store.writing():
            for run, seed in trials:
                name = (run.options["learning_rate"], seed)
                if len(self.trained) >= self.stop_after:
                    raise KeyboardInterrupt
                if not self.steps.budget.allows(1.0):
                    break
                self.clock.now += 1.0
                self.trained.append(name)
                if name in self.failing:
                    done.errors[run.key, seed] = "diverged at round 1"
                    self.store.save_error(run, seed, "diverged at round 1")
                    continue
                curve = Curve((1, 2), (0.1, result_of(run, seed)))
                self.store.save(
                    run, seed, Outcome({"accuracy": curve}), {"wall_s": 1.0, "device": "x"}
                )
                done.trained += 1
        return done

    def run(self) -> Report:
        return self.judged(self.steps.run())

    def trials(self) -> dict[float, int]:
        """How many trials each learning rate has in the store."""
        return {
            run.options["learning_rate"]: sum(
                self.store.find(run, seed) is not None for seed in range(max(LOOKS))
            )
            for run in self.plan.runs
        }


@pytest.fixture
def plan(tiny_paper: MakePaper) -> Plan:
    """Two claims: one of a large effect, and one between methods that are alike."""
    paper = tiny_paper(ROWS, trials=20)
    claims = (
        Claim("large", "s", "'strong' > 'weak'"),
        Claim("none", "s", "'even' > 'alike'"),
    )
    table = replace(paper.tables[0], claims=claims)
    profile = replace(paper.profiles["smoke"], looks=LOOKS)
    return make_plan(replace(paper, tables=(table,), profiles={"smoke": profile}), "smoke")


def words(report: Report) -> dict[str, str]:
    return {one.id: one.word for one in report.tables[0].claims}


def test_runs_of_a_decided_claim_stop_and_those_of_an_open_one_go_on(
    plan: Plan, store: Store
) -> None:
    bench = Bench(plan, store)
    report = bench.run()
    assert words(report)["large"] == "HOLDS"
    trials = bench.trials()
    assert trials[0.01] == trials[0.02] == 5
    assert trials[0.03] == trials[0.04] == (20 if words(report)["none"] == "UNRESOLVED" else 10)
    assert not any(cell.failed for cell in report.tables[0].cells)
    assert {cell.verdict.word for cell in report.tables[0].cells}.isdisjoint({"ERROR", "NOT RUN"})
    looks = {one.id: one.looks for one in report.tables[0].claims}
    assert looks["large"] == (5,)
    assert looks["none"][0] == 5


def test_claims_that_a_budget_left_untrained_weigh_on_those_that_were_looked_at(
    plan: Plan, store: Store
) -> None:
    bench = Bench(plan, store, 10.0)
    cut = bench.run()
    assert {rate for rate, _ in bench.trained} == {0.01, 0.02}
    large, none = cut.tables[0].claims
    assert (large.word, none.word) == ("HOLDS", "NOT RUN")
    assert large.p_adjusted == pytest.approx(2 * large.p)
    # Not without looks, nor of what cannot be trained or failed.
    (even,) = (run for run in plan.runs if run.options["learning_rate"] == 0.03)

    def first(looks: tuple[int, ...] = LOOKS, **more: object) -> ClaimResult:
        profile = replace(plan.profile, looks=looks)
        shown = replace(as_stored(plan, store, None), profile=profile)
        return judge(shown, store, command="test", audit=False, **more).tables[0].claims[0]

    assert first().p_adjusted == large.p_adjusted
    assert first(looks=()).p_adjusted == first().p == large.p
    assert first(not_run={even.key: "no data"}).p_adjusted == large.p
    assert Bench(plan, store).train([(even, seed) for seed in range(3)]).trained == 3
    assert first().p_adjusted == large.p_adjusted
    with store.writing():
        store.save_error(even, 3, "diverged at round 1")
    assert first().p_adjusted == large.p


def test_the_last_line_says_that_open_claims_have_no_trials_left(plan: Plan, store: Store) -> None:
    bench, lines = Bench(plan, store), list[str]()
    bench.steps.means = replace(bench.steps.means, say=lines.append)
    assert words(bench.run()) == {"large": "HOLDS", "none": "UNRESOLVED"}
    assert lines[0] == "0 of 2 claims are decided, further trials may decide 2; next: 20 trials"
    assert lines[-1] == "1 of 2 claims are decided, no trials are left for the others"


@pytest.mark.parametrize("scaled", [False, True])
def test_a_stated_size_is_trained_for_only_where_it_can_be_judged(
    scaled: bool, plan: Plan, store: Store
) -> None:
    size = Claim("size", "s", "'strong' - 'weak' = 40")
    table = replace(plan.paper.tables[0], claims=(size,), margin=Margin(4.0, "r"))
    overrides = (Override("training.batch_size", "w", 2),) if scaled else ()
    profile = replace(plan.profile, overrides=overrides)
    paper = replace(plan.paper, tables=(table,), profiles={"smoke": profile})
    bench, lines = Bench(make_plan(paper, "smoke"), store), list[str]()
    bench.steps.means = replace(bench.steps.means, say=lines.append)
    report = bench.run()
    assert ("of stated sizes, not judged on scaled runs: 1" in lines[-1]) is scaled
    assert bool(bench.trained) is not scaled
    assert (words(report)["size"] in ("NOT RUN", "NOT JUDGED")) is scaled


def test_the_claims_that_the_printed_numbers_bear_out_are_known_before_any_trial(
    plan: Plan, store: Store
) -> None:
    printed = {("strong",): "90.0", ("weak",): "50.0", ("even",): "60.0", ("alike",): "60.0"}
    table = plan.paper.tables[0]
    cells = tuple(replace(one, printed=Printed.parse(printed[one.row])) for one in table.cells)
    paper = replace(plan.paper, tables=(replace(table, cells=cells),))
    bench = Bench(make_plan(paper, "smoke"), store)
    assert {id for _, id in bench.steps.supported} == {"large"}
    assert [(one.id, one.supported) for one in bench.steps.open_claims()] == [
        ("large", True),
        ("none", False),
    ]


def test_what_lies_in_the_store_counts_as_reused(plan: Plan, store: Store) -> None:
    first, again = Bench(plan, store, seconds=6), Bench(plan, store, seconds=4)
    first.run()
    again.run()
    counts = [(bench.steps.done.trained, bench.steps.done.reused) for bench in (first, again)]
    assert counts == [(6, 0), (4, 6)]


def test_both_sides_are_trained_in_pairs_of_one_seed(plan: Plan, store: Store) -> None:
    bench = Bench(plan, store, seconds=6)
    bench.run()
    seeds = [seed for _, seed in bench.trained]
    assert seeds == [0, 0, 1, 1, 2, 2]
    assert len({rate for rate, _ in bench.trained}) == 2


def test_no_time_trains_nothing_and_still_gives_a_report(plan: Plan, store: Store) -> None:
    bench = Bench(plan, store, seconds=0)
    assert set(words(bench.run()).values()) == {"NOT RUN"}
    assert bench.trained == []


def test_a_spent_budget_leaves_what_is_open_and_the_next_run_goes_on(
    plan: Plan, store: Store
) -> None:
    first = Bench(plan, store, seconds=13)
    report = first.run()
    assert words(report) == {"large": "HOLDS", "none": "UNRESOLVED"}
    second = Bench(plan, store)
    report = second.run()
    assert words(report)["large"] == "HOLDS"
    assert not set(first.trained) & set(second.trained)
    assert first.trained + second.trained == whole(plan, store)


def whole(plan: Plan, store: Store) -> list[tuple[float, int]]:
    """What a run without interruption trains, in its order."""
    alone = Bench(plan, Store(store.root.with_name("alone"), source_of=store.source_of))
    alone.run()
    return alone.trained


def test_an_interrupted_run_loses_nothing_and_goes_on(plan: Plan, store: Store) -> None:
    first = Bench(plan, store)
    first.stop_after = 7
    with pytest.raises(KeyboardInterrupt):
        first.run()
    second = Bench(plan, store)
    second.run()
    assert first.trained + second.trained == whole(plan, store)


def test_a_report_shows_as_many_trials_of_each_run_as_it_has_come_to(
    plan: Plan, store: Store
) -> None:
    bench = Bench(plan, store)
    report = bench.run()
    again = judge(as_stored(plan, store, None), store, command="test", audit=False)
    assert again.tables == report.tables
    assert as_stored(plan, store, 5) is plan


def test_what_a_look_found_stays_though_a_later_trial_collapses(
    plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def collapsing(run: RunConfig, seed: int) -> float:
        falls = run.options["learning_rate"] == 0.04 and seed == 7
        return 0.001 if falls else as_usual(run, seed)

    as_usual, bench = result_of, Bench(plan, store)

    def p_with(trials: range) -> float | None:
        bench.train([(run, seed) for run in plan.runs for seed in trials])
        report = bench.judged(as_stored(plan, store, None))
        return next(one.p for one in report.tables[0].claims if one.id == "large")

    at_first = p_with(range(5))
    with monkeypatch.context() as patched:
        patched.setitem(globals(), "result_of", collapsing)
        later = p_with(range(5, 10))
    assert at_first is not None
    assert later is not None
    assert later <= at_first < 0.05
    # Fewer trials again show the early word, and say that there were more.
    fewer = bench.judged(replace(plan, trials=5, asked={run.key: 5 for run in plan.runs}))
    reason = next(one.reason for one in fewer.tables[0].claims if one.id == "large")
    assert "It was judged with 10 trials before" in reason


def test_a_claim_whose_trial_fails_is_left_and_tried_again_by_the_next_run(
    plan: Plan, store: Store
) -> None:
    bench = Bench(plan, store)
    bench.failing = {(0.01, 3)}
    report = bench.run()
    assert words(report)["large"] == "UNRESOLVED"
    assert [cell.failed for cell in report.tables[0].cells if cell.failed]
    assert bench.trained.count((0.01, 3)) == 1
    again = Bench(plan, store)
    assert words(again.run())["large"] == "HOLDS"
    assert again.trained[0] == (0.01, 3)


def test_a_profile_without_looks_has_one_at_its_trials() -> None:
    assert looks_of(Profile("p", 7, ())) == (7,)
    assert looks_of(Profile("p", 7, ()), most=25) == (25,)
    assert looks_of(Profile("p", 5, (), looks=LOOKS), most=12) == (5, 10)
    assert looks_of(Profile("p", 5, (), looks=LOOKS), most=3) == (3,)


@given(st.sets(st.integers(0, 45), max_size=40))
def test_a_run_has_reached_the_last_look_whose_trials_are_all_there(seeds: set[int]) -> None:
    run = RunConfig("federated", "fedavg", {}, {"name": "digits"}, {"name": "cnn"})
    looks = (5, 10, 20, 40)
    expected = max((n for n in looks if set(range(n)) <= seeds), default=0)
    assert reached(run, looks, lambda _, seed: seed in seeds) == expected
