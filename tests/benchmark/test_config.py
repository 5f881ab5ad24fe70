import hashlib
import json
from collections.abc import Callable
from dataclasses import replace

from fedrepro.benchmark.config import RunConfig

Make = Callable[..., RunConfig]


def test_config_survives_json_with_the_runs_it_starts_from(tiny_config: Make) -> None:
    config = tiny_config({"pretraining": {"method": "simclr"}})
    again = RunConfig.from_dict(json.loads(json.dumps(config.as_dict())))
    assert again == config
    assert again.start == config.start
    assert hash(again) == hash(config)


def test_key_is_the_hash_of_canonical_text(tiny_config: Make) -> None:
    config = tiny_config()
    text = json.dumps(config.as_dict(), sort_keys=True, separators=(",", ":"))
    assert config.key == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_order_of_options_does_not_matter(tiny_config: Make) -> None:
    config = tiny_config()
    turned = replace(config, options=dict(reversed(list(config.options.items()))))
    assert turned.key == config.key


def test_what_a_run_starts_from_is_part_of_its_key(tiny_config: Make) -> None:
    one = tiny_config({"pretraining": {"method": "simclr"}})
    other = tiny_config({"pretraining": {"method": "simclr", "epochs": 2}})
    assert one.key != other.key
    assert one.options == other.options


def test_description_names_method_data_and_start(tiny_config: Make) -> None:
    config = tiny_config({"pretraining": {"method": "simclr"}})
    assert config.description == "fedavg on digits, started from simclr on digits"


def test_a_run_of_another_series_starts_from_one_of_that_series(tiny_config: Make) -> None:
    ordinary = tiny_config({"pretraining": {"method": "simclr"}})
    assert "series" not in ordinary.canonical
    assert ordinary.in_series(0) == ordinary
    other = ordinary.in_series(2)
    assert other.start is not None
    assert other.start.series == 2
    assert len({ordinary.key, other.key, ordinary.in_series(1).key}) == 3
    assert RunConfig.from_dict(json.loads(json.dumps(other.as_dict()))) == other
    assert other.description == "fedavg on digits, started from simclr on digits, series 2"
