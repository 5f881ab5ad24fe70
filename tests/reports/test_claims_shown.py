"""Words, evidence and addresses of claims and cells, in every format that shows them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args
from xml.etree import ElementTree

import pytest

from fedrepro.benchmark.judging.scoreboard import answer, scoreboard
from fedrepro.benchmark.results import ClaimWord, Report
from fedrepro.commands._judged import _print_scoreboard
from fedrepro.reports import evidence, layout, terminal
from fedrepro.reports.writers import html, junit, markdown

WORDS: tuple[ClaimWord, ...] = get_args(ClaimWord)


@pytest.fixture(scope="module")
def worded(worded: Report) -> Report:
    """Without the figures, which take their time to draw."""
    return replace(worded, tables=worded.tables[:1])


@pytest.fixture(scope="module")
def page(worded: Report) -> str:
    return html.render([worded])


def tag(page: str, id: str) -> str:
    """The opening tag with an id."""
    found = re.search(rf'<[^>]*\bid="{re.escape(id)}"[^>]*>', page)
    assert found, id
    return found[0]


def test_the_answer_comes_first_in_every_report(worded: Report) -> None:
    said = answer([scoreboard(worded)])
    page = html.render([worded])
    assert page.index(f'<p class="answer">{said}</p>') < page.index("<h1>")
    text = markdown.render([worded]).splitlines()
    assert text[2] == f"> **{said}**"
    assert text.index("## Claims: " + ", ".join(f"1 {word}" for word in layout.CLAIMS)) < (
        text.index("## Scoreboard")
    )


def test_a_page_on_several_papers_answers_for_all_and_for_each(worded: Report) -> None:
    pages = [worded, replace(worded, paper="other", title="Another")]
    boards = [scoreboard(one) for one in pages]
    page, text = html.render(pages), markdown.render(pages)
    for said in (answer(boards), answer(boards[:1])):
        assert said in page
        assert said in text.replace("\\", "")


def test_a_paper_has_its_address(worded: Report) -> None:
    link = '<a href="https://doi.org/10.1000/182">doi.org/10.1000/182</a>'
    assert html.render([worded]).count(link) == 1
    assert "<https://doi.org/10.1000/182>" in markdown.render([worded])
    assert "doi.org" not in html.render([replace(worded, address=None)])


@pytest.mark.parametrize("word", WORDS)
def test_a_claim_stands_in_the_list_with_its_evidence_and_leads_to_the_rest(
    page: str, word: ClaimWord
) -> None:
    name = word.lower().replace(" ", "-")
    item = re.search(rf'<li class="{name}".*?</li>', page)
    assert item
    assert f'href="#toy-table-3-{name}"' in item[0]
    assert ("P(A" in item[0]) == (word != "NOT RUN")
    assert "<details" in tag(page, f"toy-table-3-{name}")
    body = page[page.index(tag(page, f"toy-table-3-{name}")) :].partition("</details>")[0]
    assert layout.CLAIMS[word] in body
    assert f"because of {name.replace('-', ' ')}" in body


@pytest.mark.parametrize("word", WORDS)
def test_words_are_explained_where_they_are_counted(page: str, word: ClaimWord) -> None:
    id = f"about-claim-{word.lower().replace(' ', '-')}"
    assert f'popovertarget="{id}"' in page
    assert "popover" in tag(page, id)
    assert layout.CLAIMS[word] in page[page.index(tag(page, id)) :].partition("</div>")[0]


def test_claims_are_filtered_by_every_word_that_occurs(worded: Report, report: Report) -> None:
    def offered(page: str) -> list[str]:
        return re.findall(r'<option value="claim ([\w-]+)">', page)

    assert offered(html.render([worded])) == [
        word.lower().replace(" ", "-") for word in layout.CLAIMS
    ]
    assert offered(html.render([report])) == ["holds"]


def test_claims_carry_what_they_are_sorted_by(page: str) -> None:
    item = re.search(r'<li class="holds"[^>]*>', page)
    assert item
    assert item[0] == '<li class="holds" data-p="0.021" data-share="0.333">'


def test_every_cell_has_an_address_of_its_own(worded: Report) -> None:
    bare = replace(worded.tables[0].cells[1], command=None)
    cells = (worded.tables[0].cells[0], bare)
    page = html.render([replace(worded, tables=(replace(worded.tables[0], cells=cells),))])
    assert "popover" in tag(page, "toy-table-3-c1-1")
    assert tag(page, "toy-table-3-c1-2") == '<div id="toy-table-3-c1-2">'


def test_junit_fails_what_is_opposite_at_the_published_protocol_alone(worded: Report) -> None:
    table = worded.tables[0]
    wanted = {
        (): {"holds": "passed", "partly": "failure", "reversed": "failure"},
        table.departures: {"holds": "passed"},
    }
    for departures, expected in wanted.items():
        one = replace(table, cells=(), departures=departures)
        suite = ElementTree.fromstring(junit.render([replace(worded, tables=(one,))]))[0]
        for case in suite:
            name = str(case.get("name")).removeprefix("claim ")
            outcome = case[0].tag if len(case) else "passed"
            assert outcome == expected.get(name, "skipped"), name


def test_a_long_comparison_keeps_what_it_is_held_against(worded: Report) -> None:
    claim = worded.tables[0].claims[0]
    many = ", ".join(f"Method {i} @ CIFAR-100|IID" for i in range(9))
    texts = {
        f"CFL @ CIFAR-100|IID - max({many}) = 6.40": "=",
        f"CFL @ CIFAR-100|IID > max({many})": ">",
    }
    for text, relation in texts.items():
        one = replace(claim.comparisons[2], text=text, relation=relation)
        shown = evidence.line(replace(claim, comparisons=(one,))).partition(": −3.00")[0]
        assert len(shown) <= 123
        assert "…" in shown
        assert shown.startswith("CFL @ CIFAR-100|IID")
        assert shown.endswith(" = 6.40") or " > max(Method 0 @" in shown


def test_a_table_on_a_terminal_tells_the_evidence_of_its_claims(worded: Report) -> None:
    text = terminal.render(worded, lambda word, as_word=None: word)
    for word in WORDS:
        assert f"claim {word}: this claim is {word.lower()}" in text
    assert "judged at 5, 10 of 40 declared trials" in text


def test_a_terminal_answers_before_it_counts(
    worded: Report, capsys: pytest.CaptureFixture[str]
) -> None:
    _print_scoreboard(scoreboard(worded))
    first, second, *others = capsys.readouterr().out.splitlines()
    assert first == "toy, profile reduced"
    assert second.strip() == answer([scoreboard(worded)])
    assert any("1 OPPOSITE HERE" in line for line in others)
