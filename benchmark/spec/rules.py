"""What a spec must obey beyond its shape, checked on the raw TOML.

Working on raw data lets one reading report every mistake: parts of a wrong shape, which
`benchmark.spec.schema` reports, are passed over here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as PathOf
from typing import Any

from ..errors import SpecError
from . import limits, names, settings
from .choices import Unstated
from .lines import Path
from .printed import Printed
from .problems import Problem, Reporter, suggestion
from .schema import RawColumn, RawRow, RawTable, read_published
from .trial_rules import check_like, check_looks, check_more_trials

Toml = Mapping[str, Any]
Placed = Sequence[tuple[Path, Toml]]
"""Tables of a file, each with its path."""
SECTIONS = frozenset({path.split(".")[0] for path in settings.FIXED} | {"training", "augmentation"})


def check_paper(data: Toml, folder: str, report: Reporter) -> None:
    """Rules of paper.toml, in a folder of that name."""
    check_id(data, folder, report)
    rules = _Rules.of(data, vocabulary(data), report)
    rules.experiment(_table(data.get("experiment")), ("experiment",))
    rules.choices(data)
    for name, profile in _table(data.get("profiles")).items():
        here = ("profiles", name)
        rules.overrides(_table(profile), here)
        check_looks(_table(profile), here, report)
        check_like(name, _table(data["profiles"]), report)
        for place, omission in _tables(_table(profile), "omit", here):
            if isinstance(omission.get("path"), str):
                value = [omission["value"]] if "value" in omission else []
                rules.override(omission["path"], value, place)
        for data_set in _table(_table(profile).get("on")):
            rules.name("data set", data_set, (*here, "on", data_set))


def check_id(data: Toml, folder: str, report: Reporter) -> None:
    """A paper is called as its folder: by that name commands find it."""
    if isinstance(data.get("id"), str) and data["id"] != folder:
        report.add(("id",), f"'{data['id']}' must be the name of the folder, '{folder}'")


def vocabulary(paper: Toml) -> frozenset[str]:
    """What a raw paper.toml admits: its words, and options of modules of one's own that it names.

    Tables share it, and it takes a walk through all of the file.
    """
    words = paper.get("vocabulary")
    words = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
    return frozenset([*words, *_own_options(paper)])


def check_table(data: Toml, paper: Toml, admitted: frozenset[str], report: Reporter) -> None:
    """Rules of a table's file; `paper` is the raw paper.toml, `admitted` its `vocabulary`."""
    rules = _Rules.of(paper, admitted.union(_own_options(data)), report)
    rows, columns = list(_tables(data, "rows")), list(_tables(data, "columns"))
    rules.experiment(_table(data.get("experiment")), ("experiment",))
    rules.profiles(data, ())
    check_more_trials(_table(data.get("profiles")), rules.known, report)
    for model, bindings in ((RawRow, rows), (RawColumn, columns)):
        fields = frozenset(model.model_fields)
        for path, binding in bindings:
            rules.binding(binding, path, fields)
            rules.profiles(binding, path)
            rules.metric(binding, path)
        _check_unique([(path, _label(b)) for path, b in bindings], "label", report)
    rules.metric(data, ())
    rules.choices(data)
    claims = list(_tables(data, "claims"))
    stated = [*claims, *_tables(data, "relations")]
    _check_unique([(path, claim.get("id")) for path, claim in stated], "id", report)
    _check_readings(claims, report)
    _check_published(data, rows, columns, report)
    _check_lenders(_table(data.get("sd")), report)
    _check_rounds([_table(one.get("experiment")) for one in (paper, data)], rows, columns, report)


def readings_named_twice(files: Iterable[tuple[PathOf, Sequence[Unstated]]]) -> list[Problem]:
    """Names that two choices, or two alternatives, of one paper share; files with their choices."""
    problems: list[Problem] = []
    seen: dict[str, PathOf] = {}
    for file, choices in files:
        for choice in choices:
            own = [*filter(None, [choice.name]), *(other.name for other in choice.alternatives)]
            for name in own:
                if name in seen:
                    said = f"the reading '{name}' is also one of {seen[name].name}"
                    problems.append(Problem(file, None, said))
                seen.setdefault(name, file)
    return problems


def _own_options(data: Toml) -> Iterator[str]:
    """Options of modules of one's own that are named anywhere in a file, as paths."""
    for what, name in names.used_within(data):
        yield from names.options(what, name)


