import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.resolve import Resolver
from fedrepro.benchmark.spec.model import Override, Profile
from fedrepro.benchmark.spec.settings import merge
from tests.benchmark.small_papers import Make, as_published, drawn


@pytest.mark.parametrize(
    "change",
    [
        {"training": {"n_clusters": 5, "head_rounds": 1}},
        {"pretraining": {"epochs": 9, "temperature": 0.5}},
        {"training": {"participation": 1, "optimizer": "adam"}},
    ],
    ids=["of other methods", "without pre-training", "defaults"],
)
def test_options_that_change_nothing_make_the_same_run(
    tiny_config: Make, change: dict[str, Any]
) -> None:
    assert tiny_config() == tiny_config(change)
    assert tiny_config({"method": "ifca"}) != tiny_config(
        {"method": "ifca", "training": {"n_clusters": 5}}
    )


def test_an_objective_becomes_a_pretraining_run(tiny_config: Make) -> None:
    config = tiny_config({"pretraining": {"method": "simclr"}})
    start = config.init_from
    assert start is not None
    assert (start.stage, start.method, start.init_from) == ("pretraining", "simclr", None)
    assert start.data == {
        "name": "digits", "part": "unlabeled", "test_part": None, "images": 32,
        "image_size": 8, "channels": 1,
    }  # fmt: skip
    assert start.options["epochs"] == 1
    assert start.options["temperature"] > 0
    assert start.clients is None
    assert start.head is None
    assert start.augmentation is not None
    assert config.init_trial == 0


def test_supervised_clients_have_an_augmentation_where_they_augment(tiny_config: Make) -> None:
    window = {"augmentation": {"crop_padding": 4, "crop_border": "reflect"}}
    assert tiny_config(window) == tiny_config()
    assert tiny_config(window).augmentation is None
    config = tiny_config(merge(window, {"training": {"augments": True}}))
    assert config.augmentation is not None
    assert config.augmentation.items() >= window["augmentation"].items()


def test_federated_fine_tuning_augments_by_an_option_of_the_evaluation(tiny_config: Make) -> None:
    evaluation = {"protocol": "federated-fine-tuning", "rounds": 1}
    for augments in (False, True):
        config = tiny_config({"evaluation": {**evaluation, "augments": augments}})
        assert config.stage == "measurement"
        assert (config.augmentation is not None) == augments
        assert config.init_from is not None
        assert config.init_from.augmentation is None


def test_only_learning_without_labels_reads_unlabelled_images(tiny_config: Make) -> None:
    wanted = {"clients": {"unlabeled_part": "unlabeled"}}
    supervised = tiny_config(merge(wanted, {"method": "fedavg"}))
    assert supervised == tiny_config({"method": "fedavg"})
    config = tiny_config(merge(wanted, {"method": "fedsimclr"}))
    assert config.data["unlabeled_part"] == "unlabeled"
    without = {"clients": {"unlabeled_part": "none"}, "method": "fedsimclr"}
    assert tiny_config(without) == tiny_config({"method": "fedsimclr"}) != config


def test_a_federated_method_as_pretraining_is_that_cells_own_run(tiny_config: Make) -> None:
    config = tiny_config({"method": "ifca", "pretraining": {"method": "fedavg"}})
    assert config.init_from == tiny_config({"method": "fedavg"})
    assert config.init_trial is None


def test_a_federated_start_takes_its_own_rounds_but_not_central_options(tiny_config: Make) -> None:
    config = tiny_config({"pretraining": {"method": "fedavg", "rounds": 7, "batch_size": 500}})
    assert config.init_from is not None
    assert config.init_from.options["rounds"] == 7
    assert config.init_from.options["batch_size"] == 32
    assert config.options["rounds"] == 2


def test_relevance_is_a_measurement_of_the_pretrained_encoder(tiny_config: Make) -> None:
    change = {"pretraining": {"method": "simclr"}}
    config = tiny_config(change, metric="relevance")
    assert config.stage == "measurement"
    assert config.init_from == tiny_config(change).init_from
    assert config.clients is None


@pytest.mark.parametrize(
    ("change", "metric", "reason"),
    [
        ({"method": "fedavgg"}, "accuracy", "method 'fedavgg' is not implemented"),
        ({"pretraining": {"method": "simklr"}}, "accuracy", "'simklr' is not implemented"),
        ({}, "elegance", "metric 'elegance' is not implemented"),
        ({}, "relevance", "no pre-trained encoder whose relevance could be measured"),
    ],
)
def test_what_nothing_implements_is_a_reason_not_an_error(
    tiny: dict[str, Any], change: dict[str, Any], metric: str, reason: str
) -> None:
    found = as_published(merge(tiny, change), metric)
    assert found.config is None
    assert reason in str(found.reason)


