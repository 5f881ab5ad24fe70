"""The report as one self-contained HTML file: no font, no picture, no script from elsewhere."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from functools import cache

from jinja2 import Template
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from ...benchmark.judging.scoreboard import answer, scoreboard, why_not_run
from ...benchmark.printable import printable
from ...benchmark.results import Report, RunSummary, Series
from ...benchmark.spec.fields import ADDRESS
from .. import evidence, figures, layout, overview, specification_curve, strips
from ..pages import page

FILE = "report.html"


def render(reports: Sequence[Report]) -> str:
    """One page on all papers; everything that comes from a spec or a record is escaped."""
    return _template().render(reports=reports, boards=list(map(scoreboard, reports)))


@cache
def _template() -> Template:
    names = {
        "answer": answer,
        "layout": layout,
        "overview": overview,
        "specification_curve": specification_curve,
        "strips": strips,
        "why_not_run": why_not_run,
    }
    return page("report.html", _FILTERS, names)


def _word(word: str) -> Markup:
    """A verdict, the word on a claim or the status of a finding, as it looks everywhere."""
    return Markup('<span class="word {}">{}</span>').format(_css_class(word), word)


def _css_class(word: str) -> str:
    """A verdict or claim word as a class name: 'NOT RUN' → 'not-run'."""
    return "".join(c if c.isalnum() else "-" for c in word.lower()).strip("-")


def _address(text: str) -> Markup:
    """Where a paper can be read, as a link; anything but a web address is text."""
    if not ADDRESS.fullmatch(text):
        return escape(printable(text))
    return Markup('<a href="{}">{}</a>').format(text, text.removeprefix("https://"))


def _settings(run: RunSummary) -> Markup:
    """The settings of a run, each on its line as JSON.

    Settings without a value and the run that this one starts from are left out.
    """
    lines = "".join(
        f"{name} = {json.dumps(value, sort_keys=True)}\n"
        for name, value in run.config.items()
        if name != "start" and value not in (None, {})
    )
    return htmlsafe_json_dumps(lines, dumps=printable)


def _picture(series: Series) -> str:
    """The address of a figure panel: the drawing itself."""
    drawing = base64.b64encode(figures.svg(series).encode()).decode()
    return f"data:image/svg+xml;base64,{drawing}"


_FILTERS: dict[str, Callable[..., object]] = {
    "address": _address,
    "css": _css_class,
    "curve": specification_curve.draw,
    "evidence": evidence.line,
    "dots": strips.dots,
    "forest": strips.forest,
    "legend": figures.legend,
    "picture": _picture,
    "plural": layout.plural,
    "said": specification_curve.said,
    "settings": _settings,
    "share_shown": evidence.share_shown,
    "sort_p": evidence.p_shown,
    "word": _word,
}
_OF_LAYOUT = (
    "by_seed", "cell_name", "differences", "findings_of", "has_more", "number", "p_equals",
    "p_value", "places", "published", "span",
)  # fmt: skip
_FILTERS |= {name: getattr(layout, name) for name in _OF_LAYOUT}