@dataclass(frozen=True)
class _Rules:
    """Rules of settings and names.

    vocabulary: settings and names that the paper may use, although nothing implements them yet.
    known: the paper's profiles.
    """

    vocabulary: frozenset[str]
    known: Toml
    report: Reporter

    @classmethod
    def of(cls, paper: Toml, admitted: frozenset[str], report: Reporter) -> _Rules:
        """The rules of a raw paper.toml, where also `admitted` names may stand."""
        return cls(admitted, _table(paper.get("profiles")), report)

    def binding(self, binding: Toml, at: Path, fields: frozenset[str]) -> None:
        valid = fields | SECTIONS | {word.split(".")[0] for word in self.vocabulary}
        keys = {}
        for key, value in binding.items():
            if key not in valid:
                self.report.add((*at, key), f"unknown key{suggestion(key, valid)}")
            elif key not in fields:
                keys[key] = value
        self.experiment(keys, at)

    def experiment(self, layer: Toml, at: Path) -> None:
        self._plain_keys(layer, at)
        for path, value in settings.leaves(layer):
            problem = self._setting_problem(path, value)
            if problem is not None:
                self.report.add((*at, *path.split(".")), problem)

    def choices(self, data: Toml) -> None:
        """Settings, methods and metrics that readings name; all of them must exist."""
        for at, choice in _tables(data, "unstated"):
            settled = choice.get("settings")
            paths = [one for one in settled or () if isinstance(one, str)]
            for i, path in enumerate(paths):
                self.path(path, (*at, "settings", i))
            self._known_names(choice, ("methods",), at)
            for here, other in _tables(choice, "alternatives", at):
                change = _table(other.get("set"))
                self.experiment(change, (*here, "set"))
                for path, _ in settings.leaves(change) if paths else ():
                    if not any(path == one or path.startswith(f"{one}.") for one in paths):
                        said = f"sets {path}, which is not among the 'settings' of the choice"
                        self.report.add((*here, "set"), said)
                self._known_names(other, ("methods", "objectives"), here)
                for metric, read in _table(other.get("metrics")).items():
                    for name in (metric, read):
                        self._known_name("metric", name, (*here, "metrics", metric))

    def _known_names(self, data: Toml, keys: Sequence[str], at: Path) -> None:
        for key in keys:
            given = data.get(key)
            for i, name in enumerate(given if isinstance(given, list) else []):
                self._known_name(key.removesuffix("s"), name, (*at, key, i))

    def _known_name(self, what: str, name: Any, at: Path) -> None:
        if isinstance(name, str) and not names.exists(what, name):
            self.report.add(at, f"unknown {what} '{name}'{suggestion(name, names.known(what))}")

    def _setting_problem(self, path: str, value: Any) -> str | None:
        """What is wrong with a value at a path of an experiment."""
        problem = limits.setting_problem(value)
        if problem is not None:
            return problem
        try:
            settings.check_key(path, value, self.vocabulary)
        except SpecError as error:
            return str(error)
        if path in names.PATHS and isinstance(value, str):
            return self._name_problem(names.PATHS[path], value)
        return None

    def _name_problem(self, what: str, name: str) -> str | None:
        """Refuses what looks like a slip; another name may belong to a method to be written."""
        problem = limits.name_problem(name)
        near = None if name in self.vocabulary else names.slip(what, name)
        if problem is None and near is not None:
            return f"unknown {what} '{name}'; did you mean '{near}'?"
        why = names.unusable(what, name) if problem is None else None
        return problem if why is None else f"{what} '{name}' cannot be used: {why}"

    def _plain_keys(self, layer: Toml, at: Path) -> None:
        """Refuses `"training.rounds" = 3`, a key that no run would read."""
        for key, value in layer.items():
            if "." in key:
                self.report.add((*at, key), "has a dot inside its quotes; leave the quotes out")
            elif isinstance(value, dict):
                self._plain_keys(value, (*at, key))

    def name(self, what: str, name: Any, at: Path) -> None:
        problem = self._name_problem(what, name) if isinstance(name, str) else None
        if problem is not None:
            self.report.add(at, problem)

    def metric(self, data: Toml, at: Path) -> None:
        if "metric" in data and data.get("kind", "empirical") == "empirical":
            self.name("metric", data["metric"], (*at, "metric"))

    def profiles(self, data: Toml, at: Path) -> None:
        for name, profile in _table(data.get("profiles")).items():
            here: Path = (*at, "profiles", name)
            if name not in self.known:
                self.report.add(here, f"unknown profile{suggestion(name, sorted(self.known))}")
            elif "overrides" in _table(profile) and "like" in _table(self.known[name]):
                said = f"it runs what '{self.known[name]['like']}' runs; say it of that one"
                self.report.add((*here, "overrides"), said)
            self.overrides(_table(profile), here)

    def overrides(self, profile: Toml, at: Path) -> None:
        places = list(_tables(profile, "overrides", at))
        for data_set in _table(profile.get("on")):
            places += _tables(profile["on"], data_set, (*at, "on"))
        for here, override in places:
            values = [override["value"]] if "value" in override else []
            values += _table(override.get("replace")).values()
            if isinstance(override.get("path"), str):
                self.override(override["path"], values, here)

    def override(self, path: str, values: list[Any], at: Path) -> None:
        if path == "at" or not self.path(path, (*at, "path")):
            return
        for value in values:
            problem = self._setting_problem(path, value)
            if problem is not None:
                self.report.add(at, f"{path}: {problem}")

    def path(self, path: str, at: Path) -> bool:
        """Whether an experiment may have a value at `path`."""
        known = settings.is_known(path) or path in self.vocabulary
        if not known:
            near = suggestion(path, {*settings.known_paths(), *self.vocabulary, "at"})
            self.report.add(at, f"unknown path '{path}'{near}")
        return known


