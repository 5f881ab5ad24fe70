"""The page on other data names every claim that some data decide, beside the default's word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.other_data import BASELINES, DECIDED, kept, page, read_kept

BASELINE = json.loads((BASELINES / "fcl-reduced.json").read_text("utf-8"))
OPEN = next(place for place, word in BASELINE["claims"].items() if word == "UNRESOLVED")


def report(**more: Any) -> dict[str, Any]:
    """A whole report in which nothing was decided but one claim that the baseline leaves open."""
    tables: dict[str, Any] = {}
    for place in BASELINE["claims"]:
        table, _, id = place.partition(": ")
        cells = [{"trials": [1.0] * n} for n in (1, 5, 8)]
        one = tables.setdefault(table, {"id": table, "cells": cells, "claims": []})
        one["claims"].append({"id": id, "word": "HOLDS" if place == OPEN else "UNRESOLVED"})
    known = {name: BASELINE[name] for name in ("paper", "profile", "series")}
    return {**known, "on": "mnist", "tables": list(tables.values()), **more}


def test_words_stand_beside_those_of_the_baseline() -> None:
    text = "\n".join(page([kept(report())]))
    assert "Trials of a run: 15 on the default, 5–8 on mnist." in text
    assert f"| {OPEN} | unresolved | HOLDS |" in text
    decided = {place: word for place, word in BASELINE["claims"].items() if word in DECIDED}
    assert all(f"| {place} | {word} | unresolved |" in text for place, word in decided.items())
    assert f"| mnist | 1 | 0 | 0 | 0 | {len(BASELINE['claims']) - 1} | 0 | 0 |" in text


def test_it_says_of_how_many_claims_data_say_the_opposite() -> None:
    partly = next(place for place, word in BASELINE["claims"].items() if word == "PARTLY")
    turned = report()
    for table in turned["tables"]:
        for claim in table["claims"]:
            if f"{table['id']}: {claim['id']}" == partly:
                claim["word"] = "OPPOSITE HERE"
    decided = {place for place, word in BASELINE["claims"].items() if word in DECIDED} | {OPEN}
    said = "{} claims that some data decide none hold on one set and are the opposite on another"
    assert said.format(len(decided)) in next(page([kept(turned)]))
    assert "and 1 are `PARTLY`" in next(page([kept(turned)]))
    assert "and 0 are `PARTLY`" in next(page([kept(report())]))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"on": None}, "one too many"),
        ({"profile": "smoke"}, "profile smoke"),
        ({"series": 7}, "series 7"),
        ({"tables": []}, "not all claims"),
    ],
)
def test_what_may_not_stand_beside_it_is_refused(other: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        list(page([kept(report(**other))]))


def test_a_second_report_on_the_same_data_is_refused() -> None:
    with pytest.raises(ValueError, match="one too many"):
        list(page([kept(report())] * 2))


def test_the_page_is_what_the_kept_words_print() -> None:
    text = (Path(__file__).parents[2] / "docs" / "other-data.md").read_text("utf-8")
    assert text.endswith("\n".join(page(read_kept())))
