import errno
import io
import json
import os
import re
import traceback
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import FedreproError, StoreError
from fedrepro.benchmark.judging.evidence import Finished, Missing, find_trial
from fedrepro.benchmark.printable import without_folders
from fedrepro.benchmark.store.files import arrays_from, path_segment, seal_of
from fedrepro.benchmark.store.store import SCHEMA, Store, TrialRecord, weights_from
from fedrepro.methods.outcome import Curve, Outcome
from tests.benchmark.small_papers import Make


@pytest.fixture
def config(tiny_config: Make) -> RunConfig:
    return tiny_config()


@pytest.fixture
def saved(store: Store, config: RunConfig, outcome: Outcome) -> TrialRecord:
    """The first trial of a store, and the only one."""
    with store.writing():
        return store.save(config, 0, outcome, {})


def file_of(store: Store) -> Path:
    """The record of the only trial."""
    return next((store.root / "trials").glob("*/*.json"))


def test_what_is_saved_is_found_by_another_reader(
    store: Store, config: RunConfig, outcome: Outcome
) -> None:
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
    encoder = weights_from(path.read_bytes())
    torch.testing.assert_close(encoder, dict(outcome.encoder), rtol=0, atol=0)
    assert reader.find(config, 4) is None
    assert list(reader.records()) == [record]


def test_equal_outcomes_are_stored_as_equal_bytes(
    store: Store, config: RunConfig, outcome: Outcome
) -> None:
    def contents() -> dict[str, bytes]:
        return {f.name: f.read_bytes() for f in (store.root / "trials").glob("*/*")}

    with store.writing():
        store.save(config, 0, outcome, {})
        first = contents()
        store.save(config, 0, outcome, {})
    assert contents() == first
    assert len(first) == 3


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"metrics": {"accuracy": Curve((1,), (float("nan"),))}}, "accuracy is not a finite"),
        ({"metrics": {"accuracy": Curve((1,), (float("inf"),))}}, "accuracy is not a finite"),
        ({"arrays": {"choice": np.array([{}], dtype=object)}}, "'choice' holds objects"),
    ],
)
def test_numbers_that_are_not_finite_and_arrays_of_objects_are_refused(
    store: Store, config: RunConfig, outcome: Outcome, changed: Mapping[str, Any], said: str
) -> None:
    with store.writing(), pytest.raises(ValueError, match=said):
        store.save(config, 0, replace(outcome, **changed), {})
    assert store.find(config, 0) is None


def test_stale_trials_are_found_where_they_are_asked_for_and_say_what_was_edited(
    tmp_path: Path, config: RunConfig, outcome: Outcome
) -> None:
    now = {"methods/a.py": "1", "methods/b.py": "1"}
    store = Store(tmp_path, lambda config: dict(now))
    with store.writing():
        for edit, hour in (("1", "02"), ("2", "03"), ("3", "01")):
            now["methods/b.py"] = edit
            store.save(config, 0, outcome, {"started": f"2026-01-01T{hour}:00:00+00:00"})
        now["methods/a.py"] = "2"
        found = find_trial(store, config, 0, {}, True)
        assert isinstance(found, Finished)
        assert found.record.source["methods/b.py"] == "2"
        assert found.edited == ("methods/a.py", "methods/b.py")
        assert found.arrays().keys() == outcome.arrays.keys()
        assert find_trial(store, config, 1, {}, True) == Missing()
        stale = "stored trials are stale, edited since: methods/a.py"
        assert find_trial(store, config, 0, {}, False) == Missing(stale)
        assert find_trial(store, config, 0, {config.key: "no data"}, False) == Missing("no data")
        store.save_error(config, 0, "diverged at round 2")
        failed = find_trial(store, config, 0, {}, True)
        assert failed == Missing("diverged at round 2", failed=True)
        assert store.find(config, 0) is None
        fresh = store.save(config, 0, outcome, {})
        assert store.error(config, 0) is None
    again = find_trial(store, config, 0, {}, True)
    assert isinstance(again, Finished)
    assert (again.record, again.edited) == (fresh, ())


