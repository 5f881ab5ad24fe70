"""docs/claims.md names every claim of the specs, under its paper and table, and no other."""

import re
from collections import Counter
from pathlib import Path

import pytest

from fedrepro.benchmark.spec.load import load_papers

LEDGER = Path(__file__).parents[2] / "docs" / "claims.md"
PAPERS = {paper.id: paper for paper in load_papers()}


def listed(paper: str) -> Counter[tuple[str, str]]:
    """(table, claim) as the ledger has them: ids follow their tables, until the next ';'."""
    _, _, rest = LEDGER.read_text(encoding="utf-8").partition(f"\n## {paper}\n")
    found: Counter[tuple[str, str]] = Counter()
    for line in rest.partition("\n## ")[0].splitlines():
        if not line.startswith("- "):
            continue
        for tables, ids in re.findall(r"((?:`[^`]+`(?:, )?)+): ((?:`[^`]+`(?:, )?)+)", line):
            named = re.findall(r"`([^`]+)`", tables)
            found.update((table, id) for table in named for id in re.findall(r"`([^`]+)`", ids))
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_of_the_specs_is_in_the_ledger_once(paper: str) -> None:
    specs = Counter(
        (table.id, claim.id) for table in PAPERS[paper].printed for claim in table.claims
    )
    assert listed(paper) == specs


def test_the_ledger_has_no_other_paper() -> None:
    text = LEDGER.read_text(encoding="utf-8")
    assert sorted(re.findall(r"^## (.*)$", text, re.MULTILINE)) == sorted(PAPERS)
