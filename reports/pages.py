"""HTML pages from templates: escaped, complete, and with nothing to fetch."""

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from ..benchmark.printable import printable


def page(
    template: str,
    filters: Mapping[str, Callable[..., Any]] | None = None,
    names: Mapping[str, object] | None = None,
) -> Template:
    """A template, compiled; everything that fills it is escaped unless it is marked as markup.

    names: what it and the templates that it imports may use. Its own values come with `render`,
    which raises `jinja2.UndefinedError` for one that was not given.
    """
    environment = Environment(
        loader=PackageLoader("fedrepro.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters or {})
    environment.globals.update(names or {})
    return environment.get_template(template)


def word(text: str) -> Markup:
    """A verdict, the word on a claim or the status of a finding, as it looks everywhere."""
    return badge(text, text)


def badge(text: str, word: str) -> Markup:
    """A word with its scope, as the word looks everywhere."""
    return Markup('<span class="word {}">{}</span>').format(css_class(word), printable(text))


def css_class(word: str) -> str:
    """A verdict or claim word as a class name: 'NOT RUN' → 'not-run'."""
    return "".join(c if c.isalnum() else "-" for c in word.lower()).strip("-")


def _shown(value: object) -> object:
    """What a page shows of a value; `autoescape` then escapes it as HTML."""
    return value if isinstance(value, Markup) or value is None else printable(str(value))
