"""The numbers of the README are those of the recorded runs."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.claims.printed import support
from fedrepro.benchmark.judging.scoreboard import JUDGED
from fedrepro.benchmark.spec.load import load_paper, paper_ids

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
RESULTS = (ROOT / "docs" / "results.md").read_text("utf-8")
SAID = ("HOLDS", "PARTLY", "OPPOSITE", "UNRESOLVED", "NOT JUDGED", "NOT RUN")


def recorded(paper: str) -> dict[str, str]:
    """The words of a paper's claims in its recorded reduced run, by table and name."""
    text = (ROOT / "results" / "baselines" / f"{paper}-reduced.json").read_text("utf-8")
    claims: dict[str, str] = json.loads(text)["claims"]
    return claims


def row(page: str, paper: str) -> list[str]:
    """The cells of the line of a table that names a paper's session."""
    (line,) = re.findall(rf"^\|.*`reproduce-{paper}` \|.*$", page, re.MULTILINE)
    return [cell.strip() for cell in str(line).strip("|").split("|")]


def decided(paper: str) -> tuple[int, int]:
    """Of the claims that the printed numbers support and a run can judge, how many are not open."""
    words, spec = recorded(paper), load_paper(paper)
    judged = [
        word
        for table in spec.tables
        for claim in table.claims
        if (word := words[f"{table.id}: {claim.id}"]) in JUDGED
        and support(bind(claim, table, spec))[0] == "supported"
    ]
    return sum(word != "UNRESOLVED" for word in judged), len(judged)


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_words_of_claims_are_those_of_the_recorded_run(page: str) -> None:
    for paper in paper_ids():
        shown = row((ROOT / page).read_text("utf-8"), paper)
        counts = Counter(recorded(paper).values())
        counts["OPPOSITE"] = counts["OPPOSITE HERE"] + counts["REVERSED"]
        of_words = shown[-len(SAID) :] if page == "README.md" else shown[-len(SAID) - 1 : -1]
        # '0 and 3 `REVERSED`²' is three
        numbers = [sum(map(int, re.findall(r"\d+", cell.partition("`")[0]))) for cell in of_words]
        assert numbers == [counts[word] for word in SAID], paper
        reversed_too = page == "README.md" and counts["REVERSED"] > 0
        assert ("REVERSED" in of_words[2]) == reversed_too, paper


def test_what_is_decided_is_what_the_recorded_runs_decide() -> None:
    found = {paper: decided(paper) for paper in paper_ids()}
    for paper, (n, of) in found.items():
        assert row(RESULTS, paper)[-1] == f"{n} of {of}"
    others = [found.pop(paper) for paper in ("calibre", "fedrlc")]
    n, of = (sum(one[i] for one in others) for i in range(2))
    assert f"and {n} of {of} for the two others" in README
    for name, paper in (("MFCL", "mfcl"), ("CP-CFL", "cpcfl"), ("FCL", "fcl")):
        n, of = found[paper]
        assert re.search(rf"{n} of {of}( are decided)? for {name}", README)
