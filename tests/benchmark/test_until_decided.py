import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.claims.answer import ClaimAnswer
from fedrepro.benchmark.config import RunConfig, Trial
from fedrepro.benchmark.execution.jobs import Execution
from fedrepro.benchmark.execution.until_decided import train_until_decided
from fedrepro.benchmark.judging.evidence import load_trials
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.plan import Plan, make_plan, reached
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.model import Claim, Margin, Override
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.store.store import Store
from fedrepro.methods.outcome import Curve, Outcome
from tests.benchmark.small_papers import MakePaper

RATES = {"strong": 0.01, "weak": 0.02, "even": 0.03, "alike": 0.04}
ROWS = {name: {"training": {"learning_rate": rate}} for name, rate in RATES.items()}
MEAN = {0.01: 90.0, 0.02: 50.0, 0.03: 60.0, 0.04: 60.0}
LOOKS = (5, 10, 20)


def result_of(run: RunConfig, seed: int) -> float:
    """What a trial gives: its method's mean and a spread of a point, without any training."""
    rate = run.options["learning_rate"]
    noise = np.random.default_rng([seed, round(1000 * rate)]).normal()
    return float(MEAN[rate] + noise) / 100


class Bench:
    """A run until decided with trials that are made up, a second each."""

    def __init__(self, plan: Plan, store: Store, seconds: float = math.inf) -> None:
        self.plan, self.store, self.now = plan, store, 0.0
        self.trained: list[tuple[float, int]] = []
        self.failing: set[tuple[float, int]] = set()
        self.stop_after = math.inf
        self.budget = seconds

    def judged(self) -> Report:
        trials = load_trials(self.plan, self.store)
        return judge(self.plan, trials, command="test", audit=False)

    def train(self, trials: Sequence[Trial], left: float = math.inf) -> Execution:
        done, ends = Execution(), self.now + left
        with self.store.writing():
            for run, seed in trials:
                name = (run.options["learning_rate"], seed)
                if self.store.find(run, seed) is not None:
                    done.reused += 1
                    continue
                if len(self.trained) >= self.stop_after:
                    raise KeyboardInterrupt
                if self.now + 1.0 > ends:
                    break
                self.now += 1.0
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
        self.done = train_until_decided(
            self.plan, self.store, self.train, self.budget, print, lambda: self.now
        )
        return self.judged()

    def trials(self) -> dict[float, int]:
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
    claims = (Claim("large", "s", "'strong' > 'weak'"), Claim("none", "s", "'even' > 'alike'"))
    cells = tuple(
        replace(cell, printed=Printed.parse(f"{MEAN[RATES[cell.row[0]]]}"))
        for cell in paper.tables[0].cells
    )
    table = replace(paper.tables[0], claims=claims, cells=cells)
    profile = replace(paper.profiles["smoke"], looks=LOOKS)
    return make_plan(replace(paper, tables=(table,), profiles={"smoke": profile}), "smoke")


def words(report: Report) -> dict[str, str]:
    return {one.id: one.word for one in report.tables[0].claims}


def test_runs_of_a_decided_claim_stop_and_of_open_ones_go_on(plan: Plan, store: Store) -> None:
    bench = Bench(plan, store)
    report = bench.run()
    assert words(report)["large"] == "HOLDS"
    trials = bench.trials()
    assert trials[0.01] == trials[0.02] == 5
    assert trials[0.03] == trials[0.04] == (20 if words(report)["none"] == "OPEN" else 10)
    assert not any(cell.failed for cell in report.tables[0].cells)
    assert {cell.verdict.word for cell in report.tables[0].cells}.isdisjoint({"FAILED", "NOT RUN"})
    counted = {one.id: one.answer.trials for one in report.tables[0].claims}
    assert counted == {"large": 5, "none": trials[0.03]}


@pytest.mark.parametrize("scaled", [False, True])
def test_a_stated_size_is_trained_for_only_where_it_can_be_judged(
    scaled: bool, plan: Plan, store: Store
) -> None:
    size = Claim("size", "s", "'strong' - 'weak' = 40")
    table = replace(plan.paper.tables[0], claims=(size,), margin=Margin(4.0, "r"))
    overrides = (Override("training.batch_size", "w", 2),) if scaled else ()
    profile = replace(plan.profile, overrides=overrides)
    paper = replace(plan.paper, tables=(table,), profiles={"smoke": profile})
    bench = Bench(make_plan(paper, "smoke"), store)
    report = bench.run()
    assert bool(bench.trained) is not scaled
    assert (words(report)["size"] in ("NOT RUN", "NOT COMPARED")) is scaled


def test_all_runs_of_open_claims_are_trained_seed_by_seed(plan: Plan, store: Store) -> None:
    bench = Bench(plan, store, seconds=9)
    bench.run()
    assert [seed for _, seed in bench.trained] == [0] * 4 + [1] * 4 + [2]


def test_a_spent_budget_leaves_what_is_open_and_the_next_goes_on(plan: Plan, store: Store) -> None:
    first = Bench(plan, store, seconds=22)
    report = first.run()
    assert words(report) == {"large": "HOLDS", "none": "OPEN"}
    second = Bench(plan, store)
    report = second.run()
    assert words(report)["large"] == "HOLDS"
    assert (first.done.trained, first.done.reused, second.done.reused) == (22, 0, 22)
    assert first.trained + second.trained == whole(plan, store)


def whole(plan: Plan, store: Store) -> list[tuple[float, int]]:
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


def test_trials_between_two_looks_wait_for_the_next(plan: Plan, store: Store) -> None:
    bench = Bench(plan, store)

    def with_trials(trials: range) -> ClaimAnswer:
        bench.train([(run, seed) for run in plan.runs for seed in trials])
        return next(one for one in bench.judged().tables[0].claims if one.id == "large").answer

    assert with_trials(range(5)).trials == 5
    at_10 = with_trials(range(5, 10))
    assert with_trials(range(10, 13)) == with_trials(range(13, 19)) == at_10
    assert with_trials(range(19, 20)).trials == 20


def test_a_claim_whose_trial_fails_is_left_and_tried_again_by_the_next_run(
    plan: Plan, store: Store
) -> None:
    bench = Bench(plan, store)
    bench.failing = {(0.01, 3)}
    report = bench.run()
    assert words(report)["large"] == "OPEN"
    assert [cell.failed for cell in report.tables[0].cells if cell.failed]
    assert bench.trained.count((0.01, 3)) == 1
    again = Bench(plan, store)
    assert words(again.run())["large"] == "HOLDS"
    assert again.trained[0] == (0.01, 3)


@given(st.sets(st.integers(0, 45), max_size=40))
def test_a_run_has_reached_the_last_look_whose_trials_are_all_there(seeds: set[int]) -> None:
    run = RunConfig("federated", "fedavg", {}, {"name": "digits"}, {"name": "cnn"})
    looks = (5, 10, 20, 40)
    expected = max((n for n in looks if set(range(n)) <= seeds), default=0)
    assert reached(run, looks, lambda _, seed: seed in seeds) == expected
