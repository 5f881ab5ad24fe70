"""HTML pages and Markdown from templates: escaped, complete, and with nothing to fetch."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from ..benchmark.judging.baseline import Recorded
from ..benchmark.judging.comparison import ABSENT, Movement
from ..benchmark.printable import plural, printable
from . import layout
from .markdown_text import escape


def page(
    template: str, modules: Iterable[ModuleType] = (), **filters: Callable[..., Any]
) -> Template:
    """A template, compiled; everything that fills it is escaped unless it is marked as markup.
    `modules`: what it and the templates that it imports may call, `layout` aside. Its own values
    come with `render`, which raises `jinja2.UndefinedError` for one that was not given."""
    is_page = template.endswith(".html")
    environment = Environment(
        loader=PackageLoader("fedrepro.reports", "templates"),
        autoescape=is_page,
        undefined=StrictUndefined,
        finalize=_shown if is_page else _written,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shared = {"css": css_class, "number": layout.number, "plural": plural, "word": badge}
    environment.filters.update(shared | filters)
    used = {one.__name__.rpartition(".")[2]: one for one in (layout, *modules)}
    environment.globals.update(used)
    return environment.get_template(template)


def badge(text: str, word: str | None = None) -> Markup:
    """A word in the style that it has everywhere, or a text in the style of that word."""
    return Markup('<span class="word {}">{}</span>').format(
        css_class(word or text), printable(text)
    )


def css_class(word: str) -> str:
    """A verdict or claim word as a class name: 'NOT RUN' → 'not-run'."""
    return "".join(c if c.isalnum() else "-" for c in word.lower()).strip("-")


def _written(value: object) -> str:
    """What Markdown shows of a value: text as text."""
    return escape(value if isinstance(value, str) else str(value))


def _shown(value: object) -> object:
    """What a page shows of a value; `autoescape` then escapes it as HTML."""
    return value if isinstance(value, Markup) or value is None else printable(str(value))


def side_by_side(
    pairs: Mapping[str, tuple[Recorded, Recorded]], moved: Mapping[str, Sequence[Movement]]
) -> str:
    """Two reports of each paper and profile beside each other, with what moved between them."""

    def of_table(movements: Sequence[Movement], table: str) -> list[Movement]:
        return [one for one in movements if one.where.partition(": ")[0] == table]

    filled = page("diff.html", of_table=of_table)
    return filled.render(pairs=pairs, moved=moved, absent=ABSENT)
