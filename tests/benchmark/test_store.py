from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import FedreproError, StoreError
from fedrepro.benchmark.judging.trials import Finished, Missing, find_trial
from fedrepro.benchmark.store.files import path_segment, read_whole, seal_of, sha256_of, write_whole
from fedrepro.benchmark.store.record import SCHEMA
from fedrepro.benchmark.store.store import Store, read_encoder
from fedrepro.methods.outcome import Curve, Outcome

Make = Callable[..., RunConfig]


def test_what_is_saved_is_found_by_another_reader(
    store: Store, tiny_config: Make, outcome: Outcome
) -> None:
    config = tiny_config()
    with store.writing():
        store.save(config, 3, outcome, {"wall_s": 1.5})
    reader = Store(store.root, store.source_of)
    record = reader.find(config, 3)
    assert record is not None
    assert record.metrics["accuracy"] == Curve((1, 2), (0.25, 0.5))
    assert record.counts == {"parameters": 7.0}
    assert record.provenance == {"wall_s": 1.5}
    assert RunConfig.from_dict(record.config) == config
    np.testing.assert_array_equal(reader.load_arrays(record)["choice"], outcome.arrays["choice"])
    assert outcome.encoder is not None
    path = reader.encoder_path(record)
    assert path is not None
    encoder = read_encoder(path)
    torch.testing.assert_close(encoder, dict(outcome.encoder), rtol=0, atol=0)
    assert reader.find(config, 4) is None
    assert list(reader.records()) == [record]


def test_equal_outcomes_are_stored_as_equal_bytes(
    store: Store, tiny_config: Make, outcome: Outcome
) -> None:
    def contents() -> dict[str, bytes]:
        return {f.name: f.read_bytes() for f in (store.root / "trials").glob("*/*")}

    with store.writing():
        store.save(tiny_config(), 0, outcome, {})
        first = contents()
        store.save(tiny_config(), 0, outcome, {})
    assert contents() == first
    assert len(first) == 3


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_refused(
    store: Store, tiny_config: Make, outcome: Outcome, value: float
) -> None:
    config = tiny_config()
    bad = replace(outcome, metrics={"accuracy": Curve((1,), (value,))})
    with store.writing(), pytest.raises(ValueError, match="accuracy is not a finite number"):
        store.save(config, 0, bad, {})
    assert store.find(config, 0) is None


def test_edited_source_makes_a_trial_stale_and_names_the_file(
    tmp_path: Path, tiny_config: Make, outcome: Outcome
) -> None:
    now = {"methods/a.py": "1", "methods/b.py": "1"}
    config = tiny_config()
    store = Store(tmp_path, lambda config: dict(now))
    with store.writing():
        store.save(config, 0, outcome, {})
        assert store.stale(config, 0) == []
        now["methods/b.py"] = "2"
        assert store.find(config, 0) is None
        assert store.stale(config, 0) == ["methods/b.py"]
        assert store.stale(config, 1) == []
        store.save(config, 0, outcome, {})
    assert store.stale(config, 0) == []
    sources = [record.source for record in store.records()]
    assert sorted(source["methods/b.py"] for source in sources) == ["1", "2"]


def test_stale_trials_are_found_where_they_are_asked_for_and_say_what_was_edited(
    tmp_path: Path, tiny_config: Make, outcome: Outcome
) -> None:
    now = {"methods/a.py": "1", "methods/b.py": "1"}
    config, store = tiny_config(), Store(tmp_path, lambda config: dict(now))
    with store.writing():
        for edit, hour in (("1", "02"), ("2", "03"), ("3", "01")):
            now["methods/b.py"] = edit
            store.save(config, 0, outcome, {"started": f"2026-01-01T{hour}:00:00+00:00"})
        now["methods/a.py"] = "2"
        found = find_trial(store, config, 0, include_stale=True)
        assert isinstance(found, Finished)
        assert found.record.source["methods/b.py"] == "2"
        assert found.edited == ("methods/a.py", "methods/b.py")
        assert found.arrays().keys() == outcome.arrays.keys()
        assert find_trial(store, config, 1, include_stale=True) == Missing()
        stale = "stored trials are stale, edited since: methods/a.py"
        assert find_trial(store, config, 0) == Missing(stale)
        assert find_trial(store, config, 0, {config.key: "no data"}) == Missing("no data")
        fresh = store.save(config, 0, outcome, {})
    again = find_trial(store, config, 0, include_stale=True)
    assert isinstance(again, Finished)
    assert (again.record, again.edited) == (fresh, ())


