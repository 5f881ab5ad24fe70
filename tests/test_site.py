"""What the site is made of: pages with their places, a notebook without outputs, checked links.

`nox -s docs` builds it; here is what can be known without MkDocs.
"""

from __future__ import annotations

import ast
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LINKS = runpy.run_path(str(ROOT / "docs/site/links.py"))
BASE_CLASSES = ("FederatedMethod", "Objective", "Encoder", "Partition", "Protocol")


@pytest.fixture
def notebook() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((ROOT / "docs/tutorial.ipynb").read_text("utf-8"))
    return read


def write_site(root: Path, **pages: str) -> Path:
    for name, body in pages.items():
        (root / f"{name}.html").write_text(f"<html><body>{body}</body></html>", "utf-8")
    return root


def test_every_guide_has_its_place_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"- (?:[\w]+: )?([\w-]+\.md)", nav)
    guides = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert len(named) == len(set(named))
    assert guides <= set(named)


def test_the_api_shows_the_public_face_and_every_base_class() -> None:
    import fedrepro

    pages = ROOT / "docs/site/pages"
    shown = (pages / "api.md").read_text("utf-8")
    assert [name for name in fedrepro.__all__ if not re.search(rf"\b{name}\b", shown)] == []
    methods = (pages / "api-methods.md").read_text("utf-8")
    assert all(f".base.{name}\n" in methods for name in BASE_CLASSES)


def test_the_notebook_is_committed_without_outputs_and_its_code_is_python(
    notebook: dict[str, Any],
) -> None:
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 5
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    for cell in code:
        ast.parse("".join(line for line in cell["source"] if not line.startswith("!")))


def test_commands_of_the_notebook_are_those_of_its_kernel(notebook: dict[str, Any]) -> None:
    """Jupyter finds a registered kernel whose folder of commands is not in its own path."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    commands = [line for cell in code for line in cell["source"] if line.startswith("!")]
    assert commands
    assert all(line.startswith('!"{sys.executable}" -m fedrepro ') for line in commands)
    lines = [line.strip() for cell in code for line in cell["source"]]
    assert lines.index("import sys") < lines.index(commands[0].strip())


def test_the_notebook_goes_from_papers_to_a_report(notebook: dict[str, Any]) -> None:
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    text = "".join(line for cell in code for line in cell["source"])
    calls = [f"fedrepro.{name}(" for name in ("papers", "plan", "run", "judge", "report")]
    places = [text.index(call) for call in calls]
    assert places == sorted(places)
    assert all(frame in text for frame in (".cells", ".trials", ".claims", "fedrepro template"))


def test_links_that_lead_somewhere_pass(tmp_path: Path) -> None:
    site = write_site(
        tmp_path,
        one='<a href="two.html#here">x</a> <a href="#top">x</a> <p id="top">',
        two='<p id="here"> <a href="https://example.org">x</a> <img src="data:image/png,A">',
    )
    assert list(LINKS["problems"](site)) == []
    assert LINKS["main"](site) == 0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<a href="gone.html">x</a>', "one.html: gone.html leads nowhere"),
        ('<a href="#gone">x</a>', "one.html: #gone names no place of that page"),
        ('<a href="two.html#gone">x</a>', "one.html: two.html#gone names no place of that page"),
        ('<img src="gone.png">', "one.html: gone.png leads nowhere"),
        (
            '<script src="https://cdn.example/x.js"></script>',
            "one.html: https://cdn.example/x.js is loaded from elsewhere",
        ),
        (
            '<link rel="stylesheet" href="//cdn.example/x.css">',
            "one.html: //cdn.example/x.css is loaded from elsewhere",
        ),
    ],
)
def test_a_link_that_leads_nowhere_or_a_file_from_elsewhere_is_told(
    tmp_path: Path, body: str, said: str
) -> None:
    site = write_site(tmp_path, one=body, two="")
    assert list(LINKS["problems"](site)) == [said]
    assert LINKS["main"](site) == 1


def test_a_site_without_a_page_does_not_pass(tmp_path: Path) -> None:
    assert LINKS["main"](tmp_path) == 2
