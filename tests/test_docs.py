"""The docs lead where they say, and the site has all of them."""

import ast
import json
import re
from pathlib import Path

import fedrepro
from tools import commands
from tools.found import filled

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]*))?\)")
NAMED = re.compile(r"`((?:benchmark|docs|methods|reports|src|tables|tests|tools)/[\w./-]+)`")
EXAMPLE = re.compile(r"my_?method|mypaper")
BUDGETS = {
    "Tutorials": (800, 1400),
    "How to": (800, 6400),
    "Reference": (2500, 5000),
    "Explanation": (1500, 4000),
    "Findings": (300, 1500),
}
"""By kind of page: the most words of a page, and of all pages together."""
APART = (
    "tutorial.md", "claims.md", "settings.md", "api.md", "api-methods.md", "gallery.md",
    "changelog.md",
)  # fmt: skip
"""Pages that are generated, or have a budget of their own."""
OF_ROOT = ("readme.md", "security.md", "contributing.md", "changelog.md")
BASE_CLASSES = ("FederatedMethod", "Objective", "Encoder", "Partition", "Protocol")


def text_of(path: Path | str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in headings}


def test_links_files_and_sessions_that_are_named_exist() -> None:
    known = r'nox\.session\ndef (\w+)|define\("(\w+)"|^    "(\w+)": \('
    defined = re.findall(known, text_of("noxfile.py"), re.MULTILINE)
    sessions = {"".join(one) for one in defined} | {"reproduce-<paper>"}
    sessions |= {f"reproduce-{paper.parent.name}" for paper in ROOT.glob("tables/*/paper.toml")}
    missing = []
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    pages = [page for page in pages if "site" not in page.parts]
    for page in (page for page in pages if page.name != "CHANGELOG.md"):
        text = text_of(page)
        for target, anchor in LINK.findall(text):
            file = (page.parent / target).resolve() if target else page
            if not file.exists() or (anchor and anchor not in anchors(file)):
                missing.append(f"{page.name}: {target}#{anchor}")
        named = {name for name in NAMED.findall(text) if not EXAMPLE.search(name)}
        missing += [f"{page.name}: {name}" for name in named if not (ROOT / name).exists()]
        asked = set(re.findall(r"nox -s ([a-z<>-]+)", text))
        missing += [f"{page.name}: nox -s {name}" for name in asked - sessions]
    assert len(pages) > 20
    assert missing == []


def test_the_site_has_every_guide_the_public_names_and_the_base_classes() -> None:
    nav = text_of("mkdocs.yml").partition("\nnav:\n")[2]
    named = re.findall(r"- (?:[\w]+: )?([\w/-]+\.md)", nav)
    assert len(named) == len(set(named))
    pages = {str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md")}
    assert {one for one in pages if not one.startswith(("site/", "notes/"))} <= set(named)
    api, methods = text_of("docs/site/pages/api.md"), text_of("docs/site/pages/api-methods.md")
    assert [name for name in fedrepro.__all__ if not re.search(rf"\b{name}\b", api)] == []
    assert all(f".base.{name}\n" in methods for name in BASE_CLASSES)


def words(page: str) -> int:
    """How many words a page has, without its code and what is generated."""
    file = ROOT / f"{page[:-3].upper()}.md" if page in OF_ROOT else ROOT / "docs" / page
    made = r"<!-- [\w ]+: \w+ -->.*?<!-- [\w ]+: end -->|^ *```.*?^ *```"
    return len(re.sub(made, "", text_of(file), flags=re.DOTALL | re.MULTILINE).split())


def test_pages_and_kinds_of_pages_stay_within_their_words() -> None:
    nav = text_of("mkdocs.yml").partition("\nnav:\n")[2]
    kinds = re.findall(r"  - ([\w ]+):\n((?:      - .*\n)+)", nav)
    assert {kind for kind, _ in kinds} == set(BUDGETS)
    counted = words("readme.md")
    for kind, listed in kinds:
        pages = {
            page: words(page) for page in re.findall(r"- (\S+\.md)", listed) if page not in APART
        }
        each, together = BUDGETS[kind]
        assert {page: n for page, n in pages.items() if n > each} == {}
        assert sum(pages.values()) <= together, kind
        counted += sum(pages.values())
    assert counted <= 17_000
    assert words("readme.md") <= 350
    assert words("changelog.md") <= 1500
    assert sum(words(f"notes/{page.name}") for page in ROOT.glob("docs/notes/*.md")) <= 8000


def test_there_are_at_most_thirty_terms_to_learn() -> None:
    assert len(re.findall(r"^\| (?!term )", text_of("docs/glossary.md"), re.MULTILINE)) <= 30


def test_the_page_on_commands_is_what_their_parsers_say() -> None:
    page = text_of("docs/commands.md")
    assert filled(page, commands.lines()) == page, "python -m tools.commands"


def test_the_notebook_is_committed_without_outputs_and_its_code_is_python() -> None:
    """Its commands are those of its kernel, which need not be in the path of commands."""
    cells = json.loads(text_of("docs/tutorial.ipynb"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    lines = [line for cell in code for line in cell["source"]]
    commands = [line for line in lines if line.startswith("!")]
    assert len(code) > 5
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    ast.parse("\n".join(line.rstrip("\n") for line in lines if not line.startswith("!")))
    assert commands
    assert all(line.startswith('!"{sys.executable}" -m fedrepro ') for line in commands)
    assert [*map(str.strip, lines)].index("import sys") < lines.index(commands[0])


def test_the_site_is_refused_for_files_from_elsewhere() -> None:
    text = text_of("tools/site_hooks.py")
    begin = text.index("ELSEWHERE")
    found: dict[str, re.Pattern[str]] = {}
    exec("import re\n" + text[begin : text.index("\nLINK", begin)], {}, found)
    sound = '<a href="https://a.b">x</a> <img src="data:image/png,A"> <script src="x.js"></script>'
    assert not found["ELSEWHERE"].search(f'{sound}<link rel="canonical" href="https://a.b">')
    for wrong in (
        '<script async src="https://cdn.example/x.js">',
        '<link rel="stylesheet" href="//cdn.example/x.css">',
        "<img src=//cdn.example/x.png>",
    ):
        assert found["ELSEWHERE"].search(sound + wrong)
