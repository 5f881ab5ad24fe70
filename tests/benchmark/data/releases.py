import hashlib
from collections.abc import Iterable
from pathlib import Path

import pytest

from fedrepro.benchmark.data.base import ReleasedSet


def take_for_released(
    monkeypatch: pytest.MonkeyPatch, data: type[ReleasedSet], files: Iterable[Path]
) -> None:
    sums = {file.name: hashlib.md5(file.read_bytes()).hexdigest() for file in files}
    monkeypatch.setattr(data, "md5", {**data.md5, **sums})
