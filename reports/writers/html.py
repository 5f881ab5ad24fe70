"""The report as one self-contained HTML file: no font, no picture, no script from elsewhere."""

import base64
import json
from collections.abc import Sequence

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from ...benchmark.printable import printable
from ...benchmark.results import Report, RunSummary
from ...benchmark.spec.fields import ADDRESS
from .. import answer_pictures, evidence, figures, scoreboard, specification_curve, strips
from ..pages import page

FILE = "report.html"


def render(reports: Sequence[Report]) -> str:
    """One page on all papers; everything that comes from a spec or a record is escaped."""
    used = (answer_pictures, evidence, figures, scoreboard, specification_curve, strips)
    template = page("report.html", used, address=_address, data=_address_of, settings=_settings)
    return template.render(reports=reports)


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
