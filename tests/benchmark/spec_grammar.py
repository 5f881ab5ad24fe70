"""Specs made from the grammar of docs/spec-format.md: valid ones, and ones at the edge of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.benchmark.small_papers import TINY
from tests.hostile import HOSTILE

Draw = st.DrawFn
Toml = Mapping[str, Any]

BASE: dict[str, Any] = {
    **{section: TINY[section] for section in ("clients", "encoder", "head")},
    "pretraining": {"method": "none"},
    "training": {"rounds": 100, "local_epochs": 1},
}
METHODS = ("fedavg", "fedavg", "ifca", "cpcfl", "local-only", "not-written-yet")
METRICS = ("accuracy", "accuracy", "f1_macro", "auroc_ovr_macro", "not_written_yet")
FORMULAS = ("parameters", "flops", "communication", "client-memory", "not-written-yet")
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"training": {"learning_rate": Decimal("0.01")}},
    {"training": {"rounds": 10**9}},
    {"clients": {"count": 4}},
    {"clients": {"partition": "iid"}},
    {"clients": {"data": "stl10", "image_size": 96, "channels": 3}},
    {"head": {"widths": [8, 8]}},
    {"encoder": {"widths": [2, 2], "dim": 4}},
    {"evaluation": {"protocol": "linear-probe"}},
    {"pretraining": {"method": "simclr", "data": "digits", "epochs": 1, "shared": True}},
)
HOSTILE_TEXTS = tuple(
    text
    for text in (*HOSTILE, "'", "|", "a|*", "{row}", "at 'x'", "../../x", "nan", "x" * 400)
    if text.encode("utf-8", "ignore").decode() == text
)
"""Those that a file of UTF-8 can hold."""
HARMLESS = st.text('abcXYZ019 .-_·θ<&*{}#%$\\"', min_size=1, max_size=8).map(str.strip)
WORDS = st.one_of(HARMLESS, HARMLESS, HARMLESS, st.sampled_from(HOSTILE_TEXTS)).filter(bool)
"""What any field of text may hold; a quarter is hostile to some program."""
NUMBERS = st.one_of(
    st.integers(-(10**6), 10**6),
    st.decimals(-100, 100, places=2),
    st.sampled_from([0, Decimal("0.00"), 10**29, -(10**29), Decimal("1E-29"), Decimal("9E+29")]),
)
TEXTS = st.sampled_from(
    ["41.20", "≈ 23", "42.73 ± 0.69", "—", "", "2,378,304", "-0.00", "1e29", "0 ± 0"]
)


def toml(value: Any) -> str:
    """A value of a TOML file on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, Decimal):
        text = str(value)
        return text.replace("E", ".0E") if "E" in text and "." not in text else text
    # JSON leaves this one control character as it is, which TOML forbids.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def document(data: Toml) -> str:
    """The text of a TOML file, a key a line."""
    return "".join(f"{toml(key)} = {toml(value)}\n" for key, value in data.items())


def write(folder: Path, files: Mapping[str, Toml]) -> None:
    """The files of a paper, in place of those that lie there."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.toml"):
        old.unlink()
    for name, data in files.items():
        (folder / f"{name}.toml").write_text(document(data), encoding="utf-8")


@st.composite
def overrides(draw: Draw) -> list[dict[str, Any]]:
    """Changes that a profile makes."""
    ways: list[dict[str, Any]] = [
        {"path": "training.rounds", "value": draw(st.integers(20, 29))},
        {"path": "training.rounds", "divide": draw(st.sampled_from([3, Decimal("0.001")]))},
        {"path": "training.local_epochs", "divide": 10**6},
        {"path": "at", "divide": 2},
        {"path": "clients.count", "replace": {"4": 3}},
        {"path": "clients.data", "value": "mnist"},
        {"path": "encoder.widths", "divide": 2},
        {"path": "training.learning_rate", "value": Decimal("0.5")},
    ]
    chosen = draw(st.lists(st.sampled_from(ways), max_size=2))
    return [{**one, "why": draw(WORDS)} for one in chosen]


@st.composite
def bindings(draw: Draw, labels: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows or columns, without published values."""
    made = []
    for label in labels:
        one: dict[str, Any] = {"label": label, **draw(st.sampled_from(SETTINGS))}
        if draw(st.booleans()):
            one["at"] = draw(st.sampled_from(["final", "best", 1, 3, 10]))
        if draw(st.integers(0, 5)) == 0:
            one["metric"] = draw(st.sampled_from(METRICS))
        if draw(st.integers(0, 5)) == 0:
            one |= {"kind": "analytic", "formula": draw(st.sampled_from(FORMULAS))}
        if draw(st.integers(0, 7)) == 0:
            one["skip"] = draw(WORDS)
        if draw(st.integers(0, 5)) == 0:
            one["margin"] = {"value": Decimal("0.5"), "reason": draw(WORDS)}
        if draw(st.integers(0, 5)) == 0:
            one["profiles"] = {"smoke": {"overrides": draw(overrides())}}
        made.append(one)
    return made


LABELS = st.lists(
    st.one_of(WORDS.filter(lambda text: "'" not in text), st.lists(WORDS, min_size=1, max_size=2)),
    min_size=1,
    max_size=4,
    unique_by=lambda label: label if isinstance(label, str) else "|".join(label),
)


