"""What claims come to on other data: `python -m tests.benchmarks.other_data [REPORT.json ...]`.

Of each report of a whole reduced run under `--on` the words of its claims are kept in
results/other-data, in the place of those of an earlier one on the same data. Of all that is kept,
beside the recorded baselines of the default data, the tables of docs/other-data.md are printed, and
how far words agree.

Raises `ValueError` for a report of something else.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.claims.nodes import key_of
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.reports.layout import CLAIMS

RESULTS = Path(__file__).parents[2] / "results"
BASELINES, KEPT = RESULTS / "baselines", RESULTS / "other-data"
OPPOSITE = {"OPPOSITE HERE", "REVERSED"}
DECIDED = {"HOLDS", "PARTLY", *OPPOSITE}
Words = Mapping[str, str]
"""Of every claim by place, `3: id`."""


def kept(report: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a report: which it is, its trials and the words of its claims."""
    if "paper" not in report or report["readings"]:
        raise ValueError("a report of several papers, or under another reading")
    cells = (cell for table in report["tables"] for cell in table["cells"])
    claims = {
        f"{table['id']}: {claim['id']}": claim["word"]
        for table in report["tables"]
        for claim in table["claims"]
    }
    which = {name: report[name] for name in ("paper", "profile", "series", "on")}
    return {**which, "trials": trials_of(cells), "claims": claims}


def trials_of(cells: Iterable[Mapping[str, Any]]) -> str:
    """How many trials cells have, the fewest and the most of those with more than one."""
    counts = {len(cell["trials"]) for cell in cells if len(cell["trials"]) > 1}
    return "–".join(map(str, sorted({min(counts), max(counts)}))) if counts else "one"


def page(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The page's lines, of what was kept."""
    sections: list[str] = []
    by_paper: dict[str, list[Words]] = {}
    for paper in sorted({one["paper"] for one in results}):
        baseline = _baseline(paper)
        on: dict[str, Words] = {"default": baseline["claims"]}
        trials = [f"{trials_of(baseline['cells'].values())} on the default"]
        for result in results:
            if result["paper"] == paper:
                on[_checked(result, baseline, on)] = result["claims"]
                trials.append(f"{result['trials']} on {result['on']}")
        sections += (f"## `{paper}`\n", f"Trials of a run: {', '.join(trials)}.\n")
        sections += (*_counts(on), *_decided(on))
        by_paper[paper] = list(on.values())
    yield _agreement(by_paper)
    yield from sections


def _baseline(paper: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((BASELINES / f"{paper}-reduced.json").read_text("utf-8"))
    return found


def _agreement(by_paper: Mapping[str, Sequence[Words]]) -> str:
    """How often a claim holds, or holds in part, on some data and is the opposite on other data.

    by_paper: the words of each set of data of a paper.
    """
    some, same, several = 0, 0, list[set[str]]()
    for paper, on in by_paper.items():
        trained = claims_of_trained_cells(paper)
        for place in on[0]:
            found = [words[place] for words in on if words[place] in DECIDED]
            some += bool(found)
            same += bool(found) and place not in trained
            if len(found) > 1 and place in trained:
                several.append(set(found))
    opposite = [words for words in several if words & OPPOSITE]
    holds, partly = (sum(word in words for words in opposite) for word in ("HOLDS", "PARTLY"))
    return (
        f"{some} claims are decided on some data, {same} of them by counted or computed costs, "
        f"which are the same on all. Of the others {len(several)} are decided on two sets or more: "
        f"{holds or 'none'} of these hold on one and are the opposite on another, and "
        f"{partly or 'none'} are `PARTLY` on one and the opposite on another.\n"
    )


def claims_of_trained_cells(paper: str) -> set[str]:
    """The places of claims that compare at least one cell whose value comes of training."""
    loaded = load_paper(paper)
    trained = {
        key_of(one.cell)
        for one in make_plan(loaded, "reduced").cells
        if one.config is not None and one.config.stage != "costs"
    }
    return {
        f"{table.id}: {claim.id}"
        for table in loaded.tables
        for claim in table.claims
        if any(leaf.key in trained for one in bind(claim, table, loaded) for leaf in one.leaves)
    }


def _checked(result: Mapping[str, Any], baseline: Mapping[str, Any], known: Collection[str]) -> str:
    """The data of a result that may stand beside the baseline."""
    for name in ("profile", "series"):
        if result[name] != baseline[name]:
            raise ValueError(f"{name} {result[name]} beside {baseline[name]} of the baseline")
    if result["on"] is None or result["on"] in known:
        raise ValueError(f"a report of {result['paper']} on {result['on']} is one too many")
    if result["claims"].keys() != baseline["claims"].keys():
        raise ValueError(f"not all claims of {result['paper']} are in the report, or others")
    trials = trials_of(baseline["cells"].values())
    if result["trials"] != trials:
        raise ValueError(f"{result['trials']} trials beside {trials} of the baseline")
    if any("NOT RUN" == word != baseline["claims"][at] for at, word in result["claims"].items()):
        raise ValueError(f"not all of {result['paper']} was run on {result['on']}")
    return str(result["on"])


def _counts(on: Mapping[str, Words]) -> Iterator[str]:
    """How many claims have each word that any of them has."""
    said = [word for word in CLAIMS if any(word in words.values() for words in on.values())]
    yield f"| data | {' | '.join(f'`{word}`' for word in said)} |"
    yield "|---" * (len(said) + 1) + "|"
    for name, words in on.items():
        found = Counter(words.values())
        yield f"| {name} | {' | '.join(str(found[word]) for word in said)} |"
    yield ""


def _decided(on: Mapping[str, Words]) -> Iterator[str]:
    """Every claim that some data decide, a line each."""
    places = [
        place for place in on["default"] if any(words[place] in DECIDED for words in on.values())
    ]
    yield f"| claim | {' | '.join(on)} |"
    yield "|---" * (len(on) + 1) + "|"
    for place in places:
        words = [one[place] for one in on.values()]
        yield f"| {place} | {' | '.join(w if w in DECIDED else w.lower() for w in words)} |"
    yield ""


def read_kept() -> list[dict[str, Any]]:
    """All that is kept, MNIST before CIFAR-10."""
    return [json.loads(one.read_text("utf-8")) for one in sorted(KEPT.glob("*.json"), reverse=True)]


def _keep(report: Mapping[str, Any]) -> None:
    result = kept(report)
    _checked(result, _baseline(result["paper"]), ())
    text = json.dumps(result, indent=1, ensure_ascii=False)
    (KEPT / f"{result['paper']}-{result['on']}.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        _keep(json.loads(Path(name).read_text("utf-8")))
    print("\n".join(page(read_kept())))
