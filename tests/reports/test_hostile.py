"""Text of a spec, a record or a path is text in every format, whatever it would be elsewhere. Each
format is read by a parser of its own, and must have the structure of one with harmless texts."""

import csv
import dataclasses
import io
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import dropwhile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from fedrepro.benchmark.audit.findings import Finding
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.folders import tables_root
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Paper
from fedrepro.cli import main
from fedrepro.reports import audit, publish, terminal
from tests.hostile import HOSTILE, unseen

OURS = {"kind", "word", "support", "status", "created", "schema", "key", "run"}
"""Fields of a report that no spec fills."""


def filled(value: Any, text: str, name: str = "") -> Any:
    """A report with a text in every place that a spec, a record or a command fills."""
    if name in OURS or value is None:
        return value
    if isinstance(value, str):
        return text
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [one for one in dataclasses.fields(value) if one.init]
        return replace(
            value, **{f.name: filled(getattr(value, f.name), text, f.name) for f in fields}
        )
    if name in ("row", "column"):
        return (text, *value[1:])  # labels that differ stay apart
    if isinstance(value, tuple | list):
        return type(value)(filled(one, text, name) for one in value)
    if isinstance(value, dict):
        return {f"{text} {i}": filled(one, text, name) for i, one in enumerate(value.values())}
    return value


@pytest.fixture(scope="module")
def drawn(report: Report) -> Report:
    """The report without an address, which is a link, and without pictures (`test_figures`)."""
    return replace(report, tables=report.tables[:1], address=None)


@pytest.fixture(scope="module")
def expected(drawn: Report) -> dict[str, str]:
    """By file, the report in which every text is harmless."""
    return rendered(filled(drawn, "harmless"))


