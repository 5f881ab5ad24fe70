"""What the site has besides docs/*.md: pages of the repository's root, the API, what was made.

MkDocs calls `on_files` and `on_page_markdown`. What is made lies in `MADE`: the tutorial with its
outputs, the gallery's page and its reports (`tools/gallery.py`).
"""

import re
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
HERE = ROOT / "docs" / "site"
MADE = ROOT / "results" / "site-made"
OF_ROOT = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "CITATION.cff": "CITATION.cff",
}
"""Files of the repository's root, and what each is called on the site."""
ELSEWHERE = re.compile(
    r'<(?:script|img|iframe|source|link(?![^>]*rel="?(?:canonical|prev|next)))\b'
    r'[^>]*\s(?:src|href)="?((?:https?:)?//[^\s">]+)'
)
LINK = re.compile(r"(?<=\]\()(?!https?://|#)([^)#\s]+)")


def on_files(files: Files, config: Any) -> Files:
    """Adds what does not lie in docs/; raises `PluginError` if gallery or tutorial are not made."""
    for name, shown in OF_ROOT.items():
        files.append(_file(config, shown, ROOT / name))
    for name in ("gallery.md", "tutorial.md"):
        if not (MADE / name).is_file():
            raise PluginError(f"{MADE / name} is missing: `nox -s docs` makes it")
    for root, pattern in (
        (ROOT, "results/baselines/*.json"), (ROOT, "tables/*/*.*"), (HERE / "pages", "*"),
        (HERE, "assets/*"), (MADE, "**/*"),
    ):  # fmt: skip
        for path in sorted(one for one in root.glob(pattern) if one.is_file()):
            files.append(_file(config, path.relative_to(root).as_posix(), path))
    return files


def _file(config: Any, shown: str, path: Path) -> File:
    """A file of the site. Pages are text, so that a link in them can be followed."""
    if shown.endswith(".md"):
        return File.generated(config, shown, content=path.read_text("utf-8"))
    return File.generated(config, shown, abs_src_path=str(path))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The text with links that lead where the files lie on the site."""
    shown = page.file.src_uri
    source = next((name for name, one in OF_ROOT.items() if one == shown), f"docs/{shown}")
    markdown = markdown.replace("<th></th>", "<td></td>")  # a data frame's corner heads nothing
    return LINK.sub(lambda found: _on_the_site(found[1], source, shown), markdown)


def _on_the_site(link: str, source: str, shown: str) -> str:
    """Where a link leads on the site, from the page `shown` that is the file `source`."""
    target = normpath(join(dirname(source), link))
    inside = target.removeprefix("docs/").removeprefix("site/pages/").replace(".ipynb", ".md")
    place = OF_ROOT.get(target, inside)
    return relpath(place, dirname(shown) or ".")


def on_post_build(config: Any) -> None:
    """Removes the page for what is not found: its links are those of a host's top folder. Raises
    `PluginError` for a page, reports of the gallery among them, that loads from elsewhere."""
    (Path(config.site_dir) / "404.html").unlink(missing_ok=True)
    for page in Path(config.site_dir).rglob("*.html"):
        if loaded := ELSEWHERE.search(page.read_text("utf-8")):
            raise PluginError(f"{page}: {loaded[1]} is loaded from elsewhere")
