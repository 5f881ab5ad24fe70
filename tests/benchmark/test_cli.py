import io
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.execution.executors import _work
from fedrepro.benchmark.training.training import train_trial
from fedrepro.cli import main
from fedrepro.commands._terminal import Output, folded, paint
from fedrepro.methods.outcome import DivergedError


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    error = capsys.readouterr().err.strip()
    assert len(error.splitlines()) == 1, error
    assert "Traceback" not in error
    return error


SAME = ["--reading", "no-restarts", "--readings", "no-restarts"]
ONE_ROW = ["cpcfl", "--profile", "smoke", "--tables", "3", "--rows", "FedAvg|None"]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that lacks no trial of `ONE_ROW`."""
    folder = tmp_path_factory.mktemp("full")
    places = ["--store", str(folder / "store"), "--out", str(folder / "out")]
    assert main(["run", *ONE_ROW, *places, "--jobs", "0"]) == 0
    return folder / "store"


@pytest.mark.parametrize(("verb", "words", "named"), [
    ("plan", ["--profile", "smok"], "smoke"),
    ("plan", ["--tables", "33"], "33"),
    ("plan", ["--on", "mnits"], "mnits"),
    ("plan", ["--rows", "CP-CLF|*"], "CP-CLF"),
    ("plan", ["--reading", "nonesuch"], "nonesuch"),
    ("plan", ["--set", "training.ronds=3"], "training.rounds"),
    ("plan", ["--set", "training.rounds"], "PATH=VALUE"),
    ("plan", ["--set", "training.rounds=soon"], "training.rounds"),
    ("plan", ["--set", "training.rounds=0"], "training.rounds"),
    ("plan", ["--set", "method=cpfl"], "'cpcfl'"),
    ("plan", ["--device", "meta"], "meta"),
    ("plan", ["--cluster", "no-cluster.toml"], "cluster"),
    ("run", ["--device", "meta"], "meta"),
    ("run", ["--tables", "33"], "33"),
    ("report", ["--set", "training.ronds=3"], "training.rounds"),
    ("report", ["--reading", "nonesuch"], "nonesuch"),
    ("multiverse", [*SAME, "--dry-run"], "no other interpretation"),
])  # fmt: skip
def test_a_slip_is_named_in_one_line_though_no_trial_is_missing(
    verb: str, words: list[str], named: str, full: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = [] if verb == "plan" else ["--out", str(full.parent / "out")]
    at = ONE_ROW.index(words[0]) if words[0] in ONE_ROW else len(ONE_ROW)
    row = *ONE_ROW[:at], *ONE_ROW[at + 2 :], *words
    assert main([verb, *row, "--store", str(full), *out]) == 2
    assert named in one_line(capsys)


@pytest.mark.parametrize("verb", ["audit", "check", "list", "methods", "plan", "report", "run"])
def test_a_paper_that_was_meant_is_named(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "cpcfk"]) == 2
    assert "cpcfl" in one_line(capsys)


@pytest.mark.parametrize(("words", "said"), [
    (["--jobs", "-1"], "argument --jobs"),
    (["--tables", ","], "argument --tables"),
    (["--trials", "0"], "argument --trials"),
    (["--trials", "1.5"], "'1.5' is no whole number"),
    (["--trials", "10000"], "'10000' is no whole number of at least 1 and at most 1000"),
    (["--series", "-1"], "'-1' is no whole number of at least 0 and at most 1000"),
    (["--store", ""], "argument --store"),
    (["--checkpoint-every=-1"], "'-1' is no time such as 15m, 900s or 2h"),
    (["--time-limit", "nan"], "'nan' is no time such as 15m, 900s or 2h"),
    *(
        (["--until-decided", f"--budget={one}"], f"'{one}' is no time such as 15m")
        for one in ("5x", "", "-5m", "1e9h", "٣m")
    ),
    (["--table", "3"], "unrecognized arguments: --table 3; did you mean '--tables'?"),
    (["--tables", "5", "11"], "unrecognized arguments: 11; write --tables 5,11"),
    (["--tables=5", "--reading", "a", "b"], "unrecognized arguments: b; write --reading a,b"),
    (["--jobs", "2", "4"], "unrecognized arguments: 4"),
    (["--profil=smoke"], "did you mean '--profile'?"),
    (["--store", "a", "--store=b"], "error: --store is given twice"),
    (["-v", "--verbose"], "error: --verbose is given twice"),
])  # fmt: skip
def test_a_value_that_no_run_could_take_is_refused_and_no_option_is_guessed(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["run", "cpcfl", *words])
    assert left.value.code == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    "told", ["rnu'; did you mean 'run'?", "help'; `fedrepro --help` lists them"]
)
def test_a_command_that_there_is_not_is_said_without_a_list_of_all(
    told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([told.partition("'")[0], "cpcfl"])
    assert capsys.readouterr().err.endswith(f"fedrepro: error: no command '{told}\n")


def in_shell(command: str) -> subprocess.CompletedProcess[bytes]:
    """A command line in bash, where `fedrepro` is this one."""
    own = f'fedrepro() {{ {shlex.quote(sys.executable)} -m fedrepro "$@"; }}; {command}'
    return subprocess.run(["bash", "-c", own], capture_output=True, check=False)


@pytest.mark.parametrize(("command", "code"), [
    ("fedrepro audit fedrlc --strict >&-", 1),
    ("fedrepro list nonesuch 2>&-", 2),
    ("fedrepro audit mfcl --json | head -1; exit ${PIPESTATUS[0]}", 141),
    ("PYTHONIOENCODING=ascii fedrepro list cpcfl", 0),
    ("fedrepro list $'caf\\xe9'", 2),
    ("fedrepro list cpcfl >/dev/full", 2),
])  # fmt: skip
def test_whatever_stands_for_the_output_the_exit_code_is_right(command: str, code: int) -> None:
    done = in_shell(command)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


def test_json_stays_json_where_letters_are_lacking(capsys: pytest.CaptureFixture[str]) -> None:
    narrow = in_shell("PYTHONIOENCODING=ascii fedrepro audit fedrlc --json").stdout
    assert main(["audit", "fedrlc", "--json"]) == 0
    assert json.loads(narrow.decode("ascii")) == json.loads(capsys.readouterr().out)


def test_a_terminal_shows_colours_and_no_other_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in (
        (Terminal(), "\x1b[31mFAILED\x1b[0m"),
        (io.StringIO(), "\ufffd[31mFAILED\ufffd[0m"),
    ):
        Output(stream).write("\x1b[31mFAILED\x1b[0m \x1b[2J\x07\u202e\x9b")
        assert stream.getvalue() == f"{shown} \ufffd[2J\ufffd\ufffd\ufffd"
    assert paint("HOLDS") == "HOLDS"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert paint("HOLDS") == "\x1b[32mHOLDS\x1b[0m"
    assert paint("no verdict") == "no verdict"
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("HOLDS") == "HOLDS"


def test_a_narrow_terminal_breaks_lines_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    line = "  cpcfl  " + "contrastive pre-training-based " * 9 + "https://example.org/" + "x" * 60
    assert folded(line, 9) == line  # a pipe gets whole lines
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = folded(line, 9).splitlines()
    assert " ".join(" ".join(shown).split()) == " ".join(line.split())
    assert [one for one in shown if len(one) > 60 and " " in one.strip()] == []
    assert {len(one) - len(one.lstrip()) for one in shown[1:]} == {9}


def test_the_smoke_profile_goes_from_tables_to_a_report_and_is_never_called_reproduced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out"), "--jobs", "0"]
    arguments = ["run", "cpcfl", "--profile", "smoke", "--tables", "3,figure-5", *places]
    assert main(arguments) == 0
    first = json.loads((tmp_path / "out" / "report.json").read_text())
    words = {cell["verdict"]["word"] for table in first["tables"] for cell in table["cells"]}
    assert words == {"NOT COMPARED"}
    assert all(len(cell["trials"]) == 2 for cell in first["tables"][0]["cells"])

    assert main(arguments) == 0
    assert "0 trained" in capsys.readouterr().err
    again = json.loads((tmp_path / "out" / "report.json").read_text())
    assert again["tables"] == first["tables"]

    cell_of_report = first["tables"][0]["cells"][0]
    command = shlex.split(cell_of_report["command"])[1:]
    fresh = ["--store", str(tmp_path / "fresh"), "--out", str(tmp_path / "one"), "--jobs", "0"]
    assert main([*command, *fresh]) == 0
    one = json.loads((tmp_path / "one" / "report.json").read_text())
    assert one["tables"][0]["cells"][0]["trials"] == cell_of_report["trials"]


def test_a_trial_that_fails_is_named_in_the_report_and_on_the_terminal_and_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverging(config: RunConfig, seed: int, **more: Any) -> Any:
        if config.stage == "federated" and seed == 1:
            raise DivergedError(1)
        return train_trial(config, seed, **more)

    monkeypatch.setattr(_work, "train_trial", diverging)
    places = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out"), "--jobs", "0"]
    assert main(["run", *ONE_ROW, *places]) == 1
    said = capsys.readouterr()
    assert "1 failed" in said.err
    assert "FAILED, fedavg on digits, trial 1: diverged at round 1" in said.out
    plain = json.loads((tmp_path / "out" / "report.json").read_text())
    for cell in plain["tables"][0]["cells"]:
        assert cell["failed"] == ["trial 1: diverged at round 1"]
        assert cell["trials"][0] is not None
        assert cell["trials"][1] is None
    for name in ("report.md", "report.html"):
        text = (tmp_path / "out" / name).read_text()
        assert "1 of 2 trials finished; failed: trial 1: diverged at round 1." in text
    assert main(["run", *ONE_ROW, *places]) == 1  # it fails again, the others are reused
    assert main(["report", *ONE_ROW, *places[:4]]) == 1
    monkeypatch.undo()
    assert main(["run", *ONE_ROW, *places]) == 0


def test_a_multiverse_is_a_run_under_each_reading_and_says_the_time_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, unchanged = "one-random-encoder", "an-encoder-a-trial"
    places = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out"), "--jobs", "0"]
    which = ["multiverse", "cpcfl", "--tables", "11", "--profile", "smoke", *places]
    named = ["--readings", f"{other},no-restarts"]
    assert main([*which, *named, "--dry-run"]) == 0
    assert "3 sets of interpretations; time unknown of" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()

    assert main([*which, *named]) == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    universes = {tuple(one["readings"]): one["claims"] for one in report["universes"]}
    assert list(universes) == [(), (other,), ("no-restarts",)]
    claims = {claim["id"] for table in report["tables"] for claim in table["claims"]}
    assert claims
    for found in universes.values():
        assert {place.partition(": ")[2] for place in found} == claims
    differences = [[one["ours"] for one in found.values()] for found in universes.values()]
    assert differences[0] != differences[1]
    capsys.readouterr()
    together = ["--readings", f"{unchanged},{other}+{unchanged}", "--dry-run"]
    assert main([*which, *together]) == 0
    assert "2 sets of interpretations; no trial is missing" in capsys.readouterr().out