def test_a_stale_trial_does_not_hide_a_failure_of_the_present_code(
    tmp_path: Path, tiny_config: Make, outcome: Outcome
) -> None:
    now = {"methods/a.py": "1"}
    config, store = tiny_config(), Store(tmp_path, lambda config: dict(now))
    with store.writing():
        store.save(config, 0, outcome, {})
        now["methods/a.py"] = "2"
        store.save_error(config, 0, "diverged at round 2")
    found = find_trial(store, config, 0, include_stale=True)
    assert found == Missing("diverged at round 2", failed=True)


@pytest.mark.parametrize("value", [1e101, -1e101])
def test_a_number_that_would_not_be_read_back_is_not_saved(
    store: Store, tiny_config: Make, outcome: Outcome, value: float
) -> None:
    beyond = replace(outcome, metrics={"accuracy": Curve((1,), (value,))})
    with store.writing(), pytest.raises(ValueError, match="accuracy is beyond"):
        store.save(tiny_config(), 0, beyond, {})
    with store.writing(), pytest.raises(ValueError, match="n is beyond"):
        store.save(tiny_config(), 0, replace(outcome, counts={"n": value}), {})


def test_errors_are_kept_apart_and_forgotten_on_success(
    store: Store, tiny_config: Make, outcome: Outcome
) -> None:
    config = tiny_config()
    with store.writing():
        store.save_error(config, 0, "diverged at round 2", "Traceback ...")
        assert store.find(config, 0) is None
        assert store.error(config, 0) == "diverged at round 2"
        store.save(config, 0, outcome, {})
    assert store.error(config, 0) is None


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [
        (suffix, damage)
        for suffix in (".json", ".npz", ".encoder.npz")
        for damage in ("cut", "changed", "gone")
        if (suffix, damage) != (".json", "gone")
    ],
)
def test_a_damaged_trial_is_put_aside_and_counts_as_none(
    store: Store, tiny_config: Make, outcome: Outcome, suffix: str, damage: str
) -> None:
    config, said = tiny_config(), list[str]()
    with store.writing():
        store.save(config, 0, outcome, {})
    record = next((store.root / "trials").glob("*/*.json"))
    file = record.with_suffix(suffix)
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(content[:-9] if damage == "cut" else b"xxxx" + content[4:])
    damaged = Store(store.root, store.source_of, warn=said.append)
    assert damaged.find(config, 0) is None
    assert record.exists()
    with damaged.writing():
        assert damaged.find(config, 0) is None
        assert file.name in said[-1]
        assert "quarantine" in said[-1]
        assert not record.exists()
        assert list((store.root / "quarantine").rglob(record.name))
        damaged.save(config, 0, outcome, {})
        assert damaged.find(config, 0) is not None


