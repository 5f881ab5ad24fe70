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
import socket
import traceback
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from fedrepro.benchmark.cli import build_parser, main
from tests.benchmark.patience import patience
from tests.benchmark.spec_grammar import BASE, write

Make = Callable[[Path], str]
FOREIGN = "somebody's own"
OWN_NAMES = (
    "store.json", "lock", "report.json", "report.html", "report.md", "report.csv", ".report.lock",
    "audit.html", "audit.md", "paper.toml", "1.toml", "2.toml", "toy-smoke.json", "papers",
    "train", "methods", "tests",
)  # fmt: skip
"""Names that commands read or write in a folder that they are given."""


# -- kinds of paths: each makes what lies there, in a folder of its own, and gives the argument ----


def _file(at: Path, text: str = FOREIGN) -> Path:
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_text(text)
    return at


def empty_text(at: Path) -> str:
    return ""


def missing(at: Path) -> str:
    return str(at / "missing")


def deep_in_missing(at: Path) -> str:
    return str(at / "a" / "b" / "c.d")


def file(at: Path) -> str:
    return str(_file(at / "file"))


def below_a_file(at: Path) -> str:
    return str(_file(at / "file") / "below")


def broken_text(at: Path) -> str:
    (at / "broken").write_bytes(b"\xff\xfe{[\x00")
    return str(at / "broken")


def nested_text(at: Path) -> str:
    return str(_file(at / "nested.json", "[" * 100_000))


def folder(at: Path) -> str:
    (at / "folder").mkdir()
    return str(at / "folder")


def foreign_folder(at: Path) -> str:
    for name in ("notes.txt", "index.sqlite", "data/a.bin"):
        _file(at / "foreign" / name)
    return str(at / "foreign")


def folder_with_a_store_s_names(at: Path) -> str:
    for name in ("unfinished", "trials", "errors", "quarantine"):
        _file(at / "alike" / name / f"{name}.part")
    return str(at / "alike")


def folder_called_unfinished(at: Path) -> str:
    _file(at / "unfinished" / "store.json.0123abcd.part")
    return str(at / "unfinished")


def pipe(at: Path) -> str:
    os.mkfifo(at / "pipe")
    return str(at / "pipe")


def folder_of_pipes(at: Path) -> str:
    (at / "pipes").mkdir()
    for name in OWN_NAMES:
        os.mkfifo(at / "pipes" / name)
    return str(at / "pipes")


def folder_of_folders(at: Path) -> str:
    for name in OWN_NAMES:
        _file(at / "folders" / name / "own.txt")
    return str(at / "folders")


def folder_of_links(at: Path) -> str:
    (at / "links").mkdir()
    for name in OWN_NAMES:
        (at / "links" / name).symlink_to(_file(at / "elsewhere" / name))
    return str(at / "links")


def folder_of_dangling_links(at: Path) -> str:
    (at / "links").mkdir()
    (at / "elsewhere").mkdir()
    for name in OWN_NAMES:
        (at / "links" / name).symlink_to(at / "elsewhere" / name)
    return str(at / "links")


def socket_(at: Path) -> str:
    here = Path.cwd()
    os.chdir(at)  # a socket's path has a hundred bytes at most
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind("socket")
    finally:
        os.chdir(here)
    return str(at / "socket")


def dangling_link(at: Path) -> str:
    (at / "link").symlink_to(at / "nowhere")
    return str(at / "link")


def loop_of_links(at: Path) -> str:
    (at / "one").symlink_to(at / "other")
    (at / "other").symlink_to(at / "one")
    return str(at / "one")


def link_to_a_foreign_folder(at: Path) -> str:
    _file(at / "elsewhere" / "notes.txt")
    (at / "link").symlink_to(at / "elsewhere")
    return str(at / "link")


def link_to_a_file(at: Path) -> str:
    (at / "link").symlink_to(_file(at / "elsewhere.txt"))
    return str(at / "link")


def not_utf8(at: Path) -> str:
    return os.fsdecode(os.fsencode(at) + b"/caf\xe9")


def not_utf8_folder(at: Path) -> str:
    name = not_utf8(at)
    Path(name).mkdir()
    return name


def long_name(at: Path) -> str:
    return str(at / ("n" * 300))


def long_path(at: Path) -> str:
    return str(at / "/".join(["n" * 200] * 30))


def line_feed(at: Path) -> str:
    return str(at / "two\nlines")


def control_characters(at: Path) -> str:
    return str(at / "\x1b[2J\x1b[31mred\x07\r\u202e")


def leading_dash(at: Path) -> str:
    return "-rf"


def spaces_and_quotes(at: Path) -> str:
    return str(at / "a 'b' \"c\" $(d) ;e")


