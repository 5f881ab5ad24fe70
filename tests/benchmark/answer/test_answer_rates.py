"""Coverage and error rates of the answer, by simulation; docs/verdicts.md quotes them."""

import numpy as np
import pytest

from fedrepro.benchmark.judging.answers import answer_table
from fedrepro.benchmark.stats.intervals import t_interval
from fedrepro.benchmark.stats.pattern import relabelling_p, retention
from tests.benchmark.answer.simulated import NOISE, noise, own_against_all, pattern, prints, tables

pytestmark = pytest.mark.slow
TABLES = 3000
TRIALS = (5, 10, 25)
FAMILIES = ("normal", "skewed", "all fall", "own falls")


def margin(share: float, count: int = TABLES) -> float:
    """Three Monte-Carlo standard errors of a share."""
    return 3 * float(np.sqrt(share * (1 - share) / count))


@pytest.mark.parametrize("n", TRIALS)
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("slope", [1.0, 0.0, -1.0])
def test_retention_comes_back_and_its_interval_covers_it(kind, n, slope):
    found = [
        t_interval(retention(one.printed, one.trials))
        for one in tables(TABLES // 3, n, slope, kind)
    ]
    covered = np.mean([one.low <= slope <= one.high for one in found])
    assert covered >= 0.93 - margin(0.93, TABLES // 3)
    means = np.array([one.mean for one in found])
    assert abs(means.mean() - slope) <= 4 * means.std() / np.sqrt(len(means))


def own_trials(rng, kind, n, lead):
    """A method that is ahead of five others by `lead`, in trials averaged over columns. [6, n]"""
    found = noise(rng, kind, n).mean(axis=1)
    found[0] += lead
    return found


@pytest.mark.parametrize("n", TRIALS)
@pytest.mark.parametrize("kind", ["normal", "skewed"])
def test_the_interval_of_a_claims_mean_covers_it(kind, n):
    rng, lead = np.random.default_rng(1), 2.0
    found = [
        own_against_all([60.0] + [58.0] * 5, own_trials(rng, kind, n, lead)) for _ in range(TABLES)
    ]
    covered = np.mean([one.ratio.low <= 1.0 <= one.ratio.high for one in found])
    assert covered >= 0.93 - margin(0.93)


@pytest.mark.parametrize("n", TRIALS)
@pytest.mark.parametrize(("kind", "limit"), [("normal", 0.03), ("skewed", 0.055)])
def test_few_claims_get_a_wrong_word(kind, limit, n):
    allowed, printed = limit + margin(limit), [60.0] + [50.0] * 5

    def share(word, lead, seed):
        rng = np.random.default_rng(seed)
        found = [own_against_all(printed, own_trials(rng, kind, n, lead)) for _ in range(TABLES)]
        return np.mean([one.word == word for one in found])

    assert share("HOLDS", 5.0, 2) <= allowed
    none = {word: share(word, 0.0, 3) for word in ("SAME DIRECTION", "OPPOSITE")}
    assert max(none.values()) <= allowed


@pytest.mark.parametrize("kind", ["normal", "skewed"])
def test_looking_at_5_10_20_and_40_trials_keeps_the_rates(kind):
    rng, looks = np.random.default_rng(4), (5, 10, 20, 40)
    wrong = {"SAME DIRECTION": 0, "OPPOSITE": 0}
    for _ in range(TABLES):
        trials = own_trials(rng, kind, 40, 0.0)
        words = {own_against_all([60.0] + [50.0] * 5, trials[:, :n], looks).word for n in looks}
        for word in wrong:
            wrong[word] += word in words
    limit = 0.03 if kind == "normal" else 0.055
    assert max(wrong.values()) / TABLES <= limit + margin(limit)


def test_a_method_level_with_one_rival_is_rarely_called_ahead_of_all():
    rng, printed = np.random.default_rng(5), [60.0] + [50.0] * 5
    words = []
    for _ in range(TABLES):
        trials = own_trials(rng, "normal", 10, 10.0)
        trials[1] += 10.0
        words.append(own_against_all(printed, trials).word)
    assert np.mean([word == "HOLDS" for word in words]) <= 0.025 + margin(0.025)


def word(one):
    return answer_table("accuracy", one).word


def test_unrelated_tables_rarely_pass():
    rng = np.random.default_rng(6)
    words = [
        word(pattern(prints(rng), prints(rng)[..., None] + noise(rng, "normal", 10)))
        for _ in range(TABLES // 2)
    ]
    assert np.mean([one == "PASS" for one in words]) <= 0.03 + margin(0.03, TABLES // 2)


def test_faithful_tables_with_noisy_prints_rarely_fail():
    rng, words = np.random.default_rng(7), []
    for _ in range(TABLES // 2):
        true = NOISE * rng.normal(size=(6, 4))
        printed = true + NOISE * rng.normal(size=(6, 4))  # half of its variance is noise
        words.append(word(pattern(printed, true[..., None] + noise(rng, "normal", 10))))
    assert np.mean([one == "FAIL" for one in words]) <= 0.02 + margin(0.02, TABLES // 2)


def test_faithful_tables_pass_and_turned_ones_fail():
    faithful = [word(one) for one in tables(100, 10, 1.0)]
    turned = [word(one) for one in tables(100, 10, -1.0)]
    assert np.mean([one == "PASS" for one in faithful]) >= 0.9
    assert np.mean([one == "FAIL" for one in turned]) >= 0.9


@pytest.mark.parametrize("rows", [4, 5, 6])
def test_permuted_labels_give_a_uniform_p(rows):
    rng = np.random.default_rng(8)
    found = np.array(
        [
            relabelling_p(prints(rng, rows), noise(rng, "normal", 5, rows).mean(axis=-1))
            for _ in range(TABLES)
        ]
    )
    for level in (0.05, 0.1, 0.25, 0.5):
        assert np.mean(found <= level) <= level + margin(level)
    assert abs(found.mean() - 0.5) <= 0.05