@pytest.mark.parametrize("place", ["store.json", "record"])
def test_a_newer_store_is_refused_in_one_sentence(
    store: Store, tiny_config: Make, outcome: Outcome, place: str
) -> None:
    config = tiny_config()
    with store.writing():
        store.save(config, 0, outcome, {})
    file = store.root / "store.json"
    if place == "record":
        file = next((store.root / "trials").glob("*/*.json"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema": SCHEMA + 1}))
    sentence = rf"store was written by a newer fedrepro \(schema {SCHEMA + 1} > {SCHEMA}\)"
    with pytest.raises(StoreError, match=sentence):
        Store(store.root, store.source_of).find(config, 0)
    assert file.exists()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("at", ["write", "fsync", "replace"])
def test_a_disk_that_refuses_is_one_line_and_loses_nothing(
    store: Store,
    tiny_config: Make,
    outcome: Outcome,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    at: str,
) -> None:
    config = tiny_config()

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise OSError(code, os.strerror(code))

    with store.writing():
        store.save(config, 0, outcome, {})
        if at == "write":
            monkeypatch.setattr(Path, "open", refuse)
        elif at == "fsync":
            monkeypatch.setattr(os, "fsync", refuse)
        else:
            monkeypatch.setattr(Path, "replace", refuse)
        with pytest.raises(StoreError, match=os.strerror(code).lower()) as raised:
            store.save(config, 1, outcome, {})
        monkeypatch.undo()
    assert "\n" not in str(raised.value)
    again = Store(store.root, store.source_of)
    assert again.find(config, 0) is not None
    assert again.find(config, 1) is None
    assert not list(store.root.rglob("*.part"))


def test_a_store_in_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="cannot use store"), Store(tmp_path / "file").writing():
        pass


def _write_in_another_process(root: Path, said: Any) -> None:
    try:
        with Store(root, lambda config: {}).writing():
            said.put("wrote")
    except StoreError as error:
        said.put(str(error))


def test_a_second_writer_is_turned_away_while_the_first_writes(store: Store) -> None:
    with store.writing():
        first = _second_writer(store.root)
    assert "another fedrepro is writing" in first
    assert _second_writer(store.root) == "wrote"


def _second_writer(root: Path) -> str:
    context = multiprocessing.get_context("fork")
    said = context.Queue()
    process = context.Process(target=_write_in_another_process, args=(root, said))
    process.start()
    answer: str = said.get(timeout=20)
    process.join()
    return answer


def test_arrays_of_objects_are_refused(store: Store, tiny_config: Make, outcome: Outcome) -> None:
    arrays: Mapping[str, Any] = {"choice": np.array([{}], dtype=object)}
    with store.writing(), pytest.raises(ValueError, match="'choice' holds objects"):
        store.save(tiny_config(), 0, replace(outcome, arrays=arrays), {})


def test_reading_an_empty_place_creates_nothing(tmp_path: Path, tiny_config: Make) -> None:
    store = Store(tmp_path / "none")
    assert store.find(tiny_config(), 0) is None
    assert list(store.records()) == []
    assert not (tmp_path / "none").exists()


def test_a_changed_number_in_a_record_is_found_by_its_checksum(
    store: Store, tiny_config: Make, outcome: Outcome
) -> None:
    config = tiny_config()
    with store.writing():
        store.save(config, 0, outcome, {})
    file = next((store.root / "trials").glob("*/*.json"))
    file.write_text(file.read_text().replace("0.25", "0.75"))
    assert Store(store.root, store.source_of).find(config, 0) is None


def test_a_record_in_another_trials_place_is_not_taken_for_it(
    store: Store, tiny_config: Make, outcome: Outcome
) -> None:
    config = tiny_config()
    with store.writing():
        store.save(config, 0, replace(outcome, arrays={}, encoder=None), {})
    file = next((store.root / "trials").glob("*/*.json"))
    file.rename(file.with_name(file.name.replace("seed0", "seed1")))
    assert Store(store.root, store.source_of).find(config, 1) is None


def test_a_store_of_the_first_schema_is_still_read(
    store: Store, tiny_config: Make, outcome: Outcome
) -> None:
    config = tiny_config()
    with store.writing():
        saved = store.save(config, 0, outcome, {})
    file = next((store.root / "trials").glob("*/*.json"))
    file.write_text(json.dumps({**saved.as_dict(), "schema": 1}))
    found = Store(store.root, store.source_of).find(config, 0)
    assert found is not None
    assert found.metrics == saved.metrics


@pytest.mark.parametrize("indent", [None, 1])
def test_a_record_whose_json_is_laid_out_otherwise_is_the_same(
    store: Store, tiny_config: Make, outcome: Outcome, indent: int | None
) -> None:
    config = tiny_config()
    with store.writing():
        saved = store.save(
            config, 0, outcome, {"data": {"source": {"checksum": "made"}, "counts": {}}}
        )
    file = next((store.root / "trials").glob("*/*.json"))
    assert Store(store.root, store.source_of).find(config, 0) == saved
    file.write_text(json.dumps(json.loads(file.read_text()), indent=indent))
    assert Store(store.root, store.source_of).find(config, 0) == saved


@pytest.mark.parametrize("key", ["config", "counts", "sha256", "source"])
def test_settings_may_have_the_names_of_a_records_own_parts(
    store: Store, tiny_config: Make, outcome: Outcome, key: str
) -> None:
    config = replace(tiny_config(), options={"a": 1, key: {"b": "x"}})
    with store.writing():
        store.save(config, 0, outcome, {key: {}, "z": {}})
    assert Store(store.root, store.source_of).find(config, 0) is not None


def test_a_record_changed_byte_for_byte_is_found_by_its_seal(
    store: Store, tiny_config: Make, outcome: Outcome
) -> None:
    config = tiny_config()
    with store.writing():
        store.save(config, 1, outcome, {})
    file = next((store.root / "trials").glob("*/*seed1.json"))
    file.write_bytes(file.read_bytes().replace(b'"seed":1', b'"seed":0'))
    assert Store(store.root, store.source_of).find(config, 1) is None


@pytest.mark.parametrize(
    "part",
    [
        {"provenance": 5},
        {"metrics": {"accuracy": {"rounds": [1], "values": [0.5, 0.5]}}},
        {"metrics": {"accuracy": {"rounds": [1], "values": ["0.5"]}}},
        {"metrics": {"accuracy": {"rounds": [1.5], "values": [0.5]}}},
        {"metrics": {"accuracy": {"rounds": [1], "values": [10**400]}}},
        {"counts": {"parameters": True}},
        {"source": {"methods/a.py": 1}},
        {"provenance": {"wall_s": "1"}},
        {"provenance": {"versions": ["torch"]}},
        {"provenance": {"data": {"digits/train": 7}}},
        {"provenance": {"data": {"digits/train": {"checksum": 7}}}},
        {"provenance": {"commit": 7}},
    ],
    ids=str,
)
def test_a_sealed_record_whose_parts_are_not_of_their_kind_is_damaged(
    store: Store, tiny_config: Make, outcome: Outcome, part: dict[str, Any]
) -> None:
    config = tiny_config()
    with store.writing():
        saved = store.save(config, 0, outcome, {})
    file = next((store.root / "trials").glob("*/*.json"))
    plain = {**saved.as_dict(), **part}
    file.write_text(json.dumps({**plain, "sha256": seal_of(plain)}))
    assert Store(store.root, store.source_of).find(config, 0) is None
    assert not list(Store(store.root, store.source_of).records())


def test_a_damaged_trial_is_told_of_once(store: Store, tiny_config: Make, outcome: Outcome) -> None:
    config, said = tiny_config(), list[str]()
    with store.writing():
        store.save(config, 0, outcome, {})
    next((store.root / "trials").glob("*/*.json")).write_text("{")
    reader = Store(store.root, store.source_of, warn=said.append)
    assert (reader.find(config, 0), list(reader.records()), len(said)) == (None, [], 1)


def test_a_second_damaged_file_does_not_overwrite_the_first_in_quarantine(
    store: Store, tiny_config: Make, outcome: Outcome
) -> None:
    config = tiny_config()
    for n in range(2):
        with store.writing():
            store.save(config, 0, outcome, {})
        file = next((store.root / "trials").glob("*/*.json"))
        file.write_text(f"damaged {n}")
        with Store(store.root, store.source_of).writing():
            pass
        again = Store(store.root, store.source_of)
        with again.writing():
            assert again.find(config, 0) is None
    kept = sorted(f.read_text() for f in (store.root / "quarantine").rglob("*.json"))
    assert kept == ["damaged 0", "damaged 1"]


def test_what_a_killed_writer_left_unfinished_is_cleared_by_the_next(store: Store) -> None:
    with store.writing():
        left = store.root / "unfinished" / "0123456789ab-seed3.encoder.npz.89abcdef.part"
        left.write_bytes(b"half")
    assert left.exists()
    with store.writing():
        assert not left.exists()


# -- other people's files ------------------------------------------------------------------------


def everything_in(folder: Path) -> dict[str, bytes | None]:
    """All files and folders below a folder, links not followed."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@contextmanager
def writing_to(root: Path) -> Iterator[Store]:
    store = Store(root)
    with store.writing():
        yield store


@pytest.mark.parametrize(
    "foreign",
    [
        "notes.txt",
        "unfinished/notes.txt",
        "unfinished/thesis.part",
        "trials/notes.txt",
        "errors/log.json",
        "lock",
        ".git/config",
        "store.json",
    ],
)
def test_a_folder_of_somebody_elses_files_is_refused_and_stays_as_it_is(
    tmp_path: Path, foreign: str
) -> None:
    (tmp_path / foreign).parent.mkdir(exist_ok=True)
    (tmp_path / foreign).write_text('{"name": "not yours"}')
    before = everything_in(tmp_path)
    with pytest.raises(StoreError, match="no store of fedrepro") as raised, writing_to(tmp_path):
        pass
    assert "\n" not in str(raised.value)
    assert everything_in(tmp_path) == before


def test_a_store_removes_nothing_but_what_it_left_unfinished(store: Store, tmp_path: Path) -> None:
    with store.writing():
        pass
    mine = store.root / "unfinished" / "store.json.0123abcd.part"
    theirs = store.root / "unfinished" / "thesis.tex"
    linked = store.root / "unfinished" / "store.json.4567abcd.part"
    mine.write_text("half")
    theirs.write_text("all of it")
    (tmp_path / "away").write_text("far away")
    linked.symlink_to(tmp_path / "away")
    with store.writing():
        assert not mine.exists()
    assert theirs.read_text() == "all of it"
    assert (tmp_path / "away").read_text() == "far away"


@pytest.mark.parametrize("name", ["trials", "errors", "quarantine", "unfinished"])
@pytest.mark.parametrize("kind", ["link", "file", "pipe"])
def test_a_store_whose_folders_are_none_of_its_own_is_refused(
    store: Store, tmp_path: Path, name: str, kind: str
) -> None:
    with store.writing():
        pass
    place, away = store.root / name, tmp_path / "away"
    if place.exists():
        place.rmdir()
    away.mkdir()
    (away / "x.part").write_text("theirs")
    if kind == "link":
        place.symlink_to(away)
    elif kind == "file":
        place.write_text("")
    else:
        os.mkfifo(place)
    refusal = f"{name} is (a symbolic link|no folder)"
    with pytest.raises(StoreError, match=refusal), store.writing():
        pass
    assert everything_in(away) == {"x.part": b"theirs"}


def test_nothing_is_written_or_moved_through_a_link_in_place_of_a_runs_folder(
    store: Store, tiny_config: Make, outcome: Outcome, tmp_path: Path
) -> None:
    config, away = tiny_config(), tmp_path / "away"
    with store.writing():
        store.save(config, 0, outcome, {})
        (store.root / "trials" / config.key).rename(away)
        (store.root / "trials" / config.key).symlink_to(away)
        before = everything_in(away)
        with pytest.raises(StoreError, match="is a symbolic link"):
            store.save(config, 1, outcome, {})
        next(away.glob("*.npz")).write_bytes(b"damaged")
        with pytest.raises(StoreError, match="is a symbolic link"):
            store.find(config, 0)
    assert everything_in(away).keys() == before.keys()


@pytest.mark.parametrize("left", [[], ["lock"], ["lock", "trials"], ["lock", "unfinished", "part"]])
def test_a_store_that_was_only_begun_when_its_writer_was_killed_is_gone_on_with(
    store: Store, left: list[str]
) -> None:
    store.root.mkdir()
    for name in left:
        if name == "part":
            (store.root / "unfinished" / "store.json.0123abcd.part").write_bytes(b'{"sch')
        elif name == "lock":
            (store.root / name).touch()
        else:
            (store.root / name).mkdir()
    with store.writing():
        assert json.loads((store.root / "store.json").read_text()) == {"schema": SCHEMA}


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_a_store_that_lost_its_description_is_known_by_its_records(
    store: Store, tiny_config: Make, outcome: Outcome, damage: str
) -> None:
    with store.writing():
        store.save(tiny_config(), 0, outcome, {})
    description = store.root / "store.json"
    description.unlink() if damage == "gone" else description.write_text('{"sch')
    with store.writing():
        assert store.find(tiny_config(), 0) is not None
    assert json.loads(description.read_text()) == {"schema": SCHEMA}


# -- what is no file -----------------------------------------------------------------------------


def put(kind: str, path: Path) -> None:
    """Something that is no file, in a file's place."""
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "device":
        path.symlink_to("/dev/null")
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(1 << 42)
    else:
        path.symlink_to("nowhere")


@pytest.fixture
def impatience() -> Iterator[None]:
    """Fails a test that waits for the other end of a pipe."""

    def give_up(*_: Any) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


KINDS = ["pipe", "folder", "loop", "device", "huge"]


@pytest.mark.usefixtures("impatience")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".json", ".npz", ".encoder.npz"])
def test_what_is_no_file_in_a_trials_place_counts_as_damaged(
    store: Store, tiny_config: Make, outcome: Outcome, suffix: str, kind: str
) -> None:
    config, said = tiny_config(), list[str]()
    with store.writing():
        store.save(config, 0, outcome, {})
    file = next((store.root / "trials").glob("*/*.json")).with_suffix(suffix)
    put(kind, file)
    again = Store(store.root, store.source_of, warn=said.append)
    assert list(again.records()) == []
    assert file.name in said[0]
    with again.writing():
        assert again.find(config, 0) is None
        again.save(config, 0, outcome, {})
        assert again.find(config, 0) is not None


