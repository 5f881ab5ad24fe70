"""Every path and every name that any command takes, in every awkward kind.

Commands and their options are read off the parser, so a new one is covered without being named
here. A command must end with an exit code and at most one line of error, within its time; and no
file that was there before may be gone or changed, nor any appear where nobody asked for one.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import traceback
import typing
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from fedrepro.cli import build_parser, main
from tests.benchmark.awkward import (
    NAMES,
    OWN_NAMES,
    PATHS,
    Make,
    folder_of_dangling_links,
    folder_of_folders,
    folder_of_pipes,
    link_to_a_foreign_folder,
    null_device,
    pipe,
    socket_,
    write_file,
)
from tests.benchmark.patience import patience
from tests.benchmark.spec_grammar import BASE, write

# -- commands, as the parser has them --------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where an argument goes. option: empty for a positional one."""

    command: str
    dest: str
    option: str

    def __str__(self) -> str:
        return f"{self.command} {self.option or self.dest.upper()}"


def commands() -> dict[str, argparse.ArgumentParser]:
    (verbs,) = (
        one for one in build_parser()._actions if isinstance(one, argparse._SubParsersAction)
    )
    return {name: verb for name, verb in verbs.choices.items() if verb.prog.endswith(f" {name}")}


def arguments(verb: argparse.ArgumentParser) -> list[argparse.Action]:
    return [one for one in verb._actions if one.nargs != 0]


def is_path(action: argparse.Action) -> bool:
    returned = action.type
    if callable(returned) and not isinstance(returned, type):
        returned = typing.get_type_hints(returned).get("return")
    return returned is Path or action.metavar in ("DIR", "FILE")


def places(*, paths: bool) -> list[Place]:
    return [
        Place(command, one.dest, max(one.option_strings, key=len, default=""))
        for command, verb in commands().items()
        for one in arguments(verb)
        if is_path(one) == paths
    ]


SHARE = int(os.environ.get("FEDREPRO_FUZZ_SHARE", "1"))
"""Only one case in so many is tried, where there is no time for all."""
EXTRAS = {
    "--series": "1", "--precision": "bf16", "--checkpoint-every": "0.001", "--budget": "20s",
    "--trials": "1", "--time-limit": "60",
}  # fmt: skip
"""Options that may be left out and change what a command does, with sound values."""
APART = ({"--budget", "--dry-run"}, {"--record", "--json"}, {"--record", "--badge"})
"""Options that a command refuses together."""
WITH = {("run", "--budget"): "--until-decided"}
"""What an option says nothing without."""


def may_be_given(verb: argparse.ArgumentParser) -> dict[str, list[str]]:
    """By option of a command, the words that give it soundly: flags, and those of `EXTRAS`."""
    found: dict[str, list[str]] = {}
    for action in verb._actions:
        for option in action.option_strings:
            if option in EXTRAS:
                found[option] = [option, EXTRAS[option]]
            elif action.nargs == 0 and not isinstance(action, argparse._HelpAction):
                found[option] = [option]
    return found


