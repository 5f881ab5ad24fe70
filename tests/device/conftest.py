"""The pretended card, in a process of its own: PyTorch cannot forget a device that it has met."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

import pytest

from tests.device.card import install


@pytest.fixture(scope="session")
def card() -> Iterator[Executor]:
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, initializer=install) as pool:
        yield pool