@pytest.mark.usefixtures("impatience")
@pytest.mark.parametrize("kind", [*KINDS, "nowhere"])
@pytest.mark.parametrize("name", ["store.json", "lock"])
def test_what_is_no_file_in_the_place_of_description_or_lock_is_one_line(
    store: Store, tiny_config: Make, outcome: Outcome, name: str, kind: str
) -> None:
    with store.writing():
        store.save(tiny_config(), 0, outcome, {})
    put(kind, store.root / name)
    if (name, kind) in (("store.json", "nowhere"), ("lock", "huge")):
        with store.writing():  # a link to nothing is as good as nothing, and replaced
            pass
        assert (store.root / name).is_file()
        return
    with pytest.raises(StoreError, match=name) as raised, writing_to(store.root):
        pass
    assert "\n" not in str(raised.value)
    assert not (store.root / "nowhere").exists()


@pytest.mark.usefixtures("impatience")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_in_the_place_of_an_error_is_no_error(
    store: Store, tiny_config: Make, kind: str
) -> None:
    config = tiny_config()
    with store.writing():
        store.save_error(config, 0, "diverged at round 2")
    put(kind, next((store.root / "errors").iterdir()))
    assert store.error(config, 0) is None


@pytest.mark.usefixtures("impatience")
@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_that_is_no_file_is_one_line(tmp_path: Path, kind: str) -> None:
    put(kind, tmp_path / "encoder.npz")
    with pytest.raises(StoreError, match="cannot read"):
        read_encoder(tmp_path / "encoder.npz")


