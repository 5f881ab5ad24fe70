"""A judged paper in counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..results import ClaimWord, Report, TableResult

JUDGED: tuple[ClaimWord, ...] = (
    "HOLDS", "PARTLY", "REVERSED", "OPPOSITE HERE", "UNRESOLVED",
)  # fmt: skip
"""Words of claims that the trials could decide, whether or not they have."""
_SAID: dict[ClaimWord, str] = {
    "PARTLY": "opposite in part",
    "REVERSED": "reversed",
    "OPPOSITE HERE": "opposite here",
    "UNRESOLVED": "open",
}
UNPROTECTED = (
    "Not protected: the profile declares no look at this number of trials, and who chooses it by "
    "what was seen is wrong in more than 5 % of claims."
)
_MEASURED = ("REPRODUCED", "COMPATIBLE", "SHIFTED", "DISCREPANT")
_COMPUTED = ("EXACT", "MISPRINT?", "INCONCLUSIVE")


@dataclass(frozen=True)
class Scoreboard:
    """One paper in counts.

    verdicts, claims: how many cells and claims carry each word.
    findings: how many audit findings have each status; one that concerns two tables counts once.
    reasons: why cells were not run, with how many each, the commonest first.
    has_results: whether anything of ours is shown.
    recomputed: how many printed numbers were computed again and held against the print.
    waiting: how many cells would show a result if their run had a finished trial.
    external: what must be said of numbers that were made elsewhere, empty where fedrepro made them.
    earlier: what must be said of numbers that earlier code made, empty where there are none.
    unprotected: what must be said of a number of trials that was not declared, else empty.
    failed: every failed trial, such as `fedavg on digits, trial 3: diverged at round 7`.
    """

    paper: str
    title: str
    profile: str
    on: str | None
    scaled: bool
    verdicts: Mapping[str, int]
    claims: Mapping[str, int]
    findings: Mapping[str, int]
    reasons: Mapping[str, int]
    has_results: bool
    failed: tuple[str, ...] = ()
    recomputed: int = 0
    waiting: int = 0
    external: str = ""
    earlier: str = ""
    unprotected: str = ""


def scoreboard(report: Report) -> Scoreboard:
    """The counts of a judged paper."""
    cells = [cell for table in report.tables for cell in table.cells]
    findings = {one.id: one.status for table in report.tables for one in table.findings}
    drawn = any(table.panels for table in report.tables)
    return Scoreboard(
        paper=report.paper,
        title=report.title,
        profile=report.profile,
        on=report.on,
        scaled=report.scaled,
        verdicts=report.count_verdicts(),
        claims=report.count_claims(),
        findings=Counter(findings.values()),
        reasons=dict(why_not_run(report.tables)),
        has_results=drawn or any(cell.mean is not None for cell in cells),
        failed=tuple(f"{run.description}, {error}" for run in report.runs for error in run.errors),
        recomputed=sum(one.kind == "analytic" and one.verdict.word in _COMPUTED for one in cells),
        waiting=sum(one.run is not None and one.mean is None for one in cells),
        external="" if report.external is None else report.external.statement,
        earlier=of_earlier_code(report.edited),
        unprotected="" if report.protected else UNPROTECTED,
    )


def of_earlier_code(edited: Sequence[str]) -> str:
    """What must be said where trials are shown that files were edited since; else nothing."""
    if not edited:
        return ""
    since = "1 file has" if len(edited) == 1 else f"{len(edited)} files have"
    return (
        f"Trials of earlier code are shown: {since} been edited since on which they depend. "
        "Running it again makes them anew."
    )


def answer(boards: Sequence[Scoreboard]) -> str:
    """What was found, in one sentence that counts over all of `boards`.

    Such as '20 of 39 claims that can be judged hold, 7 are opposite here, 12 open; 5 of 6
    recomputed numbers exact; 4 contradictions among printed numbers.'
    """
    verdicts, claims, findings = Counter[str](), Counter[str](), Counter[str]()
    for board in boards:
        verdicts.update(board.verdicts)
        claims.update(board.claims)
        findings.update(board.findings)
    recomputed = sum(board.recomputed for board in boards)
    parts = [_of_claims(claims), _of_measured_cells(verdicts)]
    if recomputed:
        noun = "number" if recomputed == 1 else "numbers"
        parts.append(f"{verdicts['EXACT']} of {recomputed} recomputed {noun} exact")
    if findings:  # none at all: nothing was audited
        wrong = findings["inconsistent"]
        noun = "contradiction" if wrong == 1 else "contradictions"
        parts.append(f"{wrong or 'no'} {noun} among printed numbers")
    return f"{'; '.join(filter(None, parts)) or 'Nothing was judged'}."


def _of_claims(claims: Counter[str]) -> str:
    if not claims:
        return ""
    judged = sum(claims[word] for word in JUDGED)
    others = ", ".join(
        f"{claims[word]} {word.lower()}" for word in ("NOT JUDGED", "NOT RUN") if claims[word]
    )
    if not judged:
        return f"no claim could be judged ({others})"
    noun = "claim that can be judged holds" if judged == 1 else "claims that can be judged hold"
    parts = [f"{claims['HOLDS']} of {judged} {noun}"]
    for word, said in _SAID.items():
        if claims[word]:
            verb = "" if word == "UNRESOLVED" else "is " if claims[word] == 1 else "are "
            parts.append(f"{claims[word]} {verb}{said}")
    return ", ".join(parts) + (f" ({others})" if others else "")


def _of_measured_cells(verdicts: Counter[str]) -> str:
    """Of cells whose mean was held against the print; on a scaled run there are none."""
    judged = sum(verdicts[word] for word in _MEASURED)
    if not judged:
        return ""
    discrepant = f", {verdicts['DISCREPANT']} discrepant" if verdicts["DISCREPANT"] else ""
    noun = "cell" if judged == 1 else "cells"
    return f"{verdicts['REPRODUCED']} of {judged} measured {noun} reproduced{discrepant}"


def why_not_run(tables: Iterable[TableResult]) -> list[tuple[str, int]]:
    """Why cells were not run, with how many each, the commonest first."""
    verdicts = (cell.verdict for table in tables for cell in table.cells)
    return Counter(one.reason for one in verdicts if one.word == "NOT RUN").most_common()


def exit_code(boards: Sequence[Scoreboard]) -> int:
    """0 nothing discrepant, 1 something is or a trial failed, 2 a cell has no trial, 3 nothing run.

    2 is for cells whose trials all failed. Numbers that are recomputed without training are a
    result only where nothing waits for a run.
    """
    words = {word for board in boards for word in board.verdicts}
    if "ERROR" in words:
        return 2
    if "DISCREPANT" in words or any(board.failed for board in boards):
        return 1
    if any(board.has_results for board in boards):
        return 0
    # Of cells without a result of ours, those with these words were recomputed.
    recomputed = words & {"EXACT", "MISPRINT?", "INCONCLUSIVE"}
    return 0 if recomputed and not any(board.waiting for board in boards) else 3