@pytest.mark.usefixtures("saved")
@pytest.mark.parametrize(
    ("suffix", "damage"),
    [
        (suffix, damage)
        for suffix in (".json", ".npz", ".encoder.npz")
        for damage in ("cut", "changed", "gone")
        if (suffix, damage) != (".json", "gone")
    ],
)
def test_a_damaged_trial_is_told_counts_as_none_and_is_made_again(
    store: Store, config: RunConfig, outcome: Outcome, suffix: str, damage: str
) -> None:
    said = list[str]()
    file = file_of(store).with_suffix(suffix)
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        # A digit of a record, which is found by its checksum alone.
        other = content.replace(b"0.25", b"0.75") if suffix == ".json" else b"xxxx" + content[4:]
        file.write_bytes(content[:-9] if damage == "cut" else other)
    damaged = Store(store.root, store.source_of, warn=said.append)
    assert damaged.find(config, 0) is None
    assert file.name in said[0]
    with damaged.writing():
        assert damaged.find(config, 0) is None
        damaged.save(config, 0, outcome, {})
        assert damaged.find(config, 0) is not None
    assert len(said) == 1


@pytest.mark.usefixtures("saved")
@pytest.mark.parametrize("place", ["store.json", "record"])
def test_a_newer_store_is_refused_in_one_sentence(
    store: Store, config: RunConfig, place: str
) -> None:
    file = file_of(store) if place == "record" else store.root / "store.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema": SCHEMA + 1}))
    sentence = rf"store was written by a newer fedrepro \(schema {SCHEMA + 1} > {SCHEMA}\)"
    with pytest.raises(StoreError, match=sentence):
        Store(store.root, store.source_of).find(config, 0)
    assert file.exists()


