"""HTML pages from templates: escaped, complete, and with nothing to fetch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template


def page(
    template: str, filters: Mapping[str, Callable[..., Any]] | None = None, **values: object
) -> str:
    """The template filled with `values`; everything is escaped unless it is marked as markup.

    Raises `jinja2.UndefinedError` for a value that the template asks for and was not given.
    """
    return _compiled(template, tuple((filters or {}).items())).render(**values)


@cache
def _compiled(template: str, filters: tuple[tuple[str, Callable[..., Any]], ...]) -> Template:
    """Compiled once: a suite of many papers writes many pages from one template."""
    environment = Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        # Templates do not change while a report is made.
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    return environment.get_template(template)
