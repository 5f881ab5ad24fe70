"""Comparisons with baselines: lines for a terminal, JSON and Markdown."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

from ..benchmark.judging.baseline import Recorded
from ..benchmark.judging.comparison import BaselineCheck
from ..benchmark.printable import plural
from .markdown_text import without_gaps
from .pages import page


def lines(one: BaselineCheck, paint: Callable[[str], str]) -> Iterator[str]:
    """What moved, last what regressed."""
    paper = one.baseline.paper
    for moved in sorted(one.movements, key=lambda moved: moved.regression):
        word = paint("REGRESSED") if moved.regression else "moved    "
        yield f"{word} {paper} {moved.sentence}"
    yield from (f"{paper}: {limit}" for limit in _limits(one))
    regressed = len(one.regressions)
    yield f"{paper}: {regressed} regressed, {len(one.movements) - regressed} moved within tolerance"


def json_text(found: Sequence[BaselineCheck]) -> str:
    """For a program: every movement with its sentence."""
    papers = [
        {
            **{name: getattr(one.baseline, name) for name in ("paper", "profile", "on")},
            "baseline": {k: getattr(one.baseline, k) for k in ("created", "commit", "device")},
            "compared": one.compared,
            "regressed": len(one.regressions),
            "movements": [{**asdict(moved), "sentence": moved.sentence} for moved in one.movements],
            "failed": one.failed,
            "inexact": one.inexact,
            "blind": one.blind,
            "stored": one.stored,
        }
        for one in found
    ]
    plain = {"passed": all(one.passed for one in found), "papers": papers}
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def markdown(found: Sequence[BaselineCheck]) -> str:
    """What moved as a few lines, for the summary of a job; what regressed comes first."""
    return without_gaps(page("regress.md").render(found=found, counted=_counted, limits=_limits))


def _limits(one: BaselineCheck) -> Iterator[str]:
    """What the comparison could not see, and where to look."""
    yield from of_blind(one.blind, one.baseline)
    if one.regressions and one.baseline.commit:
        yield f"the baseline was made {one.baseline.created[:10]} at {one.baseline.commit[:12]}"
    if one.inexact:
        yield f"numbers are held to tolerances, not to be equal: {one.inexact}"
    if one.stored:
        yield f"stored trials are not of this process: {one.stored}; an empty --store trains here"


def of_blind(blind: Sequence[str], baseline: Recorded) -> Iterator[str]:
    """What is said of cells that no fall can make regress, where there are any."""
    if blind:
        where = f"in {len(blind)} of {len(baseline.trained)} cells the recorded trials spread so"
        yield f"{where} much that no fall of the mean would count as a regression; first {blind[0]}"


def _counted(one: BaselineCheck) -> str:
    said = [f"{len(one.regressions)} regressed"] if one.regressions else []
    said += [f"{plural(len(one.failed), 'trial')} failed"] if one.failed else []
    return ", ".join(said) or "nothing regressed"


FILES = {"regress.json": json_text, "regress.md": markdown}
"""The formats, by the name of their file."""