def _table(value: Any) -> Toml:
    return value if isinstance(value, dict) else {}


def _tables(data: Toml, key: str, at: Path = ()) -> Iterator[tuple[Path, Toml]]:
    items = data.get(key)
    for i, item in enumerate(items if isinstance(items, list) else []):
        if isinstance(item, dict):
            yield (*at, key, i), item


def _label(binding: Toml) -> str | None:
    label = binding.get("label")
    parts: list[Any] = label if isinstance(label, list) else [label]
    return "|".join(parts) if all(isinstance(part, str) for part in parts) else None


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


def _check_readings(claims: Placed, report: Reporter) -> None:
    """A reading names a claim of its table that is not itself the reading of another."""
    ids = [claim.get("id") for _, claim in claims if "reading_of" not in claim]
    firsts = [id for id in ids if isinstance(id, str)]
    for path, claim in claims:
        name = claim.get("reading_of")
        if isinstance(name, str) and name not in firsts:
            report.add((*path, "reading_of"), f"no claim '{name}'{suggestion(name, firsts)}")


def _check_published(data: Toml, rows: Placed, columns: Placed, report: Reporter) -> None:
    """Counts, kinds, spreads and the margin that published values call for."""
    if len(rows) * len(columns) > limits.CELLS or len(columns) > limits.COLUMNS:
        report.add(
            ("columns",),
            f"{_count(len(rows), 'row')} and {_count(len(columns), 'column')} are too many: at "
            f"most {limits.COLUMNS} columns and {limits.CELLS} cells",
        )
    has_spread = needs_margin = False
    for path, row in rows:
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
        values = map(_printed, published)
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


def _check_lenders(sd: Toml, report: Reporter) -> None:
    """A spread is borrowed with a reason; `unknown_lenders` looks for the table."""
    if "from" in sd and "why" not in sd:
        report.add(("sd",), "a spread taken 'from' another table needs 'why'")
    if "why" in sd and "from" not in sd:
        report.add(("sd", "why"), "is the reason for 'from', which is missing")


def unknown_lenders(files: Iterable[tuple[PathOf, RawTable]]) -> list[Problem]:
    """Tables that lend their spreads but do not exist in the paper, or print none."""
    tables = list(files)
    lending = {one.table for _, one in tables if one.sd is not None and one.sd.runs is not None}
    return [
        Problem(file, None, f"sd.from: no table '{name}' with spreads{suggestion(name, lending)}")
        for file, table in tables
        if table.sd is not None
        for name in table.sd.lenders
        if name not in lending - {table.table}
    ]


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _printed(value: Any) -> Printed | None:
    try:
        return read_published(value)[0]
    except ValueError:
        return None


def _check_rounds(below: list[Toml], rows: Placed, columns: Placed, report: Reporter) -> None:
    """Rounds that are read exist; `below` are the experiments of paper and table."""
    for row_path, row in rows:
        for column_path, column in columns or [(row_path, {})]:
            at, place = (row["at"], row_path) if "at" in row else (column.get("at"), column_path)
            if type(at) is not int:
                continue
            rounds = settings.get(settings.merge(*below, column, row), "training.rounds")
            if type(rounds) is int and at > rounds:
                report.add((*place, "at"), f"round {at} is beyond the last, {rounds}")
