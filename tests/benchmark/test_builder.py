from __future__ import annotations

import copy
from typing import Any

import pytest

from fedrepro.benchmark.planning.builder import Builder, Pieces
from fedrepro.benchmark.spec.settings import merge

CHANGES: list[dict[str, Any]] = [
    {},
    {"method": "ifca"},
    {"pretraining": {"method": "simclr"}},
    {"pretraining": {"method": "fedavg", "rounds": 7}},
    {"method": "fedsimclr", "clients": {"unlabeled_part": "unlabeled"}},
    {"training": {"rounds": 5}, "evaluation": {"protocol": "linear-probe"}},
    {"evaluation": {"protocol": "linear-probe"}},
]


def test_configs_of_shared_sections_are_those_of_each_experiment_alone(
    tiny: dict[str, Any],
) -> None:
    pieces: Pieces = {}
    experiments = [merge(tiny, change) for change in CHANGES]
    for _ in range(2):
        for experiment in experiments:
            builder, alone = (
                Builder.of(experiment, pieces),
                Builder.of(copy.deepcopy(experiment), {}),
            )
            assert builder.evaluated().canonical == alone.evaluated().canonical
            assert builder.used == alone.used


def test_cells_that_differ_in_their_evaluation_start_from_one_object(tiny: dict[str, Any]) -> None:
    pieces: Pieces = {}
    evaluated = {"evaluation": {"protocol": "linear-probe"}}
    plain, probed = (
        Builder.of(merge(tiny, change), pieces).evaluated() for change in ({}, evaluated)
    )
    assert probed.start is plain


def test_what_is_remembered_by_some_sections_cannot_read_another(tiny: dict[str, Any]) -> None:
    builder = Builder({"clients": tiny["clients"]}, {})
    with pytest.raises(KeyError, match="encoder"):
        builder._encoder()