def test_a_missing_setting_is_named(tiny: dict[str, Any]) -> None:
    del tiny["clients"]["data"]
    with pytest.raises(SpecError, match=r"^clients.data is not given$"):
        as_published(tiny, "accuracy")


def test_overrides_come_in_order_and_become_departures(tiny: dict[str, Any]) -> None:
    profile = Profile(
        1,
        overrides=(Override("training.rounds", "short", 50), Override("clients.count", "few", 6)),
        on={"mnist": (Override("clients.data", "real", "mnist"),)},
        name="reduced",
    )
    local = {"reduced": (Override("training.rounds", "shorter", 40),), "paper": ()}
    tiny["training"]["rounds"] = 100
    resolver = Resolver(profile, "mnist", {"clients.count": 9})
    found = resolver.resolve(replace(drawn(tiny), overrides=local), "accuracy")
    assert found.config is not None
    assert found.config.options["rounds"] == 40
    assert found.config.data["name"] == "mnist"
    assert found.config.clients is not None
    assert found.config.clients["count"] == 9
    assert {(d.setting, d.paper, d.here, d.why) for d in found.departures} == {
        ("training.rounds", "100", "40", "shorter"),
        ("clients.count", "3", "9", "set on the command line"),
        ("clients.data", "digits", "mnist", "real"),
    }


def test_changes_that_the_run_does_not_depend_on_are_no_departures(tiny: dict[str, Any]) -> None:
    overrides = (
        Override("training.n_clusters", "other method", 9),
        Override("pretraining.epochs", "no pre-training here", 7),
    )
    found = as_published(tiny, "accuracy", overrides=overrides)
    assert found.departures == ()


def test_the_round_that_is_read_is_no_part_of_the_run(tiny: dict[str, Any]) -> None:
    tiny["training"]["rounds"] = 100
    early = as_published(tiny, "accuracy", at=25)
    late = as_published(tiny, "accuracy", at=100)
    assert early.config == late.config
    divided = as_published(tiny, "accuracy", at=25, overrides=(Override("at", divide=5, why="w"),))
    assert divided.read == 5
    assert [d.setting for d in divided.departures] == ["at"]
    after = as_published(tiny, "accuracy", at=101)
    assert [(d.setting, d.paper, d.here) for d in after.departures] == [("at", "101", "100")]


@pytest.mark.parametrize("change", [{"training": {"rounds": 3}}, {"clients": {"image_size": 10}}])
def test_what_was_resolved_before_changes_nothing(
    tiny: dict[str, Any], change: dict[str, Any]
) -> None:
    profile = Profile(1, name="smoke")
    resolver = Resolver(profile)
    for settings in (tiny, merge(tiny, change), tiny):
        for metric, at in (("accuracy", 1), ("relevance", 1), ("f1_macro", "final")):
            bound = drawn(settings, at)
            assert resolver.resolve(bound, metric) == Resolver(profile).resolve(bound, metric)


def test_key_is_the_hash_of_canonical_text(tiny_config: Make) -> None:
    config = tiny_config()
    text = json.dumps(config.as_dict(), sort_keys=True, separators=(",", ":"))
    assert config.key == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_what_a_run_starts_from_is_part_of_its_key(tiny_config: Make) -> None:
    one = tiny_config({"pretraining": {"method": "simclr"}})
    other = tiny_config({"pretraining": {"method": "simclr", "epochs": 2}})
    assert one.key != other.key
    assert one.options == other.options


def test_a_run_of_another_series_starts_from_one_of_that_series(tiny_config: Make) -> None:
    ordinary = tiny_config({"pretraining": {"method": "simclr"}})
    assert "series" not in ordinary.canonical
    assert ordinary.in_seed_block(0) == ordinary
    other = ordinary.in_seed_block(2)
    assert other.init_from is not None
    assert other.init_from.seed_block == 2
    assert len({ordinary.key, other.key, ordinary.in_seed_block(1).key}) == 3
    assert RunConfig.from_dict(json.loads(json.dumps(other.as_dict()))) == other
    assert other.description == "fedavg on digits, started from simclr on digits, series 2"


def test_training_on_test_images_is_said(tiny: dict[str, Any]) -> None:
    for section, part, test_part, said in (
        ("clients", "train", "train-30", "fedavg of digits/train-30"),
        ("evaluation", "test", "test", "linear-probe of digits/test"),
        ("clients", "train-70", "train-30", ""),
    ):
        change = {section: {"part": part, "test_part": test_part}}
        probe = {"evaluation": {"protocol": "linear-probe"} if section == "evaluation" else {}}
        found = as_published(merge(tiny, probe, change), "accuracy").cautions
        assert "".join(found) == said.replace(
            " of ", " is tested on images that it was trained on: "
        )
