"""Pieces of JUnit XML, which CI systems show: a document of suites, and their test cases.

Texts are `printable`, since XML 1.0 cannot hold others; `ElementTree` escapes the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal
from xml.etree import ElementTree

from ..benchmark.printable import printable

Tag = Literal["failure", "error", "skipped"]


def suite(name: str, created: str) -> ElementTree.Element:
    """A suite without cases. created: when, in ISO 8601."""
    return ElementTree.Element("testsuite", name=printable(name), timestamp=created[:19], time="0")


def add_case(
    suite: ElementTree.Element, name: str, tag: Tag | None, message: str, kind: str = ""
) -> None:
    """A case of a suite; it passed if `tag` is None, and `message` is not told then.

    kind: of a failure or an error, one word.
    """
    case = ElementTree.SubElement(
        suite, "testcase", classname=suite.get("name", ""), name=printable(name), time="0"
    )
    if tag is None:
        return
    outcome = ElementTree.SubElement(case, tag, message=printable(message))
    if tag != "skipped":
        outcome.set("type", kind)


def failed_trials(name: str, created: str, failed: Sequence[str]) -> Iterator[ElementTree.Element]:
    """A suite of trials that failed, each an error, if there are any."""
    if failed:
        trials = suite(f"{name}.trials", created)
        for one in failed:
            add_case(trials, one.partition(": ")[0], "error", one, "FAILED")
        yield trials


def document(suites: Iterable[ElementTree.Element]) -> str:
    """The whole document, with the counts of each suite."""
    root = ElementTree.Element("testsuites", name="fedrepro")
    for one in suites:
        one.set("tests", str(len(one.findall("testcase"))))
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            one.set(count, str(len(one.findall(f"testcase/{tag}"))))
        root.append(one)
    ElementTree.indent(root, " ")
    text = ElementTree.tostring(root, encoding="unicode")
    return f"<?xml version='1.0' encoding='utf-8'?>\n{text}\n"