class World:
    """A folder in which every argument of every command has a sound value."""

    def __init__(self, root: Path) -> None:
        self.root, self.cwd = root, root / "cwd"
        self.specs, self.given = root / "specs", root / "given"
        for name in ("cwd", "given", "data", "outside"):
            (root / name).mkdir()
        write_file(root / "outside" / "notes.txt")
        write_file(self.cwd / "notes.txt")
        (root / "source.csv").write_text("row,a,b\nx,1,2\ny,3,4\n")
        (root / "results.csv").write_text("table,row,column,seed,value\n1,r,a,0,40.5\n")
        (root / "cluster.toml").write_text('provider = "local"\nworkers_per_node = 1\n')
        training = {"rounds": 2, "local_epochs": 1}
        paper = {
            "id": "toy", "title": "T", "authors": "A", "year": 2023,
            "experiment": BASE | {"training": training},
            "profiles": {name: {"trials": 1} for name in ("smoke", "reduced", "paper")},
        }  # fmt: skip
        table = {
            "table": "1", "title": "T", "section": "4", "kind": "empirical", "metric": "accuracy",
            "unit": "%", "margin": {"value": Decimal("2.0"), "reason": "w"},
            "columns": [{"label": "a"}],
            "rows": [{"label": "r", "method": "fedavg", "published": [Decimal("41.2")]}],
        }  # fmt: skip
        write(self.specs / "toy", {"paper": paper, "1": table})
        for package in ("supervised", "clustered"):
            write_file(root / "checkout" / "methods" / "federated" / package / "__init__.py", "")
        (root / "checkout" / "tests" / "methods").mkdir(parents=True)

    def sound(self, command: str, action: argparse.Action, case: int) -> list[str]:
        """The words of one argument; none for what may be left out and changes no path."""
        folders = {
            "store": self.root / "store", "out": self.root / f"out{case}",
            "data_dir": self.root / "data", "before": self.root / "report",
            "after": self.root / "report", "root": self.root / "checkout",
            "tables_dir": self.specs, "baselines": self.root / "baselines",
            "source": self.root / "source.csv", "results": self.root / "results.csv",
            "folder": self.root / f"project{case}", "stores": self.root / "store",
            "badge": self.root / f"badge{case}.json",
        }  # fmt: skip
        plain = {
            "profile": "smoke", "jobs": "0", "device": "cpu", "name": f"made-up-{case}",
            "draws": "2",
        }  # fmt: skip
        if command == "new-table":  # writes there; others find the specs by themselves
            folders["specs"] = self.specs
        if action.dest == "cell":
            return ["--cell", "1", "r", "a"]
        if action.nargs == "*" and not action.option_strings:
            return []
        if action.dest in folders:
            value = str(folders[action.dest])
        elif action.dest == "table":
            value = "1" if command == "show" else f"t{case}"
        elif action.metavar in ("PAPER", "ID"):
            value = "toy" if command != "new-table" else f"paper{case}"
        elif command == "methods":
            value = "fedavg"
        elif action.dest in plain:
            value = plain[action.dest]
        elif action.choices and not action.option_strings:
            value = str(next(iter(action.choices)))
        else:
            assert not action.required, f"give {command} {action.dest} a sound value here"
            return []
        return [*action.option_strings[-1:], value]

    def line(self, place: Place | None, value: str, case: int, command: str = "") -> list[str]:
        """A command line, sound but for `value` in `place`."""
        command = place.command if place else command
        before, after = [command], list[str]()
        for action in commands()[command]._actions:
            if isinstance(action, argparse._HelpAction) or action.nargs == 0:
                continue
            chosen = place is not None and action.dest == place.dest
            if not action.option_strings:
                after += [value] if chosen else self.sound(command, action, case)
            elif chosen and place is not None:
                before += [f"{place.option}={value}"]
            else:
                before += self.sound(command, action, case)
        if place is not None and place.dest == "cluster":
            before += ["--executor", "parsl", *(["--dry-run"] if command == "run" else [])]
        else:
            before += self.more(command, before, random.Random(case))
        return [*before, "--", *after] if after else before

    def more(self, command: str, before: list[str], draw: random.Random) -> list[str]:
        """Flags and options that could be left out, some of them, each with a sound value."""
        given = {word.partition("=")[0] for word in before}
        chosen = list[str]()
        for option, words in may_be_given(commands()[command]).items():
            partner = WITH.get((command, option))
            refused = any(option in pair and pair & (given - {option}) for pair in APART)
            if option in given or refused or draw.random() < 0.7:
                continue
            chosen += words if partner is None or partner in given else [partner, *words]
            given |= {option, *([partner] if partner else [])}
        return chosen

    def gather(self) -> None:
        """One folder with all that commands have written, which is a store, records and a checkout
        at once, and in which every trial was interrupted: what `awkward.spoiled` changes."""
        sound = self.root / "sound"
        for name in ("store", "report", "baselines"):
            shutil.copytree(self.root / name, sound, dirs_exist_ok=True)
        for record in sorted(sound.glob("trials/*/*-seed*.json")):
            seed = record.stem.rpartition("-")[2]
            for ending in ("checkpoint", "lock"):
                write_file(sound / "checkpoints" / f"{record.parent.name}-{seed}.{ending}")
            write_file(sound / "errors" / f"{record.parent.name}-{seed}.json")

    def contents(self) -> dict[str, str]:
        """Every file, link, pipe and folder outside the places that commands write to."""
        found: dict[str, str] = {}
        for top, folders, files in os.walk(self.root):
            for name in [*folders, *files]:
                path = Path(top, name)
                found[str(path.relative_to(self.root))] = _content(path)
        return found


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    if path.is_dir():
        return "folder"
    if not path.is_file():
        return "special"
    size = path.stat().st_size
    return f"{size} bytes" if size > 1 << 30 else path.read_bytes().hex()