def test_a_record_names_no_arrays_but_its_own(
    store: Store, tiny_config: Make, outcome: Outcome, tmp_path: Path
) -> None:
    config = tiny_config()
    with store.writing():
        saved = store.save(config, 0, outcome, {})
    (tmp_path / "theirs.npz").write_bytes(b"secret")
    elsewhere = {"file": "../../../theirs.npz", "sha256": sha256_of(b"secret")}
    file = next((store.root / "trials").glob("*/*.json"))
    file.write_bytes(replace(saved, arrays=elsewhere).as_file())
    assert Store(store.root, store.source_of).find(config, 0) is None


def test_files_are_never_written_through_a_link_that_was_laid_before(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs")
    (tmp_path / ".report.json.part").symlink_to(theirs)
    (tmp_path / "report.json").symlink_to(theirs)
    write_whole(tmp_path / "report.json", b"ours")
    assert theirs.read_text() == "theirs"
    assert (tmp_path / "report.json").read_bytes() == b"ours"


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/etc", "a\0", "n" * 256, "\ud800"])
def test_a_name_that_would_lead_elsewhere_is_no_name_of_a_file(name: str) -> None:
    with pytest.raises(FedreproError, match="cannot be the name of a file"):
        path_segment(name)
    assert path_segment("paper-smoke") == "paper-smoke"


@pytest.mark.parametrize("aside", [True, False])
def test_a_pipe_is_not_replaced_and_nothing_is_left(tmp_path: Path, aside: bool) -> None:
    """What root would do to a device: its name would be a file's from then on."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileExistsError, match="is no file"):
        write_whole(tmp_path / "pipe", b"ours", tmp_path / "aside" if aside else None)
    assert (tmp_path / "pipe").is_fifo()
    assert list(tmp_path.iterdir()) == [tmp_path / "pipe"]


def test_a_file_that_says_it_is_larger_than_memory_is_not_read(tmp_path: Path) -> None:
    put("huge", tmp_path / "huge")
    with pytest.raises(StoreError, match="larger than"):
        read_whole(tmp_path / "huge")


def test_a_store_in_a_folder_whose_name_is_not_utf8_keeps_its_trials(
    tmp_path: Path, tiny_config: Make, outcome: Outcome
) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/stor\xe9"))
    store = Store(root, lambda config: {"methods/a.py": "1"})
    with store.writing():
        store.save(tiny_config(), 0, outcome, {})
    assert store.find(tiny_config(), 0) is not None
