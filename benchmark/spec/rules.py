"""What a spec must obey beyond its shape, checked on the raw TOML.

Working on raw data lets one reading report every mistake: parts of a wrong shape, which
`benchmark.spec.schema` reports, are passed over here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec import limits, names, settings
from fedrepro.benchmark.spec.lines import Path
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.spec.problems import Reporter, suggestion
from fedrepro.benchmark.spec.schema import RawColumn, RawRow, RawTable, read_published

Toml = Mapping[str, Any]
SECTIONS = frozenset({path.split(".")[0] for path in settings.FIXED} | {"training", "augmentation"})


def check_paper(data: Toml, folder: str, report: Reporter, *, look_up: bool = True) -> None:
    """Rules of paper.toml.

    folder: the name of the paper's folder. look_up: as in `Vocabulary`.
    """
    if isinstance(data.get("id"), str) and data["id"] != folder:
        report.add(("id",), f"'{data['id']}' must be the name of the folder, '{folder}'")
    words = Vocabulary.of(data, look_up)
    _check_experiment(_table(data.get("experiment")), ("experiment",), words, report)
    for name, profile in _table(data.get("profiles")).items():
        _check_overrides(_table(profile), ("profiles", name), words, report)
        for here, omission in _tables(_table(profile), "omit", ("profiles", name)):
            if isinstance(omission.get("path"), str):
                value = [omission["value"]] if "value" in omission else []
                _check_override(omission["path"], value, here, words, report)
        for data_set in _table(_table(profile).get("on")):
            _check_name("data set", data_set, ("profiles", name, "on", data_set), words, report)


def check_table(
    data: Toml, paper: Toml, shaped: RawTable | None, report: Reporter, *, look_up: bool = True
) -> None:
    """Rules of a table's file.

    paper: the raw paper.toml. shaped: the table, None where it has not the shape of one.
    look_up: as in `Vocabulary`.
    """
    words = Vocabulary.of(paper, look_up)
    rows, columns = list(_tables(data, "rows")), list(_tables(data, "columns"))
    _check_experiment(_table(data.get("experiment")), ("experiment",), words, report)
    profiles = _table(paper.get("profiles"))
    _check_profiles(data, (), profiles, words, report)
    for model, bindings in ((RawRow, rows), (RawColumn, columns)):
        fields = frozenset(model.model_fields)
        valid = fields | SECTIONS | {word.split(".")[0] for word in words.declared}
        for path, binding in bindings:
            extra = {name: value for name, value in binding.items() if name not in fields}
            _check_binding(extra, path, valid, words, report)
            _check_profiles(binding, path, profiles, words, report)
            _check_metric(binding, path, words, report)
        _check_unique([(path, _label(b)) for path, b in bindings], "label", report)
    _check_metric(data, (), words, report)
    stated = [*_tables(data, "claims"), *_tables(data, "relations")]
    _check_unique([(path, claim.get("id")) for path, claim in stated], "id", report)
    _check_readings(list(_tables(data, "claims")), report)
    _check_published(data, rows, columns, shaped, report)
    _check_rounds(data, paper, rows, columns, report)


@dataclass(frozen=True)
class Vocabulary:
    """Which settings and names a paper may use.

    declared: paths and names that it may, although nothing implements them yet.
    look_up: whether all others are held against the code, which imports every method.
    """

    declared: frozenset[str]
    look_up: bool = True

    @classmethod
    def of(cls, paper: Toml, look_up: bool) -> Vocabulary:
        """The vocabulary of a raw paper.toml."""
        words = paper.get("vocabulary", [])
        words = words if isinstance(words, list) else []
        return cls(frozenset(word for word in words if isinstance(word, str)), look_up)


def _table(value: Any) -> Toml:
    return value if isinstance(value, dict) else {}


def _tables(data: Toml, key: str, at: Path = ()) -> Iterator[tuple[Path, Toml]]:
    items = data.get(key)
    for i, item in enumerate(items if isinstance(items, list) else []):
        if isinstance(item, dict):
            yield (*at, key, i), item


def _label(binding: Toml) -> str | None:
    label = binding.get("label")
    parts = label if isinstance(label, list) else [label]
    named = [part for part in parts if isinstance(part, str)]
    return "|".join(named) if len(named) == len(parts) else None


def _check_unique(found: list[tuple[Path, Any]], key: str, report: Reporter) -> None:
    first: dict[str, Path] = {}
    for path, name in found:
        if not isinstance(name, str):
            continue
        if name in first:
            earlier = first[name][-1]
            assert isinstance(earlier, int)
            report.add((*path, key), f"'{name}' is taken by {first[name][0]}[{earlier + 1}]")
        first.setdefault(name, path)


def _check_readings(claims: list[tuple[Path, Toml]], report: Reporter) -> None:
    """A reading names a claim of its table that is not itself the reading of another."""
    ids = [claim.get("id") for _, claim in claims if "reading_of" not in claim]
    firsts = [id for id in ids if isinstance(id, str)]
    for path, claim in claims:
        name = claim.get("reading_of")
        if isinstance(name, str) and name not in firsts:
            report.add((*path, "reading_of"), f"no claim '{name}'{suggestion(name, firsts)}")


def _check_binding(
    extra: Toml, at: Path, valid: frozenset[str], words: Vocabulary, report: Reporter
) -> None:
    keys = {}
    for key, value in extra.items():
        if key in valid:
            keys[key] = value
        else:
            report.add((*at, key), f"unknown key{suggestion(key, valid)}")
    _check_experiment(keys, at, words, report)


def _check_experiment(layer: Toml, at: Path, words: Vocabulary, report: Reporter) -> None:
    for path, value in settings.leaves(layer):
        problem = _setting_problem(path, value, words)
        if problem is not None:
            report.add((*at, *path.split(".")), problem)


def _setting_problem(path: str, value: Any, words: Vocabulary) -> str | None:
    """What is wrong with a value at a path of an experiment."""
    problem = limits.setting_problem(value)
    if problem is not None or not words.look_up:
        return problem
    try:
        settings.check_key(path, value, words.declared)
    except SpecError as error:
        return str(error)
    if path in names.PATHS and isinstance(value, str):
        return _name_problem(names.PATHS[path], value, words)
    return None


def _check_name(what: str, name: Any, at: Path, words: Vocabulary, report: Reporter) -> None:
    problem = _name_problem(what, name, words) if isinstance(name, str) else None
    if problem is not None:
        report.add(at, problem)


def _name_problem(what: str, name: str, words: Vocabulary) -> str | None:
    """Refuses what looks like a slip; another name may belong to a method still to be written."""
    problem = limits.name_problem(name)
    if problem is not None or not words.look_up:
        return problem
    near = None if name in words.declared else names.slip(what, name)
    return None if near is None else f"unknown {what} '{name}'; did you mean '{near}'?"


def _check_metric(data: Toml, at: Path, words: Vocabulary, report: Reporter) -> None:
    if "metric" in data and data.get("kind", "empirical") == "empirical":
        _check_name("metric", data["metric"], (*at, "metric"), words, report)


def _check_profiles(data: Toml, at: Path, known: Toml, words: Vocabulary, report: Reporter) -> None:
    for name, profile in _table(data.get("profiles")).items():
        here: Path = (*at, "profiles", name)
        if name not in known:
            report.add(here, f"unknown profile{suggestion(name, sorted(known))}")
        _check_overrides(_table(profile), here, words, report)


def _check_overrides(profile: Toml, at: Path, words: Vocabulary, report: Reporter) -> None:
    places = list(_tables(profile, "overrides", at))
    for data_set in _table(profile.get("on")):
        places += _tables(profile["on"], data_set, (*at, "on"))
    for here, override in places:
        ways = [way for way in ("value", "divide", "replace") if way in override]
        if len(ways) != 1:
            report.add(here, "give exactly one of value, divide and replace")
            continue
        path = override.get("path")
        if not isinstance(path, str):
            continue
        replaced = _table(override.get("replace")).values()
        values = {"value": [override.get("value")], "divide": [], "replace": list(replaced)}
        _check_override(path, values[ways[0]], here, words, report)


def _check_override(
    path: str, values: list[Any], at: Path, words: Vocabulary, report: Reporter
) -> None:
    if path == "at" or not words.look_up:
        return
    known = settings.known_options()
    if path not in known and path not in words.declared:
        near = suggestion(path, frozenset({*known, *words.declared, "at"}))
        report.add((*at, "path"), f"unknown path '{path}'{near}")
        return
    for value in values:
        problem = _setting_problem(path, value, words)
        if problem is not None:
            report.add(at, f"{path}: {problem}")


def _check_published(
    data: Toml,
    rows: list[tuple[Path, Toml]],
    columns: list[tuple[Path, Toml]],
    shaped: RawTable | None,
    report: Reporter,
) -> None:
    """Counts, kinds, spreads and the margin that published values call for."""
    if len(rows) * len(columns) > limits.CELLS or len(columns) > limits.COLUMNS:
        report.add(
            ("columns",),
            f"{_count(len(rows), 'row')} and {_count(len(columns), 'column')} are too many: at "
            f"most {limits.COLUMNS} columns and {limits.CELLS} cells",
        )
    has_spread = needs_margin = False
    for n, (path, row) in enumerate(rows):
        published = row.get("published")
        if published is None:
            if "figure" not in data:
                report.add(path, "'published' is missing (only figures have rows without values)")
            continue
        if not isinstance(published, list):
            continue
        if not columns:
            report.add((*path, "published"), "the table has no columns")
        elif len(published) != len(columns):
            report.add(
                (*path, "published"),
                f"has {_count(len(published), 'value')}, the table has "
                f"{_count(len(columns), 'column')}",
            )
        read = None if shaped is None else shaped.rows[n].published
        values = map(_printed, published) if read is None else (printed for printed, _ in read)
        for i, (printed, (_, column)) in enumerate(zip(values, columns, strict=False)):
            has_spread |= printed is not None and printed.sd is not None
            kind = row.get("kind", column.get("kind", data.get("kind")))
            if printed is None or printed.is_dash or kind != "empirical":
                continue
            if "skip" in row or "skip" in column:
                continue
            if printed.value is None and not printed.is_blank:
                report.add(
                    (*path, "published", i),
                    f"'{printed.text}' is no number; give the row or column another kind, or skip",
                )
            own = "margin" in row or "margin" in column
            needs_margin |= printed.value is not None and not own
            if not any("metric" in place for place in (row, column, data)):
                report.add(path, "no metric; give one in the row, the column or the table")
    if has_spread and "sd" not in data:
        report.add((), "spreads are printed, but there is no [sd] with their ddof and runs")
    if needs_margin and "margin" not in data:
        report.add((), "empirical values need a [margin] with value and reason")


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _printed(value: Any) -> Printed | None:
    try:
        return read_published(value)[0]
    except ValueError:
        return None


def _last(layers: list[Toml], section: str, key: str) -> Any:
    """What the last layer that gives a setting gives; None where none does."""
    for layer in reversed(layers):
        given = layer.get(section, {})
        if not isinstance(given, dict):
            return None
        if key in given:
            return given[key]
    return None


def _check_rounds(
    data: Toml,
    paper: Toml,
    rows: list[tuple[Path, Toml]],
    columns: list[tuple[Path, Toml]],
    report: Reporter,
) -> None:
    """A cell is read at a round that its run reaches."""
    below = [_table(paper.get("experiment")), _table(data.get("experiment"))]
    for row_path, row in rows:
        for column_path, column in columns or [(row_path, {})]:
            at, place = (row["at"], row_path) if "at" in row else (column.get("at"), column_path)
            if type(at) is not int:
                continue
            rounds = _last([*below, column, row], "training", "rounds")
            if type(rounds) is int and at > rounds:
                report.add((*place, "at"), f"round {at} is beyond the last, {rounds}")