class Structure(HTMLParser):
    """Tags with the names of their attributes; addresses that lead out of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.outside: list[str] = []
        self.shown = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, *(name for name, _ in attrs)))
        for name, value in attrs:
            if name in ("src", "href") and not re.match(r"#|data:image/svg\+xml;", str(value)):
                self.outside.append(str(value))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}",))

    def handle_data(self, data: str) -> None:
        self.shown += data


def structure_of_markdown(text: str) -> list[str]:
    def walk(tokens: list[Token]) -> Iterator[str]:
        for token in tokens:
            if token.type not in ("text", "text_special", "softbreak", "inline"):
                raw = token.content if token.type.startswith("html") else ""
                yield f"{token.type} {token.attrs} {raw}"
            yield from walk(token.children or [])

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return list(walk(parser.parse(text)))


def structure_of_xml(text: str) -> list[tuple[str, ...]]:
    return [(one.tag, *one.keys()) for one in ElementTree.fromstring(text.encode()).iter()]


def structure_of_latex(text: str) -> tuple[list[str], list[int]]:
    """Commands that are not letters, and the columns of each row."""
    lines = dropwhile(lambda line: not line or line.startswith("% "), text.splitlines())
    letters = "textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|symbol"
    text = re.sub(
        rf"\\(?:{letters})(?:\{{(?:|34|96)\}})|\\[{{}}&%$#_]|\{{[*\[\]]\}}", "", "\n".join(lines)
    )
    assert not re.search(r"[%#_~^]", text)
    assert text.count("{") == text.count("}")
    assert not [line for line in text.splitlines() if re.match(r"\s*[\[*]", line)]
    rows = [line.count("&") for line in text.splitlines() if line.endswith(r"\\")]
    return re.findall(r"\\(?:[A-Za-z]+|.)", text), rows


def rendered(report: Report) -> dict[str, str]:
    return {
        writer.FILE: writer.render([report]).encode("utf-8", "replace").decode()
        for writer in publish.formats().values()
    }


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_hostile_text_is_text_in_every_format(
    drawn: Report, expected: dict[str, str], text: str
) -> None:
    found = rendered(filled(drawn, text))
    assert found.keys() == {
        "report.csv", "report.html", "report.json", "report.junit.xml", "report.md", "report.tex",
        "report.trials.csv",
    }  # fmt: skip
    page = Structure(found["report.html"])
    assert page.tags == Structure(expected["report.html"]).tags
    assert page.outside == []
    assert not unseen(page.shown)

    markdown = found["report.md"]
    assert structure_of_markdown(markdown) == structure_of_markdown(expected["report.md"])
    assert not unseen(markdown)
    for link in ("://evil", "www.evil", "@someone"):  # code hosts make links of them
        assert link not in re.sub(r"(`+).*?\1", "", markdown, flags=re.DOTALL)

    assert structure_of_latex(found["report.tex"]) == structure_of_latex(expected["report.tex"])
    assert not unseen(found["report.tex"])

    junit = found["report.junit.xml"]
    assert structure_of_xml(junit) == structure_of_xml(expected["report.junit.xml"])

    for file in ("report.csv", "report.trials.csv"):
        header, *lines = csv.reader(io.StringIO(found[file], newline=""))
        harmless = csv.reader(io.StringIO(expected[file]))
        assert [len(header), *map(len, lines)] == list(map(len, harmless))
        for line in (header, *lines):
            for name, field in zip(header, line, strict=True):
                starts_a_formula = re.match(r"[\t\r\n]|\s*[=+@＝＋－＠-]", field)
                assert name == "trials" or not starts_a_formula or is_number(field)
                assert not unseen(field)

    assert json.loads(found["report.json"])["title"] == text.replace("\udce9", "?")


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


ADDRESSES = [
    *("https://evil.example", "javascript:alert(1)", "http://evil.example", "www.evil.example"),
    *("https://evil.example/\" onclick='x'", "<script>", "[x](javascript:alert(1))", "x\ny"),
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_only_a_web_address_becomes_the_link_of_a_paper(drawn: Report, address: str) -> None:
    is_one = address == "https://evil.example"
    found = {
        name: writer.render([replace(drawn, address=address)])
        for name, writer in publish.formats().items()
        if name in ("html", "markdown")
    }
    page, plain = Structure(found["html"]), Structure(publish.formats()["html"].render([drawn]))
    assert page.outside == ([address] if is_one else [])
    assert [tag for tag in page.tags if tag not in (("a", "href"), ("/a",))] == [
        tag for tag in plain.tags if tag not in (("a", "href"), ("/a",))
    ]
    links = [one for one in structure_of_markdown(found["markdown"]) if "link_open" in one]
    assert [one for one in links if "evil" in one] == (links[:1] if is_one else [])


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_hostile_text_is_text_on_a_terminal(report: Report, text: str) -> None:
    def lines(report: Report) -> list[str]:
        return terminal.render(report, lambda word, as_word=None: word).splitlines()

    shown = lines(filled(report, text))
    assert len(shown) == len(lines(filled(report, "harmless")))
    assert not [line for line in shown if unseen(line)]


@pytest.fixture(scope="module")
def paper() -> Paper:
    return load_paper("fcl")


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_hostile_text_is_text_in_both_reports_of_the_audit(paper: Paper, text: str) -> None:
    def audited(text: str) -> audit.Audited:
        named = replace(paper, id=text, title=text, authors=text)
        findings = [
            Finding(text, text, (text,), text, text, text, text, status)
            for status in ("inconsistent", "undecidable", "consistent")
        ]
        return [(named, findings)]

    page, plain = (Structure(audit.html(audited(one))) for one in (text, "harmless"))
    assert page.tags == plain.tags
    assert page.outside == []
    assert not unseen(page.shown)
    markdown, expected = (audit.markdown(audited(one)) for one in (text, "harmless"))
    assert structure_of_markdown(markdown) == structure_of_markdown(expected)
    assert not unseen(markdown)


@pytest.mark.parametrize(
    "number", ["-0.5", "+1.25", "76.80", "-1e-3", "1,024", "-3%", "—", "-", "≈ 23", "−0.5"]
)
def test_numbers_stay_numbers_in_a_spreadsheet(report: Report, number: str) -> None:
    cell = replace(report.tables[0].cells[0], published=number, trials=(-0.5, -1e-9))
    table = replace(report.tables[0], cells=(replace(cell, mean=-0.25),))
    text = publish.formats()["csv"].render([replace(report, tables=(table,))])
    (line,) = csv.DictReader(io.StringIO(text))
    assert (line["published"], line["trials"], line["mean"]) == (number, "-0.5 -1e-09", "-0.25")


def test_commands_print_hostile_specs_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tables_root() / "fcl", tmp_path / "specs" / "fcl")
    for file in (tmp_path / "specs" / "fcl").iterdir():
        spec = file.read_text("utf-8")
        evil = r"\1\\u001b[2J\\u009b31m\\u202e\\u0007\\r"
        file.write_text(re.sub(r'^((?:title|says|authors) = ")', evil, spec, flags=re.M), "utf-8")
    monkeypatch.setenv("FEDREPRO_TABLES", str(tmp_path / "specs"))
    places = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    commands = (
        ["list", "fcl"], ["check", "fcl"], ["audit", "fcl"],
        ["show", "fcl", "2", *places[:2]], ["report", "fcl", *places],
    )  # fmt: skip
    for command in commands:
        main(command)
        printed = capsys.readouterr()
        assert printed.out or printed.err
        assert unseen(printed.out + printed.err) == []
