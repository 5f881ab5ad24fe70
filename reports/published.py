"""What has been run at full protocol, for `docs/published.md` and the README, between marks.

<!-- published: table -->   ...what is written here is made anew...   <!-- published: end -->
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from ..benchmark.errors import FedreproError
from ..benchmark.judging.committed import RunCell
from ..benchmark.results import VerdictWord
from ..benchmark.store.files import read_whole, write_whole
from . import layout
from . import markdown_text as md

PLACES = {"table": Path("docs/published.md"), "sentence": Path("README.md")}
"""Below the root of a checkout, the page that has each text."""
_HEADER = (
    *("paper", "table", "cell", "printed", "ours: mean ± SD", "trials", "verdict"),
    *("trained at", "device", "precision", "hours"),
)


def texts(cells: Sequence[RunCell]) -> Mapping[str, str]:
    """By name of its mark, what belongs there."""
    return {"table": f"\n{table(cells)}\n", "sentence": sentence(cells)}


def table(cells: Sequence[RunCell]) -> str:
    """A row for each cell that has trials at full protocol, as Markdown."""
    if not cells:
        return "No cell has been run at full protocol yet."
    return md.table(list(_HEADER), [_row(one) for one in cells])


def sentence(cells: Sequence[RunCell]) -> str:
    """How many cells have been run at full protocol, and what they came to."""
    if not cells:
        return "No cell has been run at full protocol yet."
    words = Counter(one.cell.verdict.word for one in cells)
    ranked = sorted(words, key=get_args(VerdictWord).index)
    counted = ", ".join(f"{words[word]} `{word}`" for word in ranked)
    cells_were = "cell has" if len(cells) == 1 else "cells have"
    return f"At full protocol {len(cells)} {cells_were} been run (docs/published.md): {counted}."


def written(text: str, name: str, content: str) -> str:
    """A page with the content between its marks of this name replaced.

    Raises `FedreproError` for a page that has not exactly one such place.
    """
    place = re.compile(rf"(<!-- published: {name} -->).*?(<!-- published: end -->)", re.DOTALL)
    if len(place.findall(text)) != 1:
        raise FedreproError(f"there is not one place '<!-- published: {name} -->' to write to")
    return place.sub(lambda found: f"{found[1]}{content}{found[2]}", text)


def write(root: Path, cells: Sequence[RunCell]) -> list[Path]:
    """Writes both texts into the pages of the checkout at `root`; those that changed.

    Raises `FedreproError` if a page or its marks are missing, or it is no file of UTF-8; neither
    page is changed then.
    """
    changed = {}
    for name, content in texts(cells).items():
        page = root / PLACES[name]
        before = _page(page)
        after = written(before, name, content)
        if after != before:
            changed[page] = after
    for page, after in changed.items():
        write_whole(page, after.encode())
    return list(changed)


def _page(path: Path) -> str:
    """The text of a page, its ends of lines as they are."""
    if path.is_symlink():
        raise FedreproError(f"{path} is a symbolic link; --docs names the root of a checkout")
    content = read_whole(path)
    if content is None:
        raise FedreproError(f"{path} is missing; --docs names the root of a checkout")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise FedreproError(f"{path} is not UTF-8 text") from None


def _row(one: RunCell) -> list[str]:
    cell = one.cell
    digits = layout.places(cell)
    ours = layout.number(cell.mean, digits)
    if cell.sd is not None:
        ours += f" ± {layout.number(cell.sd, digits)}"
    return [
        *(one.paper, one.table, f"{' '.join(cell.row)} · {' '.join(cell.column)}"),
        *(layout.published(cell), ours, f"{len(one.trials)} of {one.planned}", cell.verdict.word),
        *(", ".join(one.commits), ", ".join(one.devices), ", ".join(one.precisions)),
        layout.number(one.hours, 1),
    ]
