from __future__ import annotations

import hashlib

import torch
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.methods.seeds import SOURCES, Seeds

words = st.text(
    st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1, max_size=8
)


@given(st.integers(0, 1000), st.lists(words | st.integers(0, 99), max_size=4))
def test_a_number_depends_on_trial_and_names_and_on_nothing_else(
    trial: int, names: list[str | int]
) -> None:
    text = "/".join([str(trial), *map(str, names)]).encode()
    expected = int(hashlib.sha256(text).hexdigest()[:16], 16) // 2
    assert Seeds(trial).number(*names) == expected
    assert 0 <= expected < 2**63


def test_numbers_are_the_same_in_every_process_and_version() -> None:
    assert Seeds(0).number("weights") == 133441691874178746
    assert Seeds(1).number("batches", 3) == 6513698346353964663


def test_streams_differ_between_trials_names_and_clients() -> None:
    numbers = [
        Seeds(trial).number("batches", client) for trial in range(20) for client in range(20)
    ]
    assert len(set(numbers)) == len(numbers)
    assert Seeds(0).number("weights") != Seeds(0).number("batches")


def test_a_stream_is_the_same_whatever_was_drawn_before() -> None:
    expected = torch.rand(5, generator=Seeds(2).generator("views", 7))
    torch.manual_seed(1)
    torch.rand(3, generator=Seeds(2).generator("views", 8))
    assert torch.equal(torch.rand(5, generator=Seeds(2).generator("views", 7)), expected)


def test_streams_live_on_the_cpu() -> None:
    assert Seeds(0).generator("weights").device == torch.device("cpu")


def source_of(stream: str) -> str:
    return next((source for source, names in SOURCES.items() if stream in names), "batches")


STREAMS = [*(name for names in SOURCES.values() for name in names), "batches", "views", "mask"]


@given(st.sampled_from(list(SOURCES)), st.integers(0, 50), st.integers(0, 50))
def test_a_redrawn_source_is_that_of_the_other_trial_and_nothing_else_moves(
    source: str, trial: int, other: int
) -> None:
    seeds = Seeds(trial, {source: other})
    for stream in STREAMS:
        expected = Seeds(other if source_of(stream) == source else trial)
        assert seeds.number(stream, 4, 7) == expected.number(stream, 4, 7)


def test_no_stream_belongs_to_two_sources() -> None:
    streams = [name for names in SOURCES.values() for name in names]
    assert len(set(streams)) == len(streams)


def test_sources_that_were_drawn_from_are_noted() -> None:
    seeds = Seeds(3)
    assert seeds.drawn == set()
    seeds.generator("partition", "training", 2)
    seeds.generator("views", 0, 1)
    assert seeds.drawn == {"partition", "batches"}
    assert seeds == Seeds(3)
    assert hash(seeds) == hash(Seeds(3))


def test_no_stream_of_a_series_is_one_of_another() -> None:
    numbers = [
        Seeds(trial, {"weights": other}, series).number(stream, 3)
        for series in range(4)
        for trial, other in ((0, 0), (1, 11), (2, 12))
        for stream in ("weights", "batches", "partition")
    ]
    assert len(set(numbers)) == len(numbers)
    assert Seeds(1, series=0).number("batches", 3) == 6513698346353964663
