"""Makes the gallery of reports: one of each paper, beside the audit and one multiverse.

`python docs/site/gallery.py OUT [STORE ...]` writes OUT/gallery.md and OUT/gallery/*. A paper that
a store holds under the reduced profile is judged from there, trials of earlier code included. Any
other is trained under the smoke profile, for seconds. The page says which.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import fedrepro

SMOKE = "**smoke**: seconds of training, to show the form; its numbers say nothing"
PAGE = """\
# Gallery

Whole reports, each in one file. [Reports](reports.md) explains what is in them.

| paper | profile | what the report says first |
|---|---|---|
{rows}

The [audit](gallery/audit/audit.html) compares the published values of all papers with each
other, and trains nothing ([how](audit.md)).

The [multiverse](gallery/multiverse/report.html) has MFCL's claims on what its clients send and
hold, with what is sent before pooling and after it: the paper says both. The costs are counted at
the published size.
"""


def results_of(paper: str, stores: Sequence[Path], trained: Path) -> fedrepro.Results:
    """The results of a paper from the store that has most of its trials, else of a smoke run."""
    held = [fedrepro.stored(paper, "reduced", store=store, stale=True) for store in stores]
    most = max(held, key=lambda found: len(found.trials), default=None)
    if most is not None and len(most.trials):
        return most
    return fedrepro.run(paper, "smoke", store=trained, progress=False)


def row_of(found: fedrepro.Results, title: str) -> str:
    """The line of one paper."""
    report = found.report
    said = SMOKE if report.profile == "smoke" else report.profile
    said += ", trials of earlier code" if report.edited else ""
    place = f"gallery/{report.paper}/report.html"
    answer = found.answer.replace("|", "\\|")
    return f"| [{title}]({place}) | {said} | {answer} |"


def make(out: Path, stores: Sequence[Path]) -> None:
    """Writes the gallery to `out`, beside what nox put there, and removes all but HTML.

    Raises `FedreproError` for a folder that is no store or cannot be written.
    """
    rows = []
    with TemporaryDirectory() as name:
        trained = Path(name) / "store"
        for paper, known in fedrepro.papers().iterrows():
            found = results_of(str(paper), stores, trained)
            fedrepro.report(found, out / "gallery" / str(paper))
            rows.append(row_of(found, known["title"]))
            print(rows[-1], flush=True)
    for unshown in (out / "gallery").rglob("*"):
        if unshown.is_file() and unshown.suffix != ".html":
            unshown.unlink()
    page = PAGE.format(rows="\n".join(rows))
    (out / "gallery.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]), [Path(store) for store in sys.argv[2:]])
