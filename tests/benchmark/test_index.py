from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import StoreError
from fedrepro.benchmark.store.index import Index
from fedrepro.benchmark.store.record import TrialRecord
from fedrepro.benchmark.store.store import Store
from fedrepro.methods.outcome import Outcome

Make = Callable[..., RunConfig]
VALUES = "SELECT run, seed, metric, round, value FROM metrics ORDER BY seed, round"


@pytest.fixture
def filled(store: Store, tiny_config: Make, outcome: Outcome) -> Store:
    with store.writing():
        for seed in (0, 1):
            store.save(tiny_config(), seed, outcome, {"device": "d", "wall_s": 2.0})
    return store


def test_index_lists_every_value_of_every_trial(filled: Store, tiny_config: Make) -> None:
    index, key = Index(filled), tiny_config().key
    assert index.rebuild() == 2
    assert index.query(VALUES) == [
        (key, seed, "accuracy", at, value) for seed in (0, 1) for at, value in ((1, 0.25), (2, 0.5))
    ]
    assert index.query("SELECT DISTINCT method, data, device, wall_s FROM trials") == [
        ("fedavg", "digits", "d", 2.0)
    ]


def test_adding_trials_gives_what_a_rebuild_gives(filled: Store) -> None:
    index = Index(filled)
    for record in filled.records():
        index.add(record)
    added = index.query(VALUES)
    index.rebuild()
    assert index.query(VALUES) == added


@pytest.mark.parametrize("harm", ["gone", "garbage", "behind", "ahead"])
def test_refresh_repairs_whatever_happened_to_the_index(filled: Store, harm: str) -> None:
    index = Index(filled)
    index.rebuild()
    whole = index.query(VALUES)
    if harm == "gone":
        index.path.unlink()
    elif harm == "garbage":
        index.path.write_bytes(b"not a database" * 100)
    elif harm == "behind":
        index.path.unlink()
        index.add(next(filled.records()))
    else:
        index.add(replace(next(filled.records()), seed=7))
    index.refresh()
    assert index.query(VALUES) == whole


@pytest.mark.parametrize("harm", ["none", "gone", "behind"])
def test_refresh_reads_every_record_once(
    filled: Store, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    Index(filled).rebuild()
    if harm != "none":
        Index(filled).path.unlink()
    if harm == "behind":
        Index(filled).add(next(filled.records()))
    records, read = Store.records, list[TrialRecord]()

    def watched(store: Store) -> Iterator[TrialRecord]:
        for record in records(store):
            read.append(record)
            yield record

    monkeypatch.setattr(Store, "records", watched)
    Index(filled).refresh()
    assert [record.seed for record in read] == [0, 1]


def test_a_wrong_query_is_one_line(filled: Store) -> None:
    index = Index(filled)
    index.rebuild()
    with pytest.raises(StoreError, match="no such table"):
        index.query("SELECT * FROM absent")
    with pytest.raises(StoreError, match="readonly"):
        index.query("DELETE FROM metrics")
