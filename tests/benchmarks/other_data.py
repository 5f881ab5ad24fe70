"""What claims come to on other data: `python -m tests.benchmarks.other_data [REPORT.json ...]`.

Of each report of a whole reduced run under `--on` the words of its claims are kept in
results/other-data. Of all that is kept, beside the recorded baselines of the default data, the
tables of docs/other-data.md are printed, and how far words agree.

Raises `ValueError` for a report of something else, or a second one of a paper on the same data.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedrepro.reports.layout import CLAIMS

RESULTS = Path(__file__).parents[2] / "results"
BASELINES, KEPT = RESULTS / "baselines", RESULTS / "other-data"
OPPOSITE = {"OPPOSITE HERE", "REVERSED"}
DECIDED = {"HOLDS", "PARTLY", *OPPOSITE}
Words = Mapping[str, str]
"""Of every claim by place, `3: id`."""


def kept(report: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a report: which it is, its trials and the words of its claims."""
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
    decided: list[set[str]] = []
    for paper in sorted({one["paper"] for one in results}):
        baseline = json.loads((BASELINES / f"{paper}-reduced.json").read_text("utf-8"))
        on: dict[str, Words] = {"default": baseline["claims"]}
        trials = [f"{trials_of(baseline['cells'].values())} on the default"]
        for result in results:
            if result["paper"] == paper:
                on[_checked(result, baseline, on)] = result["claims"]
                trials.append(f"{result['trials']} on {result['on']}")
        sections += (f"## `{paper}`\n", f"Trials of a run: {', '.join(trials)}.\n")
        sections += (*_counts(on), *_decided(on))
        decided += ({words[place] for words in on.values()} & DECIDED for place in on["default"])
    yield _agreement([words for words in decided if words])
    yield from sections


def _agreement(decided: Sequence[set[str]]) -> str:
    """How often a claim holds, or holds in part, on some data and is the opposite on other data."""
    opposite = [words for words in decided if words & OPPOSITE]
    holds, partly = (sum(word in words for words in opposite) for word in ("HOLDS", "PARTLY"))
    return (
        f"Of {len(decided)} claims that some data decide {holds or 'none'} hold on one set and are "
        f"the opposite on another, and {partly} are `PARTLY` on one and the opposite on another.\n"
    )


def _checked(result: Mapping[str, Any], baseline: Mapping[str, Any], known: Collection[str]) -> str:
    """The data of a result that may stand beside the baseline."""
    for name in ("profile", "series"):
        if result[name] != baseline[name]:
            raise ValueError(f"{name} {result[name]} beside {baseline[name]} of the baseline")
    if result["on"] is None or result["on"] in known:
        raise ValueError(f"a report of {result['paper']} on {result['on']} is one too many")
    if result["claims"].keys() != baseline["claims"].keys():
        raise ValueError(f"not all claims of {result['paper']} are in the report, or others")
    return str(result["on"])


def _counts(on: Mapping[str, Words]) -> Iterator[str]:
    yield f"| data | {' | '.join(f'`{word}`' for word in CLAIMS)} |"
    yield "|---" * (len(CLAIMS) + 1) + "|"
    for name, words in on.items():
        found = Counter(words.values())
        yield f"| {name} | {' | '.join(str(found[word]) for word in CLAIMS)} |"
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
    list(page([result]))  # refuses what may not stand there
    text = json.dumps(result, indent=1, ensure_ascii=False)
    (KEPT / f"{result['paper']}-{result['on']}.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        _keep(json.loads(Path(name).read_text("utf-8")))
    print("\n".join(page(read_kept())))