def ran(line: list[str], seconds: int = 60) -> tuple[int, str, str]:
    """The exit code of a command, what it printed, and its errors; anything raised fails."""
    out, err = io.StringIO(), io.StringIO()
    with patience(seconds), redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(line)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else -1
            assert code == 2, line
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("world"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedrepro.benchmark.spec.folders.tables_root", lambda: made.specs)
        patch.setattr("sys.stdin", io.StringIO())
        patch.setenv("FEDREPRO_DATA", "")
        patch.chdir(made.cwd)
        # The store, a baseline and a report that the other commands read.
        store = ["--store", str(made.root / "store")]
        tiny = ["toy", "--profile", "smoke", "--jobs", "0", *store]
        baselines = ["--baselines", str(made.root / "baselines"), "--record"]
        for line in (
            ["run", *tiny, "--out", str(made.root / "report")],
            ["regress", *tiny, *baselines],
        ):
            code, out, err = ran(line, 300)
            assert code == 0, (line, out, err)
        made.gather()
        yield made


def disturbed(world: World, place: Place, make: Make, case: int) -> str:
    """What is wrong with how a command takes an awkward argument; empty if nothing is."""
    at = world.given / f"{case}"
    at.mkdir()
    value = make(at)
    line = world.line(place, value, case)
    before = world.contents()
    try:
        code, out, err = ran(line)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    after = world.contents()
    # A store's own files may be put aside, whatever they are; what they led to may not.
    own = f"given/{case}/spoiled/"
    before = {name: held for name, held in before.items() if not name.startswith(own)}
    wrong = [f"{name} was removed" for name in before if name not in after]
    wrong += [
        f"{name} was changed"
        for name, content in before.items()
        if after.get(name, content) != content
        and not name.startswith(("store/", "baselines/", "records/", "checkout/", "cwd/-rf"))
        and (content != "special" or Path(name).name not in OWN_NAMES)
    ]
    written = (
        f"given/{case}/", "cwd/results", f"out{case}", f"project{case}", "store/", "baselines/",
        "specs/", "checkout/", "cwd/-rf", "records/", f"badge{case}.json",
    )  # fmt: skip
    wrong += [
        f"{name} appeared"
        for name in after
        if name not in before
        and (not name.startswith(written) or name.startswith(f"given/{case}/elsewhere/"))
        and make is not link_to_a_foreign_folder
    ]
    wrong += ["a traceback"] if "Traceback" in out + err else []
    wrong += [f"exit code {code}"] if code not in (0, 1, 2, 3) else []
    if code == 2:
        wrong += one_line(out, err, value)
    return "; ".join(wrong)


def one_line(out: str, err: str, value: str) -> list[str]:
    """Why an error is not one line; a line feed in the argument itself is not counted."""
    said = [part for part in err.split("\n") if part]
    spec = any(".toml" in part for part in said) or "problems" in out
    told = "is damaged"  # of a trial's file that is not used, before the error or without one
    errors = [
        part for part in said if part.startswith("fedrepro") and ": " in part and told not in part
    ]
    if not errors and not spec and not out:
        return [f"ended with 2 without a word: {err!r}"]
    shown = "\n".join(errors)
    unseen = [one for one in shown if not one.isprintable() and one not in "\n\t"]
    return ["control characters"] * bool(unseen) + (
        [] if len(errors) <= 1 or spec else [f"{len(errors)} lines of error: {errors}"]
    )


def failures(world: World, cases: list[tuple[Place, str, Make]], first: int) -> list[str]:
    found: list[str] = []
    for number, (place, kind, make) in enumerate(cases, first):
        wrong = disturbed(world, place, make, number)
        if wrong:
            found.append(f"{place}, {kind}: {wrong[:300]}")
        # Each case reads all that is there before and after; thousands would read one another's.
        for left in ("given/{}", "out{}", "project{}"):
            shutil.rmtree(world.root / left.format(number), ignore_errors=True)
    return found


def path_cases() -> list[tuple[Place, str, Make]]:
    return [(place, make.__name__, make) for place in places(paths=True) for make in PATHS]


def name_cases() -> list[tuple[Place, str, Make]]:
    def given(text: str) -> Make:
        return lambda at: text

    return [
        (place, name, given(text)) for place in places(paths=False) for name, text in NAMES.items()
    ]


def test_every_command_ends_well_where_all_of_its_arguments_are_sound(world: World) -> None:
    for number, command in enumerate(commands(), 90_000):
        line = world.line(None, "", number, command)
        code, out, err = ran(line)
        assert code in (0, 1, 3), (line, out, err)


def test_paths_of_each_command_of_some_awkward_kinds(world: World) -> None:
    found = places(paths=True)
    assert {"--store", "--out", "--data-dir", "--cluster"} <= {one.option for one in found}
    draw = random.Random(0)
    cases = [(place, make) for place in found for make in draw.sample(PATHS, 1)]
    assert not failures(world, [(place, make.__name__, make) for place, make in cases], 0)


def test_names_of_each_command_of_some_awkward_kinds(world: World) -> None:
    draw = random.Random(0)
    assert not failures(world, draw.sample(name_cases(), 20), 10_000)


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.parametrize("command", commands())
def test_every_path_and_name_of_every_command_of_every_awkward_kind(
    world: World, command: str, record_property: Callable[[str, object], None]
) -> None:
    cases = [one for one in (*path_cases(), *name_cases()) if one[0].command == command]
    cases = cases[SHARE // 2 :: SHARE]
    found = failures(world, cases, 20_000 + 1_000 * list(commands()).index(command))
    record_property("awkward arguments", len(cases))
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("make", [pipe, null_device, socket_])
@pytest.mark.parametrize("command", ["diff", "new-table", "regress"])
def test_what_is_no_file_is_refused_without_being_read(
    world: World, tmp_path: Path, command: str, make: Make
) -> None:
    place = make(tmp_path)
    line = {
        "diff": ["diff", place, place],
        "new-table": ["new-table", place, "--paper", "p", "--table", "7"],
        "regress": ["regress", "toy", "--profile", "smoke", "--baselines", str(tmp_path / "b")],
    }[command]
    if command == "regress":
        (tmp_path / "b").mkdir()
        (tmp_path / "b" / "toy-smoke.json").symlink_to(place)
    with patience(10):
        code, _, err = ran(line)
    assert code == 2
    assert err.count("\n") == 1
    assert "is no file" in err


@pytest.mark.parametrize("make", [folder_of_pipes, folder_of_dangling_links, folder_of_folders])
def test_a_report_into_an_awkward_folder_is_whole_or_refused(
    world: World, tmp_path: Path, make: Make
) -> None:
    place = Path(make(tmp_path))
    before = {path: _content(path) for path in tmp_path.rglob("*")}
    code, _, err = ran(["report", "toy", "--profile", "smoke", "--out", str(place)])
    written = {path.name for path in place.glob("report.*") if path.is_file()}
    if code == 2:
        assert err.count("\n") == 1
        assert {path: _content(path) for path in tmp_path.rglob("*")} == before
    else:
        assert "report.html" in written
        assert len(written) == 7
    assert not list(tmp_path.glob("elsewhere/*"))


@pytest.mark.parametrize(
    "line",
    [["audit", "toy", "--out="], ["new-method", "x", "--root="], ["new-table", "--specs="]],
)
def test_an_empty_text_is_not_the_working_folder(world: World, line: list[str]) -> None:
    code, _, err = ran(line)
    assert code == 2
    assert "the empty text names no folder" in err


@pytest.mark.parametrize(
    ("line", "taken"),
    [
        (["new-project", "{}"], "README.md"),
        (["new-table", "{}/../source.csv", "--paper=p", "--table=7", "--specs={}"], "p/7.toml"),
        (["new-method", "x", "--root={}"], "methods/federated/supervised/x.py"),
    ],
)
def test_a_link_to_nothing_keeps_its_place(
    world: World, tmp_path: Path, line: list[str], taken: str
) -> None:
    at = tmp_path / "at"
    shutil.copytree(world.root / "checkout", at)
    shutil.copy(world.root / "source.csv", tmp_path)
    (at / taken).parent.mkdir(exist_ok=True)
    (at / taken).unlink(missing_ok=True)
    (at / taken).symlink_to(tmp_path / "nowhere")
    code, _, err = ran([word.format(at) for word in line])
    assert code == 2
    assert f"{taken} is there already" in err
    assert (at / taken).is_symlink()


def test_a_loop_of_links_is_no_checkout(world: World, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    code, _, err = ran(["new-method", "x", f"--root={tmp_path / 'loop'}"])
    assert code == 2
    assert "is missing: methods are added in a checkout" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("option", ["--profile", "--on"])
def test_half_a_character_is_no_name_of_a_file(world: World, option: str) -> None:
    given = ["--profile", "smoke"] if option == "--on" else []
    baselines = ["--baselines", str(world.root / "baselines")]
    code, _, err = ran(["regress", "toy", *given, f"{option}=\ud800", *baselines])
    assert code == 2
    assert err.count("\n") == 1


@pytest.mark.parametrize("option", ["--title", "--metric"])
def test_a_draft_of_text_that_is_not_utf8_is_refused(world: World, option: str) -> None:
    source = str(world.root / "source.csv")
    code, _, err = ran(["new-table", source, "--paper", "q", "--table", "8", option, "caf\udce9"])
    assert code == 2
    assert err == f"fedrepro: {option}: 'caf\\udce9' is not UTF-8 text\n"
    assert not (world.specs / "q").exists()
