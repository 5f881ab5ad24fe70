"""Where specs are: in folders of one's own, and in that of the bundled papers."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..errors import SpecError

PAPER_FILE = "paper.toml"
VARIABLE = "FEDREPRO_TABLES"
"""The environment's variable for folders of one's own, joined as those of `PATH` are."""
HERE = Path("tables")
"""The folder of one's own where nobody names one, below the working folder."""

Folders = Path | Sequence[Path] | None
"""Folders of specs, searched in order; None for the bundled papers alone."""


def tables_root() -> Path:
    """The specs of the bundled papers."""
    return bundled("tables")


def bundled(name: str) -> Path:
    """The `tables` or `docs` of fedrepro: inside the installed package, or the checkout's folder.
    Raises `SpecError` if there is neither."""
    folder = Path(__file__).resolve().parents[2] / name
    if not folder.is_dir():
        raise SpecError(f"no {name} found: neither an installed fedrepro nor a checkout's {name}/")
    return folder


def searched(given: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Folders of one's own, then that of the bundled papers; each once. One's own are those given,
    else those of `VARIABLE`, else `HERE` if it has a paper. Raises `SpecError` for a folder that is
    named and holds no paper."""
    named = [("--specs", one) for one in given] or [(VARIABLE, one) for one in _of_environment()]
    own = [_with_papers(folder, option) for option, folder in named]
    folders = [*(own or ([HERE] if any(_papers_in(HERE)) else [])), tables_root()]
    by_place: dict[Path, Path] = {}
    for folder in folders:
        by_place.setdefault(folder.resolve(), folder)
    return tuple(by_place.values())


def first_own_folder() -> Path:
    """Where a new paper goes if nobody says where: the first folder of `VARIABLE`, else `HERE`."""
    return next(_of_environment(), HERE)


def paper_folders(folders: Folders = None) -> Mapping[str, Path]:
    """The folder of each paper by its id, sorted; of one in two folders the first one counts."""
    roots = reversed(as_folders(folders))
    found = {folder.name: folder for root in roots for folder in _papers_in(root)}
    return dict(sorted(found.items()))


def hidden(folders: Sequence[Path]) -> Mapping[str, tuple[Path, Path]]:
    """By id of each paper that lies in two of `folders`: the one that counts, and the other."""
    chosen = paper_folders(folders)
    return {
        folder.name: (chosen[folder.name], folder)
        for root in reversed(folders)
        for folder in _papers_in(root)
        if folder != chosen[folder.name]
    }


def differs_from_bundled(paper: str, file: Path) -> bool:
    """Whether the specs beside `file` differ from those that are bundled for this paper."""
    ours = tables_root() / paper
    both = [{one.name: one.read_bytes() for one in at.glob("*.toml")} for at in (file.parent, ours)]
    return ours.is_dir() and both[0] != both[1]


def option_for(paper: str, file: Path) -> list[str]:
    """The words with which a command finds the paper of `file` again; none where it needs none."""
    root = file.parent.parent
    found = file.parent.name != paper or root == HERE or root.resolve() == tables_root().resolve()
    return [] if found else ["--specs", str(root)]


def as_folders(folders: Folders) -> tuple[Path, ...]:
    """Folders to search as a tuple."""
    if folders is None:
        return (tables_root(),)
    return (folders,) if isinstance(folders, Path) else tuple(folders)


def _of_environment() -> Iterator[Path]:
    return (Path(one) for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one)


def _papers_in(root: Path) -> Iterator[Path]:
    return (file.parent for file in sorted(root.glob(f"*/{PAPER_FILE}")) if file.is_file())


def _with_papers(folder: Path, option: str) -> Path:
    if not folder.is_dir():
        raise SpecError(f"{option}: {folder} is no folder")
    if any(_papers_in(folder)):
        return folder
    is_one = (folder / PAPER_FILE).is_file()
    hint = f"; name the folder above it, {folder.resolve().parent}" if is_one else ""
    said = f"holds no paper, which would be {folder}/<id>/{PAPER_FILE}{hint}"
    raise SpecError(f"{option}: {folder} {said}")