@st.composite
def published(draw: Draw) -> Any:
    """One printed value."""
    value = draw(st.one_of(NUMBERS, TEXTS))
    if isinstance(value, int) and draw(st.integers(0, 5)) == 0:
        return {"value": value, "low": value - 1, "high": value + 1, "why": draw(WORDS)}
    return value


def expressions(places: Sequence[str]) -> st.SearchStrategy[str]:
    """Sides of claims over lists of cells."""
    numbers = st.sampled_from(["0", "1", "2.50", "-3", "9" * 29, "0." + "0" * 29 + "1"])
    cells = st.lists(st.sampled_from(places), min_size=1, max_size=2).map(", ".join)
    functions = st.tuples(st.sampled_from(["max", "min", "mean"]), cells).map(
        lambda made: f"{made[0]}({made[1]})"
    )
    same = st.sampled_from(places).map(lambda one: f"({one} - {one})")
    return st.recursive(
        st.one_of(cells, cells, functions, same, numbers),
        lambda inner: st.tuples(inner, st.sampled_from("+-*//"), inner).map(
            lambda made: f"({made[0]} {made[1]} {made[2]})"
        ),
        max_leaves=5,
    )


def _quoted(label: Any) -> str:
    return f"'{label if isinstance(label, str) else '|'.join(label)}'"


@st.composite
def claims(draw: Draw, rows: Sequence[Any], columns: Sequence[Any]) -> list[dict[str, Any]]:
    """Claims over the rows and columns of a table."""
    lengths = {1 if isinstance(label, str) else len(label) for label in rows}
    places = [_quoted(label) for label in rows] + [_quoted(["*"] * n) for n in lengths]
    at = st.sampled_from(["", *(f" at {_quoted(label)}" for label in columns)])
    side, made = expressions(places), []
    for i in range(draw(st.integers(0, 3))):
        relation = draw(st.sampled_from([">", "<", "=", "~ 1.5", "~ 0"]))
        holds = f"{draw(side)} {relation} {draw(side)}{draw(at)}"
        made.append({"id": f"c{i}", "says": draw(WORDS), "holds": holds})
    return made


@st.composite
def tables(draw: Draw, id: str) -> dict[str, Any]:
    """One table or figure."""
    row_labels, column_labels = draw(LABELS), draw(LABELS)
    columns, rows = draw(bindings(column_labels)), draw(bindings(row_labels))
    drawn = draw(st.integers(0, 3)) == 0
    for row in rows:
        row["method"] = draw(st.sampled_from(METHODS))
        if not drawn or draw(st.booleans()):
            row["published"] = [draw(published()) for _ in columns]
    unit = draw(st.sampled_from(["%", ""]))
    table: dict[str, Any] = {
        "table": id,
        "title": draw(WORDS),
        "section": draw(st.one_of(st.just("4"), WORDS)),
        "kind": draw(st.sampled_from(["empirical", "empirical", "empirical", "descriptive"])),
        "metric": draw(st.sampled_from(METRICS)),
        "unit": unit,
        "sd": draw(st.sampled_from([{}, {"ddof": 1}, {"ddof": 0, "runs": 5}])),
        "experiment": draw(st.sampled_from(SETTINGS)),
        "columns": columns,
        "rows": rows,
        "margin": {"value": Decimal("2.0"), "reason": draw(WORDS)},
    }
    if draw(st.booleans()):
        table["notes"] = draw(st.lists(WORDS, max_size=2))
    printed = [row["label"] for row in rows if "published" in row]
    if printed:
        table["claims"] = draw(claims(printed, column_labels))
    if drawn:
        table["figure"] = {"plot": draw(st.sampled_from(["curves", "choices", "class-counts"]))}
    if printed and draw(st.integers(0, 3)) == 0:
        at = _quoted(column_labels[0])
        holds = f"'{{row}}' at {at} = '{{row}}' at {_quoted(column_labels[-1])} * 32"
        table["relations"] = [{"id": "r", "says": draw(WORDS), "holds": holds}]
    return table


@st.composite
def papers(draw: Draw) -> dict[str, Toml]:
    """The files of a paper by name; most of them pass `fedrepro check`."""
    paper: dict[str, Any] = {
        "id": "made-up",
        "title": draw(WORDS),
        "authors": draw(WORDS),
        "year": 2023,
        "experiment": BASE,
        "profiles": {
            "paper": {"trials": draw(st.sampled_from([1, 5, 1000]))},
            "smoke": {
                "trials": 2,
                "overrides": [
                    {"path": "training.rounds", "value": draw(st.integers(20, 99)), "why": "w"}
                ],
                "omit": draw(
                    st.sampled_from([[], [{"path": "method", "value": "ifca", "why": "slow"}]])
                ),
                "on": {"mnist": draw(overrides())},
            },
        },
        "venue": draw(WORDS),
        "address": "https://doi.org/10.1000/182",
        "unstated": [{"setting": draw(WORDS), "taken": draw(WORDS), "why": draw(WORDS)}],
    }
    ids = draw(st.lists(st.sampled_from(["1", "2", "figure-3", "A.4"]), min_size=1, unique=True))
    return {"paper": paper, **{id: draw(tables(id)) for id in ids[:2]}}