def parent_of_parent(at: Path) -> str:
    return str(at / "x" / ".." / ".." / at.name / "y")


def null_device(at: Path) -> str:
    return "/dev/null"


def full_device(at: Path) -> str:
    return "/dev/full"


def process_files(at: Path) -> str:
    return "/proc/self/nothing"


PATHS: tuple[Make, ...] = (
    empty_text, missing, deep_in_missing, file, below_a_file, broken_text, nested_text, folder,
    foreign_folder, folder_with_a_store_s_names, folder_called_unfinished, pipe, folder_of_pipes,
    folder_of_folders, folder_of_links, folder_of_dangling_links, socket_, dangling_link,
    loop_of_links, link_to_a_foreign_folder, link_to_a_file, not_utf8, not_utf8_folder, long_name,
    long_path, line_feed, control_characters, leading_dash, spaces_and_quotes, parent_of_parent,
    null_device, full_device, process_files,
)  # fmt: skip
NAMES: Mapping[str, str] = {
    "empty": "", "above": "../../outside", "absolute": "/etc/passwd", "dots": "..", "dot": ".",
    "long": "n" * 300, "endless": "n" * 70_000, "line feed": "two\nlines",
    "control": "\x1b[2Jx\x07\u202e", "not utf-8": "caf\udce9", "dash": "-rf", "spaces": "a b",
    "brackets": "[[[[", "star": "*", "equals": "=", "set": "training.rounds=" + "[" * 5000,
    "digits": "9" * 5000, "negative": "-1", "infinite": "1e400", "nan": "nan", "comma": ",,,",
    "format": "{0.__class__}%s%n", "surrogates": "\ud800", "upper": "TOY", "slash": "toy/",
}  # fmt: skip


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
    return [one for one in verb._actions if one.nargs != 0 and not one.choices]


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


class World:
    """A folder in which every argument of every command has a sound value."""

    def __init__(self, root: Path) -> None:
        self.root, self.cwd = root, root / "cwd"
        self.specs, self.given = root / "specs", root / "given"
        for name in ("cwd", "given", "data", "outside"):
            (root / name).mkdir()
        _file(root / "outside" / "notes.txt")
        _file(self.cwd / "notes.txt")
        (root / "source.csv").write_text("row,a,b\nx,1,2\ny,3,4\n")
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
            _file(root / "checkout" / "methods" / "federated" / package / "__init__.py", "")
        (root / "checkout" / "tests" / "methods").mkdir(parents=True)

    def sound(self, command: str, action: argparse.Action, case: int) -> list[str]:
        """The words of one argument; none for what may be left out and changes no path."""
        folders = {
            "store": self.root / "store", "out": self.root / f"out{case}",
            "data_dir": self.root / "data", "before": self.root / "report",
            "after": self.root / "report", "root": self.root / "checkout",
            "tables_dir": self.specs, "baselines": self.root / "baselines",
            "source": self.root / "source.csv",
        }  # fmt: skip
        plain = {"profile": "smoke", "jobs": "0", "device": "cpu", "name": f"made-up-{case}"}
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
        return [*before, "--", *after] if after else before

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
    return path.read_bytes().hex() if path.is_file() else "special"


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
        patch.setattr("fedrepro.benchmark.spec.load.tables_root", lambda: made.specs)
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
    wrong = [f"{name} was removed" for name in before if name not in after]
    wrong += [
        f"{name} was changed"
        for name, content in before.items()
        if after.get(name, content) != content
        and not name.startswith(("store/", "baselines/"))
        and (content != "special" or Path(name).name not in OWN_NAMES)
    ]
    written = (
        f"given/{case}/", "cwd/results", f"out{case}", "store/", "baselines/", "specs/",
        "checkout/", "cwd/-rf",
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
    errors = [part for part in said if part.startswith("fedrepro") and ": " in part]
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
        assert len(written) == 6
    assert not list(tmp_path.glob("elsewhere/*"))


@pytest.mark.parametrize(
    "line",
    [["audit", "toy", "--out="], ["new-method", "x", "--root="], ["new-table", "--tables-dir="]],
)
def test_an_empty_text_is_not_the_working_folder(world: World, line: list[str]) -> None:
    code, _, err = ran(line)
    assert code == 2
    assert "the empty text names no folder" in err


@pytest.mark.parametrize("option", ["--title", "--metric"])
def test_a_draft_of_text_that_is_not_utf8_is_refused(world: World, option: str) -> None:
    source = str(world.root / "source.csv")
    code, _, err = ran(["new-table", source, "--paper", "q", "--table", "8", option, "caf\udce9"])
    assert code == 2
    assert err == f"fedrepro: {option}: 'caf\\udce9' is not UTF-8 text\n"
    assert not (world.specs / "q").exists()
