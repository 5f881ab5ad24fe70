"""What claims come to on other data: `python -m tests.benchmarks.other_data REPORT.json ...`.

Each report is of a whole reduced run under `--on`; beside it stands the recorded baseline of the
default data. The tables of docs/other-data.md are printed, and how far words agree.

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

BASELINES = Path(__file__).parents[2] / "results" / "baselines"
OPPOSITE = {"OPPOSITE HERE", "REVERSED"}
DECIDED = {"HOLDS", "PARTLY", *OPPOSITE}
Words = Mapping[str, str]
"""Of every claim by place, `3: id`."""


def words_of(report: Mapping[str, Any]) -> Words:
    return {
        f"{table['id']}: {claim['id']}": claim["word"]
        for table in report["tables"]
        for claim in table["claims"]
    }


def trials_of(cells: Iterable[Mapping[str, Any]]) -> str:
    """How many trials cells have, the fewest and the most of those with more than one."""
    counts = {len(cell["trials"]) for cell in cells if len(cell["trials"]) > 1}
    return "–".join(map(str, sorted({min(counts), max(counts)}))) if counts else "one"


def page(reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    sections: list[str] = []
    decided: list[set[str]] = []
    for paper in sorted({one["paper"] for one in reports}):
        baseline = json.loads((BASELINES / f"{paper}-reduced.json").read_text("utf-8"))
        on: dict[str, Words] = {"default": baseline["claims"]}
        trials = [f"{trials_of(baseline['cells'].values())} on the default"]
        for report in reports:
            if report["paper"] == paper:
                on[_checked(report, baseline, on)] = words_of(report)
                cells = (cell for table in report["tables"] for cell in table["cells"])
                trials.append(f"{trials_of(cells)} on {report['on']}")
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


def _checked(report: Mapping[str, Any], baseline: Mapping[str, Any], known: Collection[str]) -> str:
    """The data of a report that may stand beside the baseline."""
    for name in ("profile", "series"):
        if report[name] != baseline[name]:
            raise ValueError(f"{name} {report[name]} beside {baseline[name]} of the baseline")
    if report["on"] is None or report["on"] in known:
        raise ValueError(f"a report of {report['paper']} on {report['on']} is one too many")
    if words_of(report).keys() != baseline["claims"].keys():
        raise ValueError(f"not all claims of {report['paper']} are in the report, or others")
    return str(report["on"])


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


if __name__ == "__main__":
    print("\n".join(page([json.loads(Path(one).read_text("utf-8")) for one in sys.argv[1:]])))
