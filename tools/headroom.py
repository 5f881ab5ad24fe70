"""Records what a paper's headline claims come to on data of other headroom.

    python -m tools.headroom PAPER [--jobs N] [--on SET ...]

Trains the tables of the headline claims under the profile `headroom`, on its own data and on the
sets that `tools/calibration/PAPER.toml` names. Writes tables/PAPER/headroom.json,
docs/headroom-PAPER.svg and a part of docs/calibration.md. `--on` trains on some of those sets, and
keeps the records of the others. `--drawn` trains nothing: it draws from that file.
"""

import argparse
import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

import fedrepro
from fedrepro.benchmark.claims.answer import ClaimResult
from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.judging.on_other_data import FILE, RECORDS
from fedrepro.benchmark.results import OnOtherData, Report, RunSummary
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.reports.answer_pictures import by_headroom
from fedrepro.reports.evidence import ON_OTHER_DATA, on_other_data
from tools.found import ROOT, calibration, filled, judged, row, table


def measured(paper: str, some: Sequence[str], jobs: int | None) -> Iterator[OnOtherData]:
    """Trains what is missing on some sets, without any on the profile's own and all others."""
    spec = load_paper(paper)
    known = calibration(paper)["headroom_on"]
    tables = [one.id for one in spec.tables if any(claim.headline for claim in one.claims)]
    if unknown := set(some).difference(known):
        raise SystemExit(f"--on {', '.join(unknown)}: not among {known}")
    for on in some or (None, *known):
        report = fedrepro.run(paper, "headroom", tables=tables, on=on, jobs=jobs).report
        name = on or str(spec.profiles["headroom"].data)
        for one in report.tables:
            for claim in (claim for claim in one.claims if claim.headline):
                yield record(report, one.id, claim, name)


def record(report: Report, table: str, claim: ClaimResult, data: str) -> OnOtherData:
    """A headline claim as it was judged; `ValueError` where its differences give another mean."""
    cells = (cell for one in report.controls for cell in one.cells)
    room = next(one.trials for one in cells if one.metric == "headroom" and one.trials)
    signs = [-1 if "<" in one.relation else 1 for one in claim.comparisons if one.differences]
    by_comparison = [one.differences for one in claim.comparisons if one.differences]
    differences = tuple(
        sum(sign * value for sign, value in zip(signs, trial, strict=True)) / len(signs)
        for trial in zip(*by_comparison, strict=True)
    )
    if (said := claim.answer.ours) is None:
        differences = ()  # what is not compared is not drawn either
    elif not math.isclose(said.mean, fmean(differences), rel_tol=1e-9, abs_tol=1e-9):
        raise ValueError(f"claim {claim.id} of {table}: {said} is not the mean of {differences}")
    return OnOtherData(
        table=table,
        claim=claim.id,
        said=claim.headline or claim.says,
        data=data,
        headroom=tuple(value for value in room if value is not None),
        differences=differences,
        answer=claim.answer,
        settings=settings_of(report.runs),
    )


def settings_of(runs: Iterable[RunConfig | RunSummary]) -> str:
    keys = "".join(sorted(run.key for run in runs))
    return hashlib.sha256(keys.encode()).hexdigest()[:16]


def written(report: Report) -> Iterator[str]:
    yield from table(*ON_OTHER_DATA)
    for said, word, *values in on_other_data(report):
        yield row(said, f"`{word}`", *values)
    cells = (one for table in report.controls for one in table.cells if one.trials)
    rooms = [one for one in cells if one.metric == "headroom"]
    if len(rooms) > 1:
        yield from ("", f"Headroom is that of the data for {' '.join(rooms[0].column)}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paper")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--on", nargs="+", default=())
    parser.add_argument("--drawn", action="store_true")
    given = parser.parse_args()
    if not given.drawn:
        found = tuple(measured(given.paper, given.on, given.jobs))
        file = ROOT / "tables" / given.paper / FILE
        if given.on:
            known = RECORDS.validate_json(file.read_bytes())
            found = (*(one for one in known if one.data not in given.on), *found)
        file.write_bytes(RECORDS.dump_json(found, indent=1) + b"\n")
    report = judged(given.paper)
    (ROOT / "docs" / f"headroom-{given.paper}.svg").write_bytes(by_headroom(report))
    page = ROOT / "docs/calibration.md"
    marks = f"headroom {given.paper}"
    page.write_text(filled(page.read_text("utf-8"), written(report), marks), "utf-8")


if __name__ == "__main__":
    main()
