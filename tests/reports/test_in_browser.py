import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fedrepro.benchmark.results import Report
from fedrepro.reports import layout
from fedrepro.reports.writers import html

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="needs a browser"),
]
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


@pytest.fixture(scope="module")
def page(worded: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(html.render([replace(worded, tables=worded.tables[:1])]), encoding="utf-8")
    return file


def seen(page: Path, fragment: str) -> str:
    """The document once its script has run at an address."""
    done = subprocess.run(
        ["chromium", *QUIET, "--dump-dom", f"{page.as_uri()}{fragment}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_a_link_to_a_claim_opens_it(page: Path) -> None:
    document = seen(page, "#toy-table-3-opposite")
    opened = re.findall(r'<details class="claim [^>]*id="([^"]*)"[^>]*open', document)
    assert opened == ["toy-table-3-opposite"]


def test_a_link_to_a_cell_opens_it_and_explains_its_verdict(page: Path) -> None:
    document = seen(page, "#toy-table-3-c1-1")
    assert re.findall(r'popovertarget="([^"]*)" class="shown"', document) == ["toy-table-3-c1-1"]
    assert f"NOT COMPARED: {layout.VERDICTS['NOT COMPARED']}." in document


def test_paper_shows_a_part_unless_everything_is_asked_for(page: Path, tmp_path: Path) -> None:
    def sheets(name: str, text: str) -> int:
        asked, drawn = tmp_path / f"{name}.html", tmp_path / f"{name}.pdf"
        asked.write_text(text, encoding="utf-8")
        command = ["chromium", *QUIET, f"--print-to-pdf={drawn}", asked.as_uri()]
        subprocess.run(command, capture_output=True, check=True)
        return len(re.findall(rb"/Type\s*/Page\b", drawn.read_bytes()))

    text = page.read_text("utf-8")
    assert text.count('name="everything"') == 1
    everything = text.replace('name="everything"', 'name="everything" checked')
    assert 1 <= sheets("part", text) < sheets("everything", everything)


@pytest.mark.parametrize("fragment", ["#%zz", '#"]', "#toy-runs"])
def test_no_fragment_of_an_address_stops_the_page(page: Path, fragment: str) -> None:
    (form,) = re.findall(r'<form id="filter"[^>]*>', seen(page, fragment))
    assert "hidden" not in form  # the script shows it, once everything before has worked
