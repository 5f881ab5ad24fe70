import pytest

from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.judging.baseline import load, recorded
from fedrepro.benchmark.judging.comparison import compare
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.benchmark.spec.model import matches
from tools.found import ROOT, judged

OWN_VARIANTS = ("Calibre|*", "MFCL(BN)", "MFCL(GN)")
NONE_OF = {"fcl": {"MoCo (Centralized)"}, "mfcl": {"FedAvg", "FedProx", "MOON", "FSL"}}
"""An upper bound, and methods with labels that the paper's own has not."""


@pytest.mark.parametrize("paper_id", paper_ids())
def test_a_lead_is_over_all_that_headlines_compare_the_paper_s_own_with(paper_id: str) -> None:
    paper = load_paper(paper_id)
    own, missing = [*paper.own, *OWN_VARIANTS], set[str]()
    for table in paper.printed:
        for claim in (one for one in table.claims if one.headline):
            for compared in bind(claim, table, paper):
                rows = {"|".join(cell.row) for cell in compared.leaves}
                others = {row for row in rows if not any(matches(p, row.split("|")) for p in own)}
                if others < rows:
                    missing |= {
                        row
                        for row in others - NONE_OF.get(paper_id, set())
                        if not paper.is_baseline(row)
                    }
    assert missing == set()


@pytest.mark.parametrize("paper_id", paper_ids())
def test_a_committed_baseline_holds_the_specs_as_they_are(paper_id: str) -> None:
    report = judged(paper_id)
    kept = load(ROOT / f"results/baselines/{paper_id}-{report.profile}.json")
    moved = compare(kept, recorded(report))
    assert [one.sentence for one in moved if one.what == "spec"] == []
