"""The docs lead where they say: links, anchors, and the files and sessions that they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = sorted(
    path for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")) if path.name != "CHANGELOG.md"
)
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]*))?\)")
NAMED = re.compile(r"`((?:benchmark|docs|methods|reports|tables|tests)/[\w./-]+)`")
EXAMPLE = re.compile(r"my_?method|mypaper")


def anchors(page: Path) -> set[str]:
    """The anchors that a code host gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    named = set(NAMED.findall(page.read_text(encoding="utf-8")))
    missing = {name for name in named if not (ROOT / name).exists()}
    assert {name for name in missing if not EXAMPLE.search(name)} == set()


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_sessions_that_are_named_exist(page: Path) -> None:
    known = set(re.findall(r'nox\.session(?:\(name="([\w-]+)"\))?\ndef (\w+)', noxfile()))
    sessions = {name or function for name, function in known}
    sessions |= {f"reproduce-{paper.parent.name}" for paper in ROOT.glob("tables/*/paper.toml")}
    named = set(re.findall(r"nox -s ([a-z<>-]+)", page.read_text(encoding="utf-8")))
    assert named - {"reproduce-<paper>"} <= sessions


def noxfile() -> str:
    return (ROOT / "noxfile.py").read_text(encoding="utf-8")
