import re
from dataclasses import replace
from typing import get_args

import pytest

from fedrepro.benchmark.claims.answer import ClaimWord
from fedrepro.benchmark.results import Report, named
from fedrepro.commands._judged import _print
from fedrepro.reports import layout, terminal
from fedrepro.reports.writers import html, latex, markdown

WORDS: tuple[ClaimWord, ...] = get_args(ClaimWord)


@pytest.fixture(scope="module")
def worded(worded: Report) -> Report:
    """Without the figures, which take their time to draw."""
    return replace(worded, tables=worded.tables[:1])


@pytest.fixture(scope="module")
def page(worded: Report) -> str:
    return html.render([worded])


def css(word: str) -> str:
    return word.lower().replace(" ", "-")


def tag(page: str, id: str) -> str:
    found = re.search(rf'<[^>]*\bid="{re.escape(id)}"[^>]*>', page)
    assert found, id
    return found[0]


def test_every_report_begins_with_its_first_lines(
    worded: Report, capsys: pytest.CaptureFixture[str]
) -> None:
    first = worded.first
    page, text = html.render([worded]), markdown.render([worded]).replace("\\", "")
    _print(worded)
    screen = capsys.readouterr().out
    told = (first.sentence, first.run_on, *first.evidence, *first.totals)
    for shown, end in ((page, "<h1>"), (text, "## Tables"), (screen, "  cells:")):
        places = [shown.index(one) for one in told]
        assert places == sorted(places)
        assert places[-1] < shown.index(end)
    assert screen.startswith(f"{first.sentence} ({first.run_on})\n")
    comments = [one[2:] for one in latex.render([worded]).splitlines() if one.startswith("% ")]
    assert comments[1:] == [f"{first.sentence} ({first.run_on})", *first.evidence, *first.totals]
    assert text.splitlines()[4] == f"> **{first.sentence}** ({first.run_on})"


def test_a_page_on_several_papers_says_the_sentence_of_each(worded: Report) -> None:
    other = replace(worded, paper="other", first=replace(worded.first, sentence="Other: nothing."))
    page, text = html.render([worded, other]), markdown.render([worded, other]).replace("\\", "")
    for one in (worded, other):
        link = f'<a href="#{one.paper}">{one.first.answer}</a>'
        assert page.index(link) < page.index('<nav class="contents"')
        assert text.index(f"- **{one.first.answer}**") < text.index(f"# {worded.title}")


def test_every_table_has_a_badge_with_its_scope_and_what_it_was_run_on(report: Report) -> None:
    page, text = html.render([report]), markdown.render([report]).replace("\\", "")
    screen = terminal.render(report, lambda word, as_word=None: word)
    for table in report.tables:
        assert f'<span class="word {css(table.word)}">{table.word} · reduced</span>' in page
        assert f"| {named(table.id)} | **{table.word}** · reduced |" in text
        assert f"{table.word} · reduced: {table.reason}" in screen
    for shown, told in ((page, "Run on "), (text, "- run on "), (screen, "\nrun on ")):
        assert shown.count(f"{told}digits, 2 trials (paper: stl10)") == len(report.tables)


def test_the_first_screen_lists_every_table_with_its_word_and_retention(report: Report) -> None:
    strip = html.render([report]).partition('aria-label="Tables">')[2].partition("</ul>")[0]
    found = re.findall(
        r'<li class="([\w-]+)"><b>([A-Z ]+)</b> <a[^>]* href="(#[\w-]+)"[^>]*>(.*?)</a>', strip
    )
    assert found == [
        ("pass", "PASS", "#toy-table-3", "3 <span>×1.20</span>"),
        ("not-run", "NOT RUN", "#toy-figure-4", "fig. 4"),
    ]


def test_cells_of_a_scaled_run_carry_no_badge(report: Report) -> None:
    grid = html.render([report]).partition('<table class="grid">')[2].partition("</table>")[0]
    assert "not-compared" in grid
    assert "NOT COMPARED" not in grid
    assert "76.80 → 81.00 |" in markdown.render([report]).replace("\\", "")


@pytest.mark.parametrize("word", WORDS)
def test_a_claim_stands_in_the_list_and_leads_to_its_evidence(page: str, word: ClaimWord) -> None:
    id = f"toy-table-3-{css(word)}"
    item = re.search(rf'<li class="{css(word)}".*?</li>', page)
    assert item
    assert f'href="#{id}"' in item[0]
    assert "<details" in tag(page, id)
    body = page[page.index(tag(page, id)) :].partition("</details>")[0]
    assert layout.CLAIMS[word] in body
    assert f"because of {word.lower()}" in body
    assert ("all as stated in 1 of 2 trials" in body) == (word != "NOT RUN")


def test_a_table_on_a_terminal_tells_the_evidence_of_its_claims(worded: Report) -> None:
    text = terminal.render(worded, lambda word, as_word=None: word)
    for word in WORDS:
        (shown,) = (one for one in text.splitlines() if one.startswith(f"claim {word}: "))
        assert shown.startswith(f"claim {word}: this claim is {word.lower()}")
        assert ("1.50 [0.50, 2.50] times the published" in shown) == (word != "NOT RUN")


def test_markdown_tells_no_finer_word_and_no_correction(worded: Report) -> None:
    text = markdown.render([worded])
    assert not re.search(r"SCALED|EXACT|ERROR|corrected|\bp_", text)


def test_a_report_names_where_its_paper_was_published(report: Report) -> None:
    for text in (html.render([report]), markdown.render([report])):
        assert "A. Author (A Venue, 2023)" in text.replace("\\", "")
