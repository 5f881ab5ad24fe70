"""Kinds of awkward paths and names.

Each kind of path makes what lies there, in a folder of its own, and gives the argument.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

Make = Callable[[Path], str]
FOREIGN = "somebody's own"
OWN_NAMES = (
    "store.json", "lock", "report.json", "report.html", "report.md", "report.csv",
    "report.trials.csv", ".report.lock",
    "audit.html", "audit.md", "paper.toml", "1.toml", "2.toml", "toy-smoke.json", "papers",
    "train", "methods", "tests", "checkpoints", "docs", "README.md",
    "published.md", "regress.json", "regress.junit.xml", "regress.md",
)  # fmt: skip
"""Names that commands read or write in a folder that they are given."""


def write_file(at: Path, text: str = FOREIGN) -> Path:
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
    return str(write_file(at / "file"))


def below_a_file(at: Path) -> str:
    return str(write_file(at / "file") / "below")


def broken_text(at: Path) -> str:
    (at / "broken").write_bytes(b"\xff\xfe{[\x00")
    return str(at / "broken")


def nested_text(at: Path) -> str:
    return str(write_file(at / "nested.json", "[" * 100_000))


def folder(at: Path) -> str:
    (at / "folder").mkdir()
    return str(at / "folder")


def foreign_folder(at: Path) -> str:
    for name in ("notes.txt", "index.sqlite", "data/a.bin"):
        write_file(at / "foreign" / name)
    return str(at / "foreign")


def folder_with_a_store_s_names(at: Path) -> str:
    for name in ("unfinished", "trials", "errors", "quarantine"):
        write_file(at / "alike" / name / f"{name}.part")
    return str(at / "alike")


def folder_called_unfinished(at: Path) -> str:
    write_file(at / "unfinished" / "store.json.0123abcd.part")
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
        write_file(at / "folders" / name / "own.txt")
    return str(at / "folders")


def folder_of_links(at: Path) -> str:
    (at / "links").mkdir()
    for name in OWN_NAMES:
        (at / "links" / name).symlink_to(write_file(at / "elsewhere" / name))
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
    write_file(at / "elsewhere" / "notes.txt")
    (at / "link").symlink_to(at / "elsewhere")
    return str(at / "link")


def link_to_a_file(at: Path) -> str:
    (at / "link").symlink_to(write_file(at / "elsewhere.txt"))
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


def device(at: Path, minor: int) -> str:
    """A device of this folder's own: whoever is root could lose the one in /dev by it."""
    names = {3: "null", 7: "full"}
    try:
        os.mknod(at / names[minor], stat.S_IFCHR | 0o666, os.makedev(1, minor))
        (at / names[minor]).read_bytes() if minor == 3 else None
    except PermissionError:  # nobody but root can, and only root needs it
        return f"/dev/{names[minor]}"
    return str(at / names[minor])


def null_device(at: Path) -> str:
    return device(at, 3)


def full_device(at: Path) -> str:
    return device(at, 7)


def process_files(at: Path) -> str:
    return "/proc/self/nothing"


def huge_file(at: Path) -> str:
    return str(_huge(at / "huge"))


def _huge(path: Path) -> Path:
    """A terabyte that takes no place on the disk, and no reader can hold."""
    with path.open("wb") as made:
        made.truncate(1 << 40)
    return path


# -- a folder that is a store, has records and pages, and in which files are no files --------------


def _spoiled(at: Path, spoil: Callable[[Path, Path], object]) -> str:
    """A copy of `sound` beside all given folders, each file but those by which it is known changed.

    spoil: takes a path at which nothing lies any more, and a folder beside the copy.
    """
    copy = at / "spoiled"
    shutil.copytree(at.parents[1] / "sound", copy)
    for path in sorted(path for path in copy.rglob("*") if path.is_file()):
        if path.name != "store.json":
            path.unlink()
            spoil(path, at / "elsewhere")
    return str(copy)


def spoiled_by_pipes(at: Path) -> str:
    return _spoiled(at, lambda path, elsewhere: os.mkfifo(path))


def spoiled_by_folders(at: Path) -> str:
    return _spoiled(at, lambda path, elsewhere: write_file(path / "own.txt"))


def spoiled_by_links(at: Path) -> str:
    return _spoiled(at, lambda path, elsewhere: path.symlink_to(write_file(elsewhere / path.name)))


def spoiled_by_loops(at: Path) -> str:
    return _spoiled(at, lambda path, elsewhere: path.symlink_to(path))


def spoiled_by_huge_files(at: Path) -> str:
    return _spoiled(at, lambda path, elsewhere: _huge(path))


def spoiled_by_text(at: Path) -> str:
    return _spoiled(at, lambda path, elsewhere: path.write_bytes(b"caf\xe9 {[\x00"))


def spoiled_by_nesting(at: Path) -> str:
    return _spoiled(at, lambda path, elsewhere: path.write_bytes(b"[" * 100_000))


PATHS: tuple[Make, ...] = (
    empty_text, missing, deep_in_missing, file, below_a_file, broken_text, nested_text, folder,
    foreign_folder, folder_with_a_store_s_names, folder_called_unfinished, pipe, folder_of_pipes,
    folder_of_folders, folder_of_links, folder_of_dangling_links, socket_, dangling_link,
    loop_of_links, link_to_a_foreign_folder, link_to_a_file, not_utf8, not_utf8_folder, long_name,
    long_path, line_feed, control_characters, leading_dash, spaces_and_quotes, parent_of_parent,
    null_device, full_device, process_files, huge_file, spoiled_by_pipes, spoiled_by_folders,
    spoiled_by_links, spoiled_by_loops, spoiled_by_huge_files, spoiled_by_text, spoiled_by_nesting,
)  # fmt: skip
NAMES: Mapping[str, str] = {
    "empty": "", "above": "../../outside", "absolute": "/etc/passwd", "dots": "..", "dot": ".",
    "long": "n" * 300, "endless": "n" * 70_000, "line feed": "two\nlines",
    "control": "\x1b[2Jx\x07\u202e", "not utf-8": "caf\udce9", "dash": "-rf", "spaces": "a b",
    "brackets": "[[[[", "star": "*", "equals": "=", "set": "training.rounds=" + "[" * 5000,
    "digits": "9" * 5000, "negative": "-1", "infinite": "1e400", "nan": "nan", "comma": ",,,",
    "time": "2h", "half": "0.5", "format": "{0.__class__}%s%n", "surrogates": "\ud800",
    "upper": "TOY", "slash": "toy/",
}  # fmt: skip
