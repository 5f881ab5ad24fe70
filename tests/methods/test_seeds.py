from __future__ import annotations

import hashlib

import torch
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.methods.seeds import Seeds

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
