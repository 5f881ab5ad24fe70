"""Checkpoints in a store: whose are used, what becomes of the others, and who may write them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import torch

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.execution.executors._work import OverdueError, _interruptible
from fedrepro.benchmark.execution.executors.base import Saving
from fedrepro.benchmark.execution.jobs import Job
from fedrepro.benchmark.store.checkpoints import TrialFile
from fedrepro.benchmark.store.folder import clear_unfinished, forget_checkpoint, trial_name
from fedrepro.benchmark.training.stages.trial import StaleStateError
from fedrepro.methods.outcome import DivergedError

IDENTITY = {"run": "0123456789abcdef", "seed": 3, "source": "abc", "versions": {"torch": "2"}}
NAME = trial_name("0123456789abcdef", 3)
STATE = {"round": 7, "weights": {"w": torch.arange(6.0).reshape(2, 3)}}


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def file(tmp_path: Path, said: list[str]) -> Iterator[TrialFile]:
    packages = ["fedrepro.methods"]
    with TrialFile(
        tmp_path, NAME, IDENTITY, packages, torch.device("cpu"), said.append, 0.2
    ) as made:
        yield made


def again(file: TrialFile, **changed: Any) -> TrialFile:
    """As another process would see it, after this one."""
    file.__exit__()
    return TrialFile(
        file.root, NAME, {**IDENTITY, **changed}, file.packages, file.device, file.say, 0.2
    )


def test_what_was_written_is_read(file: TrialFile, said: list[str]) -> None:
    assert file.read() is None
    file.write({"round": 1})
    file.write(STATE)
    found = again(file).read()
    assert found["round"] == 7
    assert torch.equal(found["weights"]["w"], STATE["weights"]["w"])  # type: ignore[index]
    assert not said
    assert not list((file.root / "unfinished").iterdir())


def test_nothing_is_made_before_the_first_time(file: TrialFile) -> None:
    assert file.read() is None
    assert not list(file.root.iterdir())


@pytest.mark.parametrize(
    ("name", "value"),
    [("run", "f" * 16), ("seed", 4), ("source", "abd"), ("versions", {"torch": "3"})],
)
def test_that_of_another_trial_is_set_aside(
    file: TrialFile, said: list[str], name: str, value: object
) -> None:
    file.write(STATE)
    other = again(file, **{name: value})
    assert other.read() is None
    assert said == [f"its checkpoint is of another {name}; set aside, the trial starts anew"]
    assert not file.path.exists()
    assert (file.root / "quarantine" / "checkpoints" / file.path.name).is_file()


def test_one_of_an_older_form_is_set_aside(file: TrialFile, said: list[str]) -> None:
    file.write(STATE)
    assert again(file, precision="bf16").read() is None
    assert "another precision" in said[0]


@pytest.mark.parametrize("at", [0, 10, 30, 60, 100, 200, -100, -70, -1])
def test_a_changed_byte_is_found(file: TrialFile, said: list[str], at: int) -> None:
    file.write(STATE)
    content = bytearray(file.path.read_bytes())
    content[at] ^= 1
    file.path.write_bytes(content)
    assert again(file).read() is None
    assert said == ["its checkpoint is damaged; set aside, the trial starts anew"]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_cut_file_is_found(file: TrialFile, said: list[str], share: float) -> None:
    file.write(STATE)
    content = file.path.read_bytes()
    file.path.write_bytes(content[: int(share * len(content))])
    assert again(file).read() is None
    assert "damaged" in said[0]


def test_a_folder_in_its_place_is_set_aside(file: TrialFile, said: list[str]) -> None:
    file.path.mkdir(parents=True)
    assert file.read() is None
    assert "damaged" in said[0]
    file.write(STATE)
    assert again(file).read() is not None


def test_a_file_with_holes_in_its_place_is_set_aside(file: TrialFile, said: list[str]) -> None:
    file.path.parent.mkdir()
    with file.path.open("wb") as made:
        made.truncate(1 << 42)
    assert file.read() is None
    assert said == ["its checkpoint is damaged; set aside, the trial starts anew"]
    file.write(STATE)
    assert again(file).read()["round"] == 7


def test_no_link_is_followed(file: TrialFile, said: list[str], tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "checkpoints").symlink_to(elsewhere)
    file.write(STATE)
    assert "symbolic link" in said[0]
    assert not list(elsewhere.iterdir())


def test_a_state_that_cannot_be_saved_is_said_once(file: TrialFile, said: list[str]) -> None:
    for _ in range(3):
        file.write({"what": object()})
    assert said == ["its state is not saved: builtins.object cannot be saved"]
    assert not file.path.exists()
    assert not list((file.root / "unfinished").iterdir())


def test_a_disk_that_refuses_ends_no_training(file: TrialFile, said: list[str]) -> None:
    (file.root / "checkpoints").write_text("in its way")
    file.write(STATE)
    assert len(said) == 1


def _holds(root: Path, pipe: Connection) -> None:
    with TrialFile(root, NAME, IDENTITY, [], torch.device("cpu")) as file:
        file.write({"round": 9})
        pipe.send("held")
        pipe.recv()


def test_two_processes_never_have_one_checkpoint(file: TrialFile, said: list[str]) -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_holds, args=(file.root, theirs))
    process.start()
    try:
        assert ours.recv() == "held"
        with pytest.raises(FedreproError, match="another process"):
            file.read()
        file.write(STATE)
        assert "another process" in said[0]
        process.kill()  # the lock goes with the process
        process.join()
        assert again(file).read() == {"round": 9}
    finally:
        process.kill()
        process.join()


def test_a_record_leaves_nothing_of_it(file: TrialFile) -> None:
    file.write(STATE)
    file.__exit__()
    forget_checkpoint(file.root, NAME)
    assert not list((file.root / "checkpoints").iterdir())


def test_what_a_killed_writer_left_is_cleared_by_the_next_driver(file: TrialFile) -> None:
    file.write(STATE)
    left = file.root / "unfinished" / f"{NAME}.checkpoint.0123abcd.part"
    left.write_bytes(b"half of it")
    clear_unfinished(file.root)
    assert not left.exists()
    assert file.path.exists()


NOTHING = RunConfig("costs", "fedavg", {}, {"name": "digits"}, {"name": "cnn"})


class EndedError(Exception):
    """Whatever else a training may raise."""


@pytest.mark.parametrize(
    ("error", "stays"),
    [
        (BrokenPipeError(), True),  # the driver was killed while progress was told
        (MemoryError(), True),
        (OverdueError(Job(NOTHING, 0, limit_s=1.0)), True),
        (EndedError(), False),
        (DivergedError(3), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_checkpoint_goes_only_with_a_failure_that_would_come_again(
    file: TrialFile, error: Exception, stays: bool
) -> None:
    file.write({"at": "round 2"})
    saving = Saving(file.root, 1.0)

    def train(**given: Any) -> Any:
        assert given["saved"] == {"at": "round 2"}
        raise error

    with pytest.raises(type(error)):
        _interruptible(train, again(file), saving, lambda sentence: None)
    assert file.path.exists() == stays


def test_a_failure_from_the_start_keeps_what_was_saved_since(file: TrialFile) -> None:
    def train(**given: Any) -> Any:
        given["save"]({"at": "round 2"})
        raise EndedError

    with pytest.raises(EndedError):
        _interruptible(train, file, Saving(file.root, 1.0), lambda sentence: None)
    assert file.path.exists()


def test_data_that_have_changed_begin_a_trial_anew(file: TrialFile, said: list[str]) -> None:
    file.write({"at": "round 2"})
    begun: list[Any] = []

    def train(**given: Any) -> Any:
        begun.append(given.get("saved"))
        if given.get("saved") is not None:
            raise StaleStateError("digits/train")
        return "outcome", {}

    found = _interruptible(train, again(file), Saving(file.root, 1.0), said.append)
    assert found == ("outcome", {})
    assert begun == [{"at": "round 2"}, None]
    assert said[0] == "goes on from round 2"
    assert "digits/train changed" in said[1]
    assert not file.path.exists()
