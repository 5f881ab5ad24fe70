"""Baselines as files: a judged report in what is compared of it."""

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from ..data_names import file_name
from ..errors import FedreproError
from ..results import Report
from ..store.files import path_segment, seal_of, write_whole

Decoded = TypeVar("Decoded")
AUDIT, EACH, WORDS = "audit", "every trial", ("says", "headline", "rests_on")
_STRICT = ConfigDict(strict=True, allow_inf_nan=False)
"""For what is read back: no type is guessed, and no number is infinite or none."""


@dataclass(frozen=True, config=_STRICT)
class RecordedCell:
    """A cell. `trials`: by seed, None where one is missing. `spread`: as published, with its range.
    `metric`, `read`, `spread`: None in older baselines."""

    trials: tuple[float | None, ...]
    verdict: str
    run: str | None
    published: str
    margin: float | None
    metric: str | None = None
    read: int | str | None = None
    spread: str | None = None

    @property
    def by_seed(self) -> dict[int, float]:
        return {seed: value for seed, value in enumerate(self.trials) if value is not None}


@dataclass(frozen=True, config=_STRICT)
class Recorded:
    """A judged report as a baseline keeps it, and as reports are compared.

    `cells`: by place, `3: CP-CFL|SimCLR @ T = 25`. `claims`, `stated`: their words and expressions
    by place, `3: id`, controls included; stated are also whether a claim is of every trial, what it
    says (`3: id, headline`), and the audit. `tables`: their words by id. `retention`: of the metric
    that decides a table, by id. `failed`: trials that failed, a sentence each."""

    paper: str
    profile: str
    on: str | None
    series: int
    created: str
    commit: str | None
    device: str
    versions: dict[str, str]
    cells: dict[str, RecordedCell]
    claims: dict[str, str]
    stated: dict[str, str]
    tables: dict[str, str]
    retention: dict[str, float]
    failed: tuple[str, ...]
    schema: Literal[2] = 2

    @property
    def trained(self) -> dict[str, RecordedCell]:
        return {place: cell for place, cell in self.cells.items() if cell.by_seed}

    @property
    def compared(self) -> int:
        """How many different cells have trials; cells that show the same ones count once."""
        return len({cell.trials for cell in self.trained.values()})


def recorded(report: Report) -> Recorded:
    """A judged report as a baseline keeps it."""
    return _recorded(asdict(report))


def place_of(table: str, row: Sequence[str], column: Sequence[str]) -> str:
    """How a cell is named: `3: CP-CFL|SimCLR @ T = 25`."""
    return f"{table}: {'|'.join(row)} @ {'|'.join(column)}"


def path_for(root: Path, paper: str, profile: str, on: str | None) -> Path:
    """The file of a baseline: `<root>/cpcfl-reduced.json`, `<root>/cpcfl-reduced-mnist.json`.
    Raises `FedreproError` for a name that would lead out of `root`."""
    parts = (paper, profile, on and file_name(on))
    return root / path_segment("-".join(filter(None, parts)) + ".json")


def save(path: Path, baseline: Recorded) -> None:
    """Writes a baseline, replacing an older one; `FedreproError` if nothing was trained."""
    if not baseline.trained:
        raise FedreproError("no cell of this report was trained, so there is nothing to record")
    plain = asdict(baseline)
    text = json.dumps({**plain, "sha256": seal_of(plain)}, indent=1, sort_keys=True)
    write_whole(path, f"{text}\n".encode())


def load(path: Path) -> Recorded:
    """A baseline as it was recorded; `FedreproError` if there is none, or it is damaged, edited or
    of old schema."""

    def parse(content: bytes) -> Recorded:
        found, plain = TypeAdapter(Recorded).validate_json(content), json.loads(content)
        if plain.pop("sha256", None) != seal_of(plain):
            raise FedreproError(f"{path} is not as it was recorded (its `sha256`); record it again")
        return found

    return _read(path, "baseline", parse, "record it again")


def read_reports(path: Path) -> list[Recorded]:
    """The reports in a `report.json`, in what is compared of them; `FedreproError` for none."""

    def parse(content: bytes) -> list[Recorded]:
        found = TypeAdapter(list[dict[str, Any]] | dict[str, Any]).validate_json(content)
        return [_recorded(one) for one in (found if isinstance(found, list) else [found])]

    return _read(path, "fedrepro report", parse, "make it again with `fedrepro report`")


def _read(path: Path, what: str, parse: Callable[[bytes], Decoded], again: str) -> Decoded:
    """The content of a file as `parse` makes it; raises `FedreproError` for any other file."""
    try:
        return parse(path.read_bytes().removeprefix(BOM_UTF8))
    except FileNotFoundError:
        raise FedreproError(f"there is no {what} {path}") from None
    except (KeyError, TypeError) as error:
        problem = repr(error)
    except ValidationError as error:
        first: Any = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        problem = " ".join(f"{place}: {first['msg']}".removeprefix(": ").split())
    raise FedreproError(f"{path} is no {what} of this version: {problem}; {again}")


def _recorded(report: Mapping[str, Any]) -> Recorded:
    made, tables = report["provenance"], (*report["tables"], *report["controls"])
    claims = {f"{table['id']}: {one['id']}": one for table in tables for one in table["claims"]}
    kinds = ((f"{at}, said of", claim["answer"]["kind"]) for at, claim in claims.items())
    audit = (one.split(": ", 1) for one in report["first"]["totals"] if one.startswith(AUDIT))
    deciding = {table["id"]: table["answers"][0] for table in tables if table["answers"]}
    plain = {
        **{name: report[name] for name in ("schema", "paper", "profile", "on", "series")},
        **{name: made[name] for name in ("created", "commit", "device", "versions")},
        "cells": {
            place_of(table["id"], cell["row"], cell["column"]): {
                **{name: cell.get(name) for name in RecordedCell.__dataclass_fields__},
                "verdict": cell["verdict"]["word"],
            }
            for table in tables
            for cell in table["cells"]
        },
        "claims": {place: claim["answer"]["word"] for place, claim in claims.items()},
        "stated": {
            **{place: claim["holds"] for place, claim in claims.items()},
            **{place: EACH if kind == EACH else "means" for place, kind in kinds if kind},
            **{f"{at}, {key}": one.get(key) or "" for at, one in claims.items() for key in WORDS},
            **dict(audit),
        },
        "tables": {table["id"]: table["word"] for table in tables},
        "retention": {id: answer["retention"]["mean"] for id, answer in deciding.items()},
        "failed": [
            f"{run['description']}, {error}" for run in report["runs"] for error in run["errors"]
        ],
    }
    return TypeAdapter(Recorded).validate_json(json.dumps(plain))
