"""The report as one self-contained HTML file: no font, no picture, no script from elsewhere."""

import base64
import json
from collections.abc import Callable, Sequence
from functools import cache

from jinja2 import Template
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from ...benchmark.printable import printable
from ...benchmark.results import Report, RunSummary
from ...benchmark.spec.fields import ADDRESS
from .. import answer_pictures, evidence, figures, layout, scoreboard, specification_curve, strips
from ..pages import badge, css_class, page

FILE = "report.html"


def render(reports: Sequence[Report]) -> str:
    """One page on all papers; everything that comes from a spec or a record is escaped."""
    return _template().render(reports=reports)


@cache
def _template() -> Template:
    used = (answer_pictures, evidence, figures, layout, scoreboard, specification_curve, strips)
    names = {module.__name__.rpartition(".")[2]: module for module in used}
    return page("report.html", _FILTERS, names)


def _address(text: str) -> Markup:
    """Where a paper can be read, as a link; anything but a web address is text."""
    if not ADDRESS.fullmatch(text):
        return escape(printable(text))
    return Markup('<a href="{}">{}</a>').format(text, text.removeprefix("https://"))


def _settings(run: RunSummary) -> Markup:
    """The settings of a run that have a value, each on its line as JSON, without its start."""
    lines = "".join(
        f"{name} = {json.dumps(value, sort_keys=True)}\n"
        for name, value in run.config.items()
        if name != "start" and value not in (None, {})
    )
    return htmlsafe_json_dumps(lines, dumps=printable)


def _address_of(drawing: bytes) -> str:
    if not drawing:
        return ""
    return f"data:image/svg+xml;base64,{base64.b64encode(drawing).decode()}"


_FILTERS: dict[str, Callable[..., object]] = {
    "address": _address,
    "data": _address_of,
    "css": css_class,
    "curve": specification_curve.draw,
    "evidence": evidence.line,
    "dots": strips.dots,
    "legend": figures.legend,
    "plural": layout.plural,
    "said": specification_curve.said,
    "settings": _settings,
    "told": evidence.of_table,
    "range": evidence.span,
    "badge": badge,
    "word": badge,
}
_OF_LAYOUT = (
    "by_seed", "cell_name", "differences", "findings_of", "has_more", "number", "places",
    "published", "span",
)  # fmt: skip
_FILTERS |= {name: getattr(layout, name) for name in _OF_LAYOUT}