@pytest.mark.usefixtures("saved")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("at", [(Path, "open"), (os, "fsync"), (Path, "replace")])
def test_a_disk_that_refuses_is_one_line_and_loses_nothing(
    store: Store, config: RunConfig, outcome: Outcome, code: int, at: tuple[Any, str]
) -> None:

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise OSError(code, os.strerror(code))

    with store.writing(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(*at, refuse)
        with pytest.raises(StoreError, match=os.strerror(code).lower()) as raised:
            store.save(config, 1, outcome, {})
    assert "\n" not in str(raised.value)
    again = Store(store.root, store.source_of)
    assert again.find(config, 0) is not None
    assert again.find(config, 1) is None
    assert not list(store.root.rglob("*.part"))


def test_a_second_writer_is_turned_away_while_the_first_writes(store: Store) -> None:
    other = Store(store.root)
    with store.writing(), pytest.raises(StoreError, match="another fedrepro is writing"):
        other.writing().__enter__()
    with other.writing():
        pass


def test_what_is_no_array_or_unpacks_to_more_than_its_file_is_refused() -> None:
    alien, bomb = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(alien, "w") as archive:
        archive.writestr("choice.npy", b"no array")
    np.savez_compressed(bomb, choice=np.zeros(30_000_000, dtype=np.uint8))
    for file, said in ((alien, "choice"), (bomb, "bytes would unpack to 30,000,128")):
        with pytest.raises(StoreError, match=said):
            arrays_from(file.getvalue())


def test_why_a_trial_failed_names_no_folder_of_this_machine(
    store: Store, config: RunConfig, tmp_path: Path
) -> None:
    try:
        (tmp_path / "no data").with_name("mnist").read_bytes()
    except OSError as error:
        message, details = str(error), traceback.format_exc()
    with store.writing():
        store.save_error(config, 0, message, details)
    text = next((store.root / "errors").iterdir()).read_text()
    assert str(Path(__file__).parent) in details
    assert str(tmp_path) in message
    plain = json.loads(text)
    assert plain["message"] == "[Errno 2] No such file or directory: 'mnist'"
    assert "tests/benchmark/test_store.py" in plain["details"]
    assert not re.search(r"(?<![\w.])/\w", plain["details"])


@pytest.mark.parametrize("text", ["1/2 of a/b", "https://example.org/a", "and / or", "~/data/x"])
def test_what_is_no_absolute_path_stays(text: str) -> None:
    assert without_folders(text) == text


def test_a_record_in_another_trials_place_is_not_taken_for_it(
    store: Store, config: RunConfig, outcome: Outcome
) -> None:
    with store.writing():
        store.save(config, 0, replace(outcome, arrays={}, encoder=None), {})
    file = file_of(store)
    file.rename(file.with_name(file.name.replace("seed0", "seed1")))
    assert Store(store.root, store.source_of).find(config, 1) is None


@pytest.mark.parametrize(
    "part",
    [
        {"provenance": 5},
        {"metrics": {"accuracy": {"rounds": [1], "values": [0.5, 0.5]}}},
        {"metrics": {"accuracy": {"rounds": [1], "values": ["0.5"]}}},
        {"metrics": {"accuracy": {"rounds": [1.5], "values": [0.5]}}},
        {"counts": {"parameters": True}},
        {"source": {"methods/a.py": 1}},
    ],
    ids=str,
)
def test_a_sealed_record_whose_parts_are_not_of_their_kind_is_damaged(
    store: Store, config: RunConfig, saved: TrialRecord, part: dict[str, Any]
) -> None:
    plain = {**saved.as_dict(), **part}
    file_of(store).write_text(json.dumps({**plain, "sha256": seal_of(plain)}))
    assert Store(store.root, store.source_of).find(config, 0) is None
    assert not list(Store(store.root, store.source_of).records())


def everything_in(folder: Path) -> dict[str, bytes | None]:
    """All files and folders below a folder, links not followed."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize(
    "foreign", ["notes.txt", "unfinished/thesis.part", "trials/notes.txt", ".git/config"]
)
def test_a_folder_of_somebody_elses_files_is_refused_and_stays_as_it_is(
    tmp_path: Path, foreign: str
) -> None:
    (tmp_path / foreign).parent.mkdir(exist_ok=True)
    (tmp_path / foreign).write_text('{"name": "not yours"}')
    before = everything_in(tmp_path)
    with pytest.raises(StoreError, match="no store of fedrepro") as raised:
        Store(tmp_path).writing().__enter__()
    assert "\n" not in str(raised.value)
    with pytest.raises(StoreError, match="cannot use store"):
        Store(tmp_path / foreign).writing().__enter__()  # no folder
    assert everything_in(tmp_path) == before


def test_a_store_removes_nothing_but_what_it_left_unfinished(store: Store) -> None:
    with store.writing():
        pass
    ours = "store.json.0123abcd.part", "0123456789ab-seed3.encoder.npz.89abcdef.part"
    for name in (*ours, "thesis.tex"):
        (store.root / "unfinished" / name).write_text("half")
    (store.root / "store.json").write_text("damaged")
    with Store(store.root).writing():
        left = [path.name for path in (store.root / "unfinished").iterdir()]
    assert left == ["thesis.tex"]
    assert (store.root / "store.json").read_text() == "damaged"


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_where_files_cannot_be_locked_a_store_writes_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def flock(file: int, operation: int) -> None:
        raise OSError(number, "no locks")

    monkeypatch.setattr("fcntl.flock", flock)
    said: list[str] = []
    with Store(tmp_path / "store", warn=said.append).writing():
        pass
    assert (tmp_path / "store/store.json").is_file()
    assert said == [f"files in {tmp_path}/store cannot be locked; let no other run write there"]


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/etc", "a\0", "n" * 256, "\ud800"])
def test_a_name_that_would_lead_elsewhere_is_no_name_of_a_file(name: str) -> None:
    with pytest.raises(FedreproError, match="cannot be the name of a file"):
        path_segment(name)
    assert path_segment("paper-smoke") == "paper-smoke"
