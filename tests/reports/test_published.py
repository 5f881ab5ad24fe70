"""`docs/published.md` and the README say what the committed records say, no more and no less."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fedrepro.benchmark.errors import FedreproError
from fedrepro.cli import main
from fedrepro.reports.published import PLACES, write, written

ROOT = Path(__file__).parents[2]
RENEW = "fedrepro published --docs ."


def test_the_pages_say_what_the_records_say(tmp_path: Path) -> None:
    for page in PLACES.values():
        (tmp_path / page).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / page, tmp_path / page)
    records = ["--records", str(ROOT / "results/published"), "--store", str(tmp_path / "store")]
    code = main(["published", *records, "--out", str(tmp_path / "o"), "--docs", str(tmp_path)])
    assert code in (0, 1, 3)
    for page in PLACES.values():
        said = (tmp_path / page).read_text("utf-8")
        assert said == (ROOT / page).read_text("utf-8"), RENEW


def test_only_what_stands_between_the_marks_is_written() -> None:
    page = "a <!-- published: table -->b\nc<!-- published: end --> d <!-- published: end -->"
    after = "a <!-- published: table -->new \\1<!-- published: end --> d <!-- published: end -->"
    assert written(page, "table", "new \\1") == after


@pytest.mark.parametrize("page", ["", "<!-- published: table -->", "twice"])
def test_a_page_without_its_one_place_is_refused(page: str) -> None:
    one = "<!-- published: table --><!-- published: end -->"
    with pytest.raises(FedreproError, match="not one place"):
        written(one + one if page == "twice" else page, "table", "new")


def test_a_folder_that_is_no_checkout_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(FedreproError, match="names the root of a checkout"):
        write(tmp_path, [])


PAGES = {"docs/published.md": "table", "README.md": "sentence"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for page, name in PAGES.items():
        text = f"a\r\n<!-- published: {name} -->old<!-- published: end -->\r\nb\r\n"
        (tmp_path / page).write_bytes(text.encode())
    return tmp_path


def test_ends_of_lines_stay_as_they_are(checkout: Path) -> None:
    assert write(checkout, []) == [checkout / page for page in PAGES]
    for page in PAGES:
        text = (checkout / page).read_bytes()
        assert text.startswith(b"a\r\n<!--")
        assert text.endswith(b"-->\r\nb\r\n")
        assert b"old" not in text


@pytest.mark.parametrize("kind", ["not UTF-8", "link", "folder", "no mark", "missing", "pipe"])
def test_where_one_page_cannot_be_written_neither_is(checkout: Path, kind: str) -> None:
    page = checkout / "README.md"
    before = page.read_bytes()
    page.unlink()
    if kind == "not UTF-8":
        page.write_bytes(before + b"caf\xe9")
    elif kind == "link":
        (checkout / "elsewhere").write_bytes(before)
        page.symlink_to("elsewhere")
    elif kind == "folder":
        page.mkdir()
    elif kind == "pipe":
        os.mkfifo(page)
    elif kind == "no mark":
        page.write_text("b")
    with pytest.raises(FedreproError) as raised:
        write(checkout, [])
    assert "README.md" in str(raised.value) or kind == "no mark"
    assert b"old" in (checkout / "docs/published.md").read_bytes()
    assert not page.is_symlink() or page.readlink() == Path("elsewhere")
