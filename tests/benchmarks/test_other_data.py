"""The page on other data names every claim that some data decide, beside the default's word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.other_data import (
    BASELINES,
    DECIDED,
    claims_of_trained_cells,
    kept,
    page,
    read_kept,
)

BASELINE = json.loads((BASELINES / "fcl-reduced.json").read_text("utf-8"))
OPEN = next(place for place, word in BASELINE["claims"].items() if word == "UNRESOLVED")


def report(**more: Any) -> dict[str, Any]:
    """A whole report in which nothing was decided but one claim that the baseline leaves open."""
    tables: dict[str, Any] = {}
    for place in BASELINE["claims"]:
        table, _, id = place.partition(": ")
        cells = [{"trials": [1.0] * n} for n in (1, 15)]
        one = tables.setdefault(table, {"id": table, "cells": cells, "claims": []})
        one["claims"].append({"id": id, "word": "HOLDS" if place == OPEN else "UNRESOLVED"})
    known = {name: BASELINE[name] for name in ("paper", "profile", "series")}
    return {**known, "on": "mnist", "readings": [], "tables": list(tables.values()), **more}


def test_words_stand_beside_those_of_the_baseline() -> None:
    text = "\n".join(page([kept(report())]))
    assert "Trials of a run: 15 on the default, 15 on mnist." in text
    assert f"| {OPEN} | unresolved | HOLDS |" in text
    decided = {place: word for place, word in BASELINE["claims"].items() if word in DECIDED}
    assert all(f"| {place} | {word} | unresolved |" in text for place, word in decided.items())
    assert f"| mnist | 1 | 0 | 0 | {len(BASELINE['claims']) - 1} | 0 | 0 |" in text


def turned(place: str, word: str) -> dict[str, Any]:
    """The report with another word for a claim."""
    found = report()
    for table in found["tables"]:
        for claim in table["claims"]:
            if f"{table['id']}: {claim['id']}" == place:
                claim["word"] = word
    return found


def test_it_says_of_how_many_claims_data_say_the_opposite() -> None:
    decided = {place for place, word in BASELINE["claims"].items() if word in DECIDED} | {OPEN}
    counted = decided - claims_of_trained_cells("fcl")
    place = next(
        place
        for place, word in BASELINE["claims"].items()
        if word == "PARTLY" and place not in counted
    )
    said = next(page([kept(turned(place, "OPPOSITE HERE"))]))
    assert f"{len(decided)} claims are decided on some data, {len(counted)} of them by" in said
    assert "Of the others 1 are decided on two sets or more: none of these hold on one" in said
    assert "and 1 are `PARTLY` on one and the opposite" in said
    said = next(page([kept(turned(place, "PARTLY"))]))
    assert "Of the others 1 are decided on two sets or more" in said
    assert "and none are `PARTLY` on one and the opposite" in said
    assert "Of the others 0 are decided" in next(page([kept(report())]))


def test_costs_are_told_from_what_is_trained() -> None:
    trained = claims_of_trained_cells("mfcl")
    assert "2: tn-more-stable-on-cifar10" in trained
    assert "3: fedema-heaviest-resnet18" not in trained


def test_a_report_of_a_part_or_of_other_trials_is_refused() -> None:
    with pytest.raises(ValueError, match="not all of fcl was run on mnist"):
        list(page([kept(turned(OPEN, "NOT RUN"))]))
    fewer = report()
    for table in fewer["tables"]:
        table["cells"] = [{"trials": [1.0] * 3}]
    with pytest.raises(ValueError, match="3 trials beside 15"):
        list(page([kept(fewer)]))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"on": None}, "one too many"),
        ({"profile": "smoke"}, "profile smoke"),
        ({"series": 7}, "series 7"),
        ({"tables": []}, "not all claims"),
        ({"readings": ["other"]}, "another reading"),
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
