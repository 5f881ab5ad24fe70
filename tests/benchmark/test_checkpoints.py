from pathlib import Path
from typing import Any

import pytest
import torch

from fedrepro.benchmark.execution.executors._work import OverdueError, _interruptible
from fedrepro.benchmark.store.checkpoints import TrialFile
from fedrepro.benchmark.training.stages.trial import StaleStateError
from fedrepro.methods.outcome import DivergedError

IDENTITY = {"run": "0123456789abcdef", "seed": 3, "source": "abc", "versions": {"torch": "2"}}
NAME = "0123456789abcdef", 3
STATE = {"round": 7, "weights": {"w": torch.arange(6.0).reshape(2, 3)}}


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def file(tmp_path: Path, said: list[str]) -> TrialFile:
    packages = ["fedrepro.methods"]
    return TrialFile(tmp_path, NAME, IDENTITY, packages, torch.device("cpu"), said.append)


def again(file: TrialFile, **changed: Any) -> TrialFile:
    """As another process would see it, after this one."""
    identity = {**IDENTITY, **changed}
    return TrialFile(file.root, NAME, identity, file.packages, file.device, file.say)


@pytest.mark.parametrize(
    ("name", "value"), [("run", "f" * 16), ("seed", 4), ("source", "abd"), ("precision", "bf16")]
)
def test_that_of_another_trial_is_not_used(
    file: TrialFile, said: list[str], name: str, value: object
) -> None:
    file.write(STATE)
    other = again(file, **{name: value})
    assert other.read() is None
    assert said == [f"its checkpoint is of another {name}; the trial starts from its beginning"]


def test_a_state_that_cannot_be_saved_is_said_once_and_ends_no_training(
    file: TrialFile, said: list[str]
) -> None:
    for _ in range(3):
        file.write({"what": object()})
    assert said == ["its state is not saved: builtins.object cannot be saved"]
    assert not list(file.root.iterdir())
    (file.root / "checkpoints").write_text("in its way")
    other = again(file)
    other.write(STATE)
    assert other.read() is None
    assert said[1].startswith("its state is not saved: ")
    assert said[2].startswith("its checkpoint cannot be read or is damaged; the trial starts")


class EndedError(Exception):
    """Whatever else a training may raise."""


@pytest.mark.parametrize(
    ("error", "stays"),
    [
        (BrokenPipeError(), True),  # the driver was killed while progress was told
        (MemoryError(), True),
        (OverdueError(), True),
        (EndedError(), False),
        (DivergedError(3), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_checkpoint_goes_only_with_a_failure_that_would_come_again(
    file: TrialFile, error: Exception, stays: bool
) -> None:
    def train(**given: Any) -> Any:
        given["save"]({"at": "round 2"})
        raise error

    # What a first part saved stays, whatever ended it.
    for kept in (True, stays):
        with pytest.raises(type(error)):
            _interruptible(train, again(file), 1.0)
        assert file.path.exists() == kept


def test_data_that_have_changed_begin_a_trial_anew(file: TrialFile, said: list[str]) -> None:
    file.write({"at": "round 2"})
    begun: list[Any] = []

    def train(**given: Any) -> Any:
        begun.append(given.get("saved"))
        if given.get("saved") is not None:
            raise StaleStateError("digits/train")
        return "outcome", {}

    found = _interruptible(train, again(file), 1.0)
    assert found == ("outcome", {})
    assert begun == [{"at": "round 2"}, None]
    assert said[0] == "continues from round 2"
    assert "digits/train changed" in said[1]
