"""Whether every link of a built site leads somewhere, and whether a page loads from elsewhere.

`python docs/site/links.py DIR` looks at each HTML file below DIR, reports of the gallery among
them, prints what is wrong and ends with exit code 1 then.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Tags by which a page loads a file, and the attribute that names it."""
NOT_LOADED = ("canonical", "prev", "next")
"""`rel` of a `link` that is followed at most."""


@dataclass
class Page(HTMLParser):
    """The anchors of a page, the links that it shows, and the files that it loads."""

    text: str
    anchors: set[str] = field(default_factory=lambda: {""})
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := given.get(key))}
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        loaded = given.get(LOADS.get(tag, ""))
        if loaded and given.get("rel") not in NOT_LOADED:
            self.loads.append(loaded)


def problems(root: Path) -> Iterator[str]:
    """A sentence for each link that leads nowhere and each file that is loaded from elsewhere."""
    pages = {file.resolve(): Page(file.read_text("utf-8")) for file in sorted(root.rglob("*.html"))}
    for file, page in pages.items():
        for link in (*page.links, *page.loads):
            parts = urlsplit(link)
            if parts.scheme == "data" or (parts.scheme and link not in page.loads):
                continue
            where = f"{file.relative_to(root.resolve())}: {link}"
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if parts.scheme or parts.netloc:
                yield f"{where} is loaded from elsewhere"
            elif not target.is_file():
                yield f"{where} leads nowhere"
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{where} names no place of that page"


def main(root: Path) -> int:
    """Prints the problems of a site; 1 if there is one, 2 if there is no page, else 0."""
    if not any(root.rglob("*.html")):
        print(f"{root} holds no page")
        return 2
    found = list(problems(root))
    print("\n".join([*found, f"{len(found)} links lead nowhere or elsewhere in {root}"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
