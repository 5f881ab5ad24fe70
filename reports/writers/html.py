"""The report as one self-contained HTML file: no font, no picture, no script from elsewhere.

Of many papers each has a page of its own in `papers/`, and the file is their overview.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from jinja2 import Template
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from fedrepro.benchmark.judging.scoreboard import Scoreboard, scoreboard, why_not_run
from fedrepro.benchmark.results import Report, RunSummary, Series
from fedrepro.reports import figures, layout, overview, strips
from fedrepro.reports.pages import page
from fedrepro.reports.parts import Parts

FILE = "report.html"
PARTS = ("page",)
PAGES = {"page": "papers/{paper}.html"}
"""Parts that stay files of their own, and where."""


def render(reports: Sequence[Report], overview_page: str | None = None) -> str:
    """One page on all papers; everything that comes from a spec or a record is escaped.

    overview_page: that of all papers, where this is the page of one of them.
    """
    return _page(reports, list(map(scoreboard, reports)), overview_page)


def part(report: Report, name: str) -> str:
    """The page of one paper of many."""
    return render([report], overview_page=f"../{FILE}")


def whole(parts: Parts, boards: Sequence[Scoreboard]) -> Iterator[str]:
    """The overview of many papers, which leads to their pages."""
    yield _page([], boards, None)


def _page(
    reports: Sequence[Report], boards: Sequence[Scoreboard], overview_page: str | None
) -> str:
    return _template().render(
        reports=reports, boards=boards, apart=not reports, overview_page=overview_page
    )


@cache
def _template() -> Template:
    """Compiled once: a suite of many papers has many pages."""
    names = {"layout": layout, "overview": overview, "strips": strips, "why_not_run": why_not_run}
    return page("report.html", _FILTERS, names)


@lru_cache
def _word(word: str) -> Markup:
    """A verdict, the word on a claim or the status of a finding, as it looks everywhere."""
    return Markup('<span class="word {}">{}</span>').format(_css_class(word), word)


@lru_cache
def _css_class(word: str) -> str:
    """A verdict or claim word as a class name: 'NOT RUN' → 'not-run'."""
    return "".join(c if c.isalnum() else "-" for c in word.lower()).strip("-")


def _plural(count: int, noun: str) -> str:
    """'1 cell', '3 cells'."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _settings(run: RunSummary) -> Markup:
    """What a run was told, each setting on its line as JSON."""
    return htmlsafe_json_dumps(run.config, dumps=_lines)


def _lines(config: Mapping[str, Any]) -> str:
    """Settings without a value and the run that this one starts from are left out."""
    told = {name: value for name, value in config.items() if value not in (None, {})}
    told.pop("start", None)
    return "".join(f"{name} = {_JSON.encode(value)}\n" for name, value in told.items())


_JSON = json.JSONEncoder(sort_keys=True)


def _panel(series: Series, name: str) -> Markup:
    """A figure panel as inline SVG; matplotlib escapes the text in it."""
    return Markup(figures.svg(series, name))


# What is asked of every cell is a filter, which a template calls without ceremony.
_FILTERS: dict[str, Callable[..., object]] = {
    "by_seed": layout.by_seed,
    "cell_name": layout.cell_name,
    "css": _css_class,
    "differences": layout.differences,
    "dots": strips.dots,
    "findings_of": layout.findings_of,
    "forest": strips.forest,
    "has_more": layout.has_more,
    "number": layout.number,
    "p_value": layout.p_value,
    "panel": _panel,
    "places": layout.places,
    "plural": _plural,
    "published": layout.published,
    "settings": _settings,
    "span": layout.span,
    "word": _word,
}
