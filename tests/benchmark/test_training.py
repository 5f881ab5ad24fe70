import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.data import load
from fedrepro.benchmark.errors import DataError
from fedrepro.benchmark.metrics import outside
from fedrepro.benchmark.training.training import train_trial
from fedrepro.methods.outcome import Curve, DivergedError, Outcome
from tests.benchmark.small_papers import Make

SIMCLR = {"pretraining": {"method": "simclr"}}


def train(config: RunConfig, seed: int = 0, **options: Any) -> tuple[Outcome, dict[str, Any]]:
    return train_trial(config, seed, data_dir=None, device="cpu", **options)


def test_a_federated_trial_measures_every_round(tiny_config: Make) -> None:
    told: list[tuple[int, int]] = []
    outcome, _ = train(tiny_config(), progress=lambda done, total: told.append((done, total)))
    assert outcome.metrics["accuracy"].rounds == (1, 2)
    assert outcome.arrays["class_counts"].shape == (3, 10)
    assert told == [(1, 2), (2, 2)]


def test_a_trial_is_repeated_exactly_and_seeds_differ(tiny_config: Make) -> None:
    (one, _), (again, _), (other, _) = (train(tiny_config(), seed) for seed in (0, 0, 1))
    assert one.metrics == again.metrics
    assert one.arrays.keys() == again.arrays.keys()
    for name, values in one.arrays.items():
        np.testing.assert_array_equal(values, again.arrays[name])
    assert not np.array_equal(one.arrays["class_counts"], other.arrays["class_counts"])


def test_methods_of_a_trial_share_partition_and_clients(tiny_config: Make) -> None:
    one, _ = train(tiny_config())
    other, _ = train(tiny_config({"method": "ifca"}))
    np.testing.assert_array_equal(one.arrays["class_counts"], other.arrays["class_counts"])


def test_later_runs_start_from_the_pretrained_encoder(tiny_config: Make) -> None:
    config = tiny_config(SIMCLR)
    assert config.init_from is not None
    start, _ = train(config.init_from)
    assert start.encoder is not None
    encoder = dict(start.encoder)
    outcome, _ = train(config, encoder=encoder)
    silent = {name: torch.zeros_like(value) for name, value in encoder.items()}
    blank, _ = train(config, encoder=silent)
    assert outcome.metrics != blank.metrics
    with pytest.raises(ValueError, match="encoder is needed"):
        train(config)


def test_relevance_is_measured_with_the_pretrained_encoder(tiny_config: Make) -> None:
    config = tiny_config(SIMCLR, metric="relevance")
    assert config.init_from is not None
    start, _ = train(config.init_from)
    outcome, provenance = train(config, encoder=start.encoder)
    assert -1 <= outcome.metrics["relevance"].read("final") <= 1
    assert set(provenance["data"]) == {"digits/train", "digits/unlabeled"}


def test_provenance_says_where_and_from_what(tiny_config: Make) -> None:
    _, made = train(tiny_config())
    assert made["device"]
    assert made["versions"]["torch"] == torch.__version__
    assert made["wall_s"] > 0
    assert made["data"]["digits/train"]["checksum"] == load("digits", "train").checksum
    assert made["data"]["digits/train"]["is_release"] is True


def test_threads_and_determinism_are_put_back(tiny_config: Make) -> None:
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    train(tiny_config())
    assert (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()) == before


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ({"last": math.nan}, "diverged at round 2"),
        ({"last": math.inf}, "diverged at round 2"),
        ({"last": 5.63}, r"round 2: 5\.63 is no accuracy, which is 0 to 1"),
        ({"counts": {"restarts": math.nan}}, "round 2: counts.restarts is not finite"),
        ({"encoder": {"w": torch.tensor([1.0, math.nan])}}, "round 2: encoder.w is not finite"),
        ({"arrays": {"loss": np.array([math.nan, math.inf])}}, "2: arrays.loss is not finite"),
        ({"arrays": {"loss": np.array([math.nan, 1.0]), "pixels": np.ones(2, np.uint8)}}, None),
        ({"metrics": {}}, "nothing was measured"),
    ],
)
def test_what_is_measured_and_stored_is_possible_but_for_gaps_of_arrays(
    tiny_config: Make, monkeypatch: pytest.MonkeyPatch, made: dict[str, Any], told: str | None
) -> None:
    curve = Curve((1, 2), (0.5, made.pop("last", 0.6)))
    outcome = Outcome(**{"metrics": {"accuracy": curve}, **made})
    monkeypatch.setattr("fedrepro.benchmark.training.stages.federated.run", lambda trial: outcome)
    wrong = pytest.raises((DivergedError, ValueError), match=told)
    with nullcontext() if told is None else wrong:
        train(tiny_config())


def test_training_that_diverges_is_an_error_with_its_round(tiny_config: Make) -> None:
    config = tiny_config({"training": {"learning_rate": 1e38, "optimizer": "sgd"}})
    with pytest.raises(DivergedError, match="diverged at round 1"):
        train(config)


def test_missing_data_are_a_data_error(tiny_config: Make, tmp_path: Any) -> None:
    config = tiny_config({"clients": {"data": "mnist"}})
    with pytest.raises(DataError, match="mnist"):
        train_trial(config, 0, data_dir=tmp_path, device="cpu")


def test_nothing_of_a_trial_is_that_of_its_namesake_in_another_series(tiny_config: Make) -> None:
    ordinary, other = (train(tiny_config().in_seed_block(series))[0] for series in (0, 1))
    assert ordinary.metrics == train(tiny_config())[0].metrics != other.metrics
    assert not np.array_equal(ordinary.arrays["class_counts"], other.arrays["class_counts"])


@pytest.mark.parametrize(
    ("name", "unit", "possible", "others"),
    [
        ("accuracy", None, 1.0, (5.63,)),
        ("accuracy", "%", 100.00001, (142.7, -76)),
        ("ari", None, -0.4, ()),
        ("bits", None, 1e12, (-1,)),
        ("a metric of somebody's own", None, -17.0, ()),
    ],
)
def test_a_value_outside_of_its_metric_is_told(name, unit, possible, others):
    assert outside(possible, name, unit) is None
    assert None not in [outside(value, name, unit) for value in others]
