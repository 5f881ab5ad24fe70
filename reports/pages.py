"""HTML pages from templates: escaped, complete, and with nothing to fetch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def page(
    template: str, filters: Mapping[str, Callable[..., Any]] | None = None, **values: object
) -> str:
    """The template filled with `values`; everything is escaped unless it is marked as markup.

    Raises `jinja2.UndefinedError` for a value that the template asks for and was not given.
    """
    environment = Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters or {})
    return environment.get_template(template).render(**values)
