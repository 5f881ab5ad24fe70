"""The answers to the recorded baselines beside those of an independent implementation.
`reference.json` holds what an independent program says of the same files, by paper: table and
metric, lead, claim. `tools.answer_reference` makes it, whenever a baseline is recorded."""

import json
from pathlib import Path

import pytest

from fedrepro.benchmark.claims.answer import Known, answer_claim
from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.judging.answers import answer_table, lead, printed_variance
from fedrepro.benchmark.judging.observed import columns_of, pattern_of
from fedrepro.benchmark.metrics import metric as facts_of
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.stats.pattern import correlation
from tools.found import ROOT, trials_of

pytestmark = pytest.mark.slow
REFERENCE = json.loads(Path(__file__).with_name("reference.json").read_text("utf-8"))
DRAWN = 0.01  # of a relabelling p of more than eight rows: both sides draw their permutations


def baseline(paper):
    return json.loads((ROOT / f"results/baselines/{paper}-reduced.json").read_text("utf-8"))


def values(paper):
    found = trials_of(baseline(paper.id)["cells"], make_plan(paper, "reduced"))
    return {key: trials for key, one in found.items() if (trials := one.by_seed)}


@pytest.fixture(params=REFERENCE)
def paper(request):
    assert baseline(request.param)["created"] == REFERENCE[request.param]["created"]
    return load_paper(request.param)


def same(ours, theirs):
    """Within 1e-6, and blank where the other is."""
    blank = [one is None for one in ours] == [one is None for one in theirs]
    numbers = ([one for one in side if one is not None] for side in (ours, theirs))
    mine, others = numbers
    return blank and mine == pytest.approx(others, abs=1e-6, rel=1e-6)


def by_metric(paper):
    """Each table and metric with its columns, as named in the reference."""
    trials = values(paper)
    for table in paper.printed:
        for metric in dict.fromkeys(one.metric for one in table.cells):
            own = (one for one in table.cells if one.metric == metric)
            whole = pattern_of(columns_of(own, trials), trials, {})
            if whole is not None:
                yield f"{table.id} {metric}", table, metric, whole


def test_tables_and_leads_agree(paper):
    expected, seen = REFERENCE[paper.id], set()
    for name, table, metric, whole in by_metric(paper):
        shown = whole.paired()
        variance = printed_variance(table, paper, metric)
        found = answer_table(metric, shown, variance)
        assert (found is None) == (name not in expected["tables"])
        if found is None:
            continue
        seen.add(name)
        word, *numbers = expected["tables"][name]
        numbers[-1] = numbers[-1] or None  # equal trials show nothing, not every difference
        kept, p = found.retention, found.relabelling_p
        assert found.word == word, name
        assert p == pytest.approx(numbers[5], abs=DRAWN if found.rows > 8 else 1e-6), name
        alike = float(correlation(shown.printed, shown.means))
        ours = [kept.mean, kept.low, kept.high, found.reliability, alike, numbers[5]]
        ours += [found.orderings, numbers[7], found.shown_in_80]
        assert same(ours, numbers), name
        facts = facts_of(metric)
        for own in paper.own:
            is_lower = facts is not None and facts.lower_is_better
            ahead = lead(whole, own, paper.is_baseline, is_lower)
            other = expected["leads"].get(f"{name} {own}")
            assert (ahead is None) == (other is None)
            if ahead is not None:
                *sizes, rivals = other
                mine = [ahead.ours.mean, ahead.ours.low, ahead.ours.high]
                mine += [ahead.printed, ahead.ahead, ahead.shown_in_80]
                assert same(mine, sizes), name
                assert ",".join(ahead.baselines_ahead) == rivals
    assert seen == {name for name in expected["tables"] if not name.startswith("all ")}


def test_words_of_tables_that_baselines_record_agree(paper):
    """The first metric decides; a table whose rows are not all there is open all the same. So is
    one with a control that is not seen, of which the other program knows nothing."""
    words, expected = baseline(paper.id)["tables"], REFERENCE[paper.id]["tables"]
    controls = [
        word for name, word in baseline(paper.id)["claims"].items() if name.startswith("controls: ")
    ]
    first = {
        one.id: expected.get(f"{one.id} {one.metric or one.cells[0].metric}", [""])[0]
        for one in paper.printed
        if one.cells
    }
    decided = [
        {id: word for id, word in each.items() if word in ("PASS", "FAIL")}
        for each in (words, first)
    ]
    silenced = {id for id in decided[1].keys() - decided[0].keys() if words[id] == "OPEN"}
    assert decided[0] == {id: word for id, word in decided[1].items() if id not in silenced}
    assert not silenced or set(controls) - {"SEEN"}


def test_claims_agree(paper):
    """Claims on counted numbers are told apart from the reference's: these are its EXACT."""
    trials, compared = values(paper), 0
    for table in paper.printed:
        for claim in table.claims:
            expected = REFERENCE[paper.id]["claims"].get(f"{table.id}: {claim.id}")
            if expected is None or expected[0] == "EXACT":
                continue
            found = answer_claim(claim, bind(claim, table, paper), Known(trials))
            assert found.word == expected[0], claim.id
            if expected[1] is not None and not claim.every_trial:
                ratio = [found.ratio.mean, found.ratio.low, found.ratio.high]
                assert ratio == pytest.approx(expected[1:], rel=1e-6, abs=1e-6), claim.id
            compared += 1
    assert compared >= 25
