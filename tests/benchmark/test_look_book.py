"""How often claims were looked at is noted in the store, sealed, and judged accordingly."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.errors import StoreError
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.judging.looking import _with
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.results import ClaimResult
from fedrepro.benchmark.spec.model import Claim, MoreTrials, Paper
from fedrepro.benchmark.stats.looks import Looks, shares
from fedrepro.benchmark.store.looks import LookBook
from fedrepro.benchmark.store.store import Store
from fedrepro.methods.outcome import Curve, Outcome

ONE, TWO = "0" * 16, "1" * 16


@pytest.fixture
def book(tmp_path: Path) -> LookBook:
    (tmp_path / "store.json").write_text('{"schema": 2}')
    return LookBook(tmp_path)


def test_looks_are_read_back_and_added_to_with_what_was_declared_first(book: LookBook) -> None:
    assert book.read() == {}
    book.note({ONE: Looks((5,), 20)})
    book.note({ONE: Looks((10,), 40), TWO: Looks((3,), 3)})
    assert book.read() == {ONE: Looks((5, 10), 20), TWO: Looks((3,), 3)}


def test_the_same_look_writes_nothing(book: LookBook) -> None:
    book.note({ONE: Looks((5,), 20)})
    before = book.path.stat()
    book.note({ONE: Looks((5,), 20)})
    assert book.path.stat().st_ino == before.st_ino


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"counts":[5]', '"counts":[4]'),
        lambda text: text[:-20],
        lambda text: "[]",
        lambda text: "[" * 100_000,
        lambda text: '{"schema": 1}',
    ],
)
def test_a_damaged_book_is_told_and_counts_as_none(
    book: LookBook, change: Callable[[str], str]
) -> None:
    said: list[str] = []
    book.warn = said.append
    book.note({ONE: Looks((5,), 20)})
    book.path.write_text(change(book.path.read_text()))
    assert book.read() == {}
    assert "damaged" in said[0]


def test_a_book_of_a_newer_version_is_not_overwritten(book: LookBook) -> None:
    book.path.write_text('{"schema": 99, "looks": {}, "sha256": ""}')
    with pytest.raises(StoreError, match="newer"):
        book.note({ONE: Looks((5,), 20)})
    assert json.loads(book.path.read_text())["schema"] == 99


@pytest.mark.parametrize("name", ["looks.json", "looks.lock"])
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_refused_without_waiting(
    book: LookBook, name: str, make: Callable[[Path], None]
) -> None:
    make(book.path.with_name(name))
    with pytest.raises(StoreError, match=name):
        book.note({ONE: Looks((5,), 20)})


def test_nothing_is_written_into_a_folder_that_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("mine")
    with pytest.raises(StoreError, match="no store"):
        LookBook(tmp_path).note({ONE: Looks((5,), 20)})
    assert [file.name for file in tmp_path.iterdir()] == ["diary.txt"]


def test_what_a_killed_writer_left_is_removed_and_nothing_else(book: LookBook) -> None:
    unfinished = book.path.parent / "unfinished"
    unfinished.mkdir()
    left, other = unfinished / "looks.json.0123abcd.part", unfinished / "looks.json.old"
    left.touch()
    other.touch()
    book.note({ONE: Looks((5,), 20)})
    assert list(unfinished.iterdir()) == [other]


def test_a_look_is_new_only_with_more_trials_than_all_before() -> None:
    assert _with(None, 5, 20) == Looks((5,), 20)
    assert _with(None, 40, 20) == Looks((40,), 40)
    known = Looks((5, 20), 40)
    assert _with(known, 40, 99) == Looks((5, 20, 40), 40)
    assert _with(known, 20, 40) == known
    assert _with(known, 10, 40) == Looks((5,), 40)
    assert _with(Looks((20,), 40), 5, 40) == Looks((), 40)
    assert _with(known, 60, 60) == Looks((5, 20, 40), 40)


@given(st.lists(st.integers(2, 100), min_size=1, max_size=12), st.integers(2, 60))
def test_however_one_looks_no_more_than_the_level_is_spent(ns: list[int], declared: int) -> None:
    """The looks at which a word was ever told, each with the share that it had then."""
    known, told = None, dict[int, float]()
    first = max(declared, ns[0])
    for n in ns:
        now = _with(known, n, declared)
        for count, share in zip(now.counts, shares(now.counts, now.declared), strict=True):
            told[count] = max(share, told.get(count, 0.0))
            assert count <= min(n, first)
        counts = sorted({*now.counts, *(() if known is None else known.counts)})
        known = Looks(tuple(counts), now.declared)
    assert sum(told.values()) <= 1 + 1e-12


@pytest.fixture
def paper(tiny_paper: Callable[..., Paper]) -> Paper:
    """Two methods, and the claim that the one is better; twenty trials, looked at from five."""
    paper = tiny_paper({"a": {}, "b": {"method": "ifca"}}, trials=20)
    table = replace(paper.tables[0], claims=(Claim("better", "s", "'a' > 'b' at 'at final'"),))
    profile = replace(paper.profiles["smoke"], looks=(5, 10, 20))
    return replace(paper, tables=(table,), profiles={"smoke": profile})


def fill(store: Store, plan: Plan, gains: dict[str, float], trials: range) -> None:
    """Trials of two runs, in percent, with a spread of a few points."""
    with store.writing():
        for run in plan.runs:
            for seed in trials:
                value = (50 + gains.get(run.method, 0.0) + seed * 7 % 5) / 100
                curve = Curve((1, 2), (0.1, value))
                store.save(run, seed, Outcome({"accuracy": curve}), {"wall_s": 1.0, "device": "x"})


def claim_of(plan: Plan, store: Store) -> ClaimResult:
    return judge(plan, store, command="test", audit=False).tables[0].claims[0]


def test_a_report_counts_its_look(paper: Paper, store: Store) -> None:
    early, whole = make_plan(paper, "smoke", trials=5), make_plan(paper, "smoke")
    fill(store, whole, {}, range(20))
    assert (claim_of(early, store).looks, claim_of(early, store).declared) == ((5,), 20)
    assert claim_of(whole, store).looks == (5, 20)
    assert claim_of(whole, store).looks == (5, 20)
    assert list(store.looks.read().values()) == [Looks((5, 20), 20)]


def test_a_claim_on_a_table_with_more_trials_has_its_own_number_of_them(
    paper: Paper, store: Store
) -> None:
    (table,) = paper.tables
    profile = replace(paper.profiles["smoke"], trials=5, looks=())
    table = replace(table, more_trials={"smoke": MoreTrials(12, "its claim is close")})
    paper = replace(paper, tables=(table,), profiles={"smoke": profile})
    plan = make_plan(paper, "smoke")
    fill(store, plan, {}, range(20))
    early = make_plan(paper, "smoke", trials=5)
    assert (claim_of(early, store).looks, claim_of(early, store).declared) == ((5,), 12)
    assert (claim_of(plan, store).looks, claim_of(plan, store).declared) == ((5, 12), 12)
    said = judge(plan, store, command="test", audit=False).tables[0].notes[-1]
    assert said == "12 trials for the 5 of the profile: its claim is close."


def test_trials_beyond_those_declared_do_not_count_and_the_report_says_so(
    paper: Paper, store: Store
) -> None:
    fill(store, make_plan(paper, "smoke"), {}, range(30))
    claim_of(make_plan(paper, "smoke"), store)
    claim = claim_of(make_plan(paper, "smoke", trials=30), store)
    assert (claim.looks, claim.declared) == ((20,), 20)
    assert "Of 30 trials the first 20 count" in claim.reason


def test_other_code_and_another_round_are_looked_at_anew(
    paper: Paper, store: Store, tmp_path: Path
) -> None:
    plan = make_plan(paper, "smoke", trials=5)
    fill(store, plan, {}, range(5))
    claim_of(plan, store)
    edited = Store(store.root, source_of=lambda config: {"methods/a.py": "2"})
    fill(edited, plan, {}, range(5))
    assert claim_of(plan, edited).looks == (5,)
    assert len(edited.looks.read()) == 2
    other = make_plan(paper, "smoke", trials=5, sets={"at": 1})
    claim_of(other, edited)
    assert len(edited.looks.read()) == 3


def test_a_claim_that_lacks_a_trial_was_not_looked_at(paper: Paper, store: Store) -> None:
    fill(store, make_plan(paper, "smoke"), {}, range(7))
    assert claim_of(make_plan(paper, "smoke"), store).looks == ()
    assert store.looks.read() == {}


def test_a_store_that_cannot_be_written_still_gives_a_report_which_says_so(
    paper: Paper, store: Store
) -> None:
    said: list[str] = []
    store.looks.warn = said.append
    plan = make_plan(paper, "smoke", trials=5)
    fill(store, plan, {}, range(5))
    (store.root / "looks.lock").mkdir()
    claim = claim_of(plan, store)
    assert claim.looks == (5,)
    assert claim.reason.endswith("could not be noted in the store.")
    assert "not noted" in said[0]


@pytest.mark.parametrize("kind", ["pipe", "folder", "newer"])
def test_a_book_that_cannot_be_read_still_gives_a_report_which_says_so(
    paper: Paper, store: Store, kind: str
) -> None:
    said: list[str] = []
    store.looks.warn = said.append
    plan = make_plan(paper, "smoke", trials=5)
    fill(store, plan, {}, range(5))
    book = store.root / "looks.json"
    if kind == "pipe":
        os.mkfifo(book)
    elif kind == "folder":
        book.mkdir()
    else:
        book.write_text('{"schema": 99}')
    claim = claim_of(plan, store)
    assert claim.looks == (5,)
    assert claim.reason.endswith("could not be noted in the store.")
    assert "not noted" in said[0]
