"""What a spec must obey beyond its shape, checked on the raw TOML.

Working on raw data lets one pass report every mistake: parts of a wrong shape, which
`benchmark.spec.model` reports, are passed over here.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import names, settings
from .choices import Unstated
from .lines import KeyPath
from .model import KEYS, Paper, Table
from .problems import FileProblems, dotted, suggestion
from .toml_file import Placed, Toml
from .values import check_published

SECTIONS = frozenset({path.split(".")[0] for path in settings.FIXED} | {"training", "augmentation"})


def check_paper(data: Toml, folder: str, own: Mapping[str, str], report: FileProblems) -> None:
    """Rules of paper.toml, in a folder of that name; `own` as given by `names.import_named`."""
    check_id(data, folder, report)
    rules = _Rules(own, _table(data.get("profiles")), report)
    rules.experiment(_table(data.get("experiment")), ("experiment",))
    rules.choices(data)
    for name, profile in ((name, _table(raw)) for name, raw in rules.known.items()):
        here, sets, chosen = ("profiles", name), _table(profile.get("on")), profile.get("data")
        rules.overrides(profile, here)
        rules.like(name, here)
        for data_set in sets:
            rules.name("data set", data_set, (*here, "on", data_set))
        if isinstance(chosen, str) and chosen not in sets:
            said = f"'{chosen}' has no changes under `on`{suggestion(chosen, sorted(sets))}"
            report.add((*here, "data"), said)


def check_id(data: Toml, folder: str, report: FileProblems) -> None:
    """A paper is called as its folder: by that name commands find it."""
    if isinstance(data.get("id"), str) and data["id"] != folder:
        report.add(("id",), f"'{data['id']}' must be the name of the folder, '{folder}'")


def check_table(data: Toml, paper: Toml, own: Mapping[str, str], report: FileProblems) -> None:
    """Rules of a table's file; `paper` is the raw paper.toml, `own` as for it."""
    rules = _Rules(own, _table(paper.get("profiles")), report)
    rows, columns = list(_items(data, "rows")), list(_items(data, "columns"))
    rules.experiment(_table(data.get("experiment")), ("experiment",))
    rules.profiles(data, ())
    for bindings in (rows, columns):
        for path, binding in bindings:
            rules.binding(binding, path)
            rules.profiles(binding, path)
            rules.metric(binding, path)
        _check_unique([(path, _label(b)) for path, b in bindings], "label", report)
    rules.metric(data, ())
    rules.choices(data)
    claims = list(_items(data, "claims"))
    stated = [*claims, *_items(data, "relations")]
    _check_unique([(path, claim.get("id")) for path, claim in stated], "id", report)
    _check_readings(claims, report)
    _check_control(data, claims, rules.known, report)
    check_published(data, rows, columns, report)
    _check_rounds([_table(one.get("experiment")) for one in (paper, data)], rows, columns, report)


def check_across(files: Sequence[tuple[FileProblems, Paper | Table]]) -> None:
    """What files of a paper take from each other: ids of tables, names of alternatives, spreads."""
    lending = {one.id for _, one in files if isinstance(one, Table) and one.sd.runs is not None}
    tables, readings = dict[str, str](), dict[str, str]()
    for report, one in files:
        for at, name in _reading_names(one.unstated):
            if name in readings:
                report.add(at, f"the interpretation '{name}' is also one of {readings[name]}")
            readings.setdefault(name, report.file.name)
        if isinstance(one, Paper):
            continue
        if one.id in tables:
            report.add(("table",), f"'{one.id}' is also the table of {tables[one.id]}")
        tables.setdefault(one.id, report.file.name)
        for name in one.sd.sources:
            if name not in lending - {one.id}:
                said = f"no table '{name}' with spreads{suggestion(name, lending)}"
                report.add(("sd", "from"), said)


def _reading_names(choices: Iterable[Unstated]) -> Iterator[tuple[KeyPath, str]]:
    for i, choice in enumerate(choices):
        if choice.name is not None:
            yield ("unstated", i, "name"), choice.name
        for j, other in enumerate(choice.alternatives):
            yield ("unstated", i, "alternatives", j, "name"), other.name


@dataclass(frozen=True)
class _Rules:
    """Rules of settings and names. `own`: of `names.import_named`. `known`: the paper's profiles"""

    own: Mapping[str, str]
    known: Toml
    report: FileProblems

    def binding(self, binding: Toml, at: KeyPath) -> None:
        for key in (one for one in binding if one not in KEYS | SECTIONS):
            self.report.add((*at, key), f"unknown key{suggestion(key, KEYS | SECTIONS)}")
        known = {key: value for key, value in binding.items() if key in SECTIONS - KEYS}
        self.experiment(known, at)

    def experiment(self, layer: Toml, at: KeyPath, prefix: str = "") -> None:
        for key, value in layer.items():
            here, path = (*at, key), f"{prefix}{key}"
            if "." in key:
                self.report.add(here, "has a dot inside its quotes; leave the quotes out")
            elif isinstance(value, dict):
                self.experiment(value, here, f"{path}.")
            elif problem := self._setting_problem(path, value):
                self.report.add(here, problem)

    def choices(self, data: Toml) -> None:
        """Settings, methods and metrics that alternatives name; all of them must exist."""
        for at, choice in _items(data, "unstated"):
            paths = dict(_items(choice, "settings", at, of=str))
            for here, path in paths.items():
                self.path(path, here)
            self._limits(choice, at)
            for here, other in _items(choice, "alternatives", at):
                change = _table(other.get("set"))
                self.experiment(change, (*here, "set"))
                for path, _ in settings.leaves(change) if paths else ():
                    if not any(path == one or path.startswith(f"{one}.") for one in paths.values()):
                        said = f"sets {path}, which is not among the 'settings' of the choice"
                        self.report.add((*here, "set"), said)
                self._limits(other, here)
                for metric, read in _table(other.get("metrics")).items():
                    for name in (metric, read):
                        self._exists("metric", name, (*here, "metrics", metric))

    def _limits(self, data: Toml, at: KeyPath) -> None:
        for what in ("method", "objective", "protocol"):
            for here, name in _items(data, f"{what}s", at, of=str):
                self._exists(what, name, here)

    def _exists(self, what: str, name: Any, at: KeyPath) -> None:
        if isinstance(name, str) and not names.exists(what, name):
            self.report.add(at, f"unknown {what} '{name}'{suggestion(name, names.known(what))}")

    def _setting_problem(self, path: str, value: Any) -> str | None:
        said = settings.problem(path, value, self.own)
        if said is None and path in settings.NAMED and isinstance(value, str):
            return names.problem(settings.NAMED[path], value)
        return said

    def name(self, what: str, name: Any, at: KeyPath) -> None:
        if isinstance(name, str) and (said := names.problem(what, name)):
            self.report.add(at, said)

    def metric(self, data: Toml, at: KeyPath) -> None:
        if "metric" in data and data.get("kind", "empirical") in ("empirical", "control"):
            self.name("metric", data["metric"], (*at, "metric"))

    def profiles(self, data: Toml, at: KeyPath) -> None:
        for name, raw in _table(data.get("profiles")).items():
            here: KeyPath = (*at, "profiles", name)
            own, known = _table(raw), _table(self.known.get(name))
            if name not in self.known:
                self.report.add(here, f"unknown profile{suggestion(name, sorted(self.known))}")
            elif "overrides" in own and "like" in known:
                said = f"it runs what '{known['like']}' runs; put overrides there"
                self.report.add((*here, "overrides"), said)
            self.overrides(own, here)

    def like(self, name: str, at: KeyPath) -> None:
        """A profile like another one runs all that it runs, and shares no trial with it."""
        profile = _table(self.known[name])
        like = profile.get("like")
        if not isinstance(like, str):
            if "whole" in profile:
                self.report.add((*at, "whole"), "is for a profile that is `like` another one")
            return
        if like not in self.known:
            near = suggestion(like, sorted(set(self.known) - {name}))
            self.report.add((*at, "like"), f"unknown profile '{like}'{near}")
        elif "like" in _table(self.known[like]):
            self.report.add((*at, "like"), f"'{like}' is itself like another; name that one")
        for other, raw in self.known.items():
            same = isinstance(raw, dict) and like in (other, raw.get("like"))
            if same and other != name and raw.get("series", 0) == profile.get("series", 0):
                said = f"profile '{other}' trains the same trials with this series"
                self.report.add(at, f"{said}; give another `series`")
        for own in {"overrides", "on", "omit", "data", "misses"} & profile.keys():
            self.report.add((*at, own), f"leave it out: this profile runs what '{like}' runs")

    def overrides(self, profile: Toml, at: KeyPath) -> None:
        places = [*_items(profile, "overrides", at), *_items(profile, "omit", at)]
        for data_set in _table(profile.get("on")):
            places += _items(profile["on"], data_set, (*at, "on"))
        for here, override in places:
            path = override.get("path")
            for _, condition in [*_items(override, "where", of=str)][:1]:
                self.path(condition, (*here, "where"))
            values = [override["value"]] if "value" in override else []
            values += _table(override.get("replace")).values()
            if isinstance(path, str) and path != "at" and self.path(path, (*here, "path")):
                problems = (self._setting_problem(path, value) for value in values)
                for problem in filter(None, problems):
                    self.report.add(here, f"{path}: {problem}")

    def path(self, path: str, at: KeyPath) -> bool:
        """Whether an experiment may have a value at `path`."""
        if settings.is_known(path) or path in self.own:
            return True
        near = suggestion(path, {*settings.known_paths(), *self.own, "at"})
        self.report.add(at, self.own.get(path.partition(".")[0]) or f"unknown path '{path}'{near}")
        return False


def _table(value: Any) -> Toml:
    return value if isinstance(value, dict) else {}


def _items(
    data: Toml, key: str, at: KeyPath = (), of: type = dict
) -> Iterator[tuple[KeyPath, Any]]:
    """The entries of a list that are of a type, with their paths."""
    items = data.get(key)
    for i, item in enumerate(items if isinstance(items, list) else []):
        if isinstance(item, of):
            yield (*at, key, i), item


def _label(binding: Toml) -> str | None:
    label = binding.get("label")
    parts: list[Any] = label if isinstance(label, list) else [label]
    return "|".join(parts) if all(isinstance(part, str) for part in parts) else None


def _check_unique(found: list[tuple[KeyPath, Any]], key: str, report: FileProblems) -> None:
    first: dict[str, KeyPath] = {}
    for path, name in found:
        one = unicodedata.normalize("NFC", " ".join(str(name).split()))
        if isinstance(name, str) and first.setdefault(one, path) != path:
            report.add((*path, key), f"'{name}' is taken by {dotted(first[one])}")


def _check_readings(claims: Placed, report: FileProblems) -> None:
    """`reading_of` names a claim of its table that has no `reading_of` itself."""
    ids = (claim.get("id") for _, claim in claims if "reading_of" not in claim)
    firsts = [id for id in ids if isinstance(id, str)]
    for path, claim in claims:
        name = claim.get("reading_of")
        if isinstance(name, str) and name not in firsts:
            report.add((*path, "reading_of"), f"no claim '{name}'{suggestion(name, firsts)}")


def _check_control(data: Toml, claims: Placed, known: Toml, report: FileProblems) -> None:
    """A table of the kind `control` has controls and profiles; another one has no control."""
    profiles = data.get("profiles")
    if data.get("kind") != "control":
        if isinstance(profiles, list):
            report.add(("profiles",), "a list is for tables of the kind 'control' alone")
        for path, claim in claims:
            if "control" in claim:
                report.add((*path, "control"), "is for tables of the kind 'control' alone")
        return
    if not profiles:
        report.add((), "a control table needs 'profiles', those under which it is run")
    named = profiles if isinstance(profiles, (list, dict)) else []
    for i, name in enumerate(named):
        path = ("profiles", i if isinstance(profiles, list) else name)
        like = _table(known.get(name) if isinstance(name, str) else None).get("like")
        if isinstance(profiles, list) and isinstance(name, str) and name not in known:
            report.add(path, f"unknown profile '{name}'{suggestion(name, sorted(known))}")
        elif like is not None and like not in named:
            report.add(path, f"it runs what '{like}' runs; name '{like}' here")
    if not claims:
        report.add((), "a control table needs [[claims]]")
    for path, claim in claims:
        if "control" not in claim:
            report.add(path, "needs 'control', with least and source")
        for key in ("headline", "rests_on", "reading_of", "every_trial"):
            if key in claim:
                report.add((*path, key), "is for claims, not for controls; leave it out")


def _check_rounds(below: list[Toml], rows: Placed, columns: Placed, report: FileProblems) -> None:
    """Rounds that are read exist; `below` are the experiments of paper and table."""
    for row_path, row in rows:
        for column_path, column in columns or [(row_path, {})]:
            at, place = (row["at"], row_path) if "at" in row else (column.get("at"), column_path)
            if type(at) is not int:  # of most cells, whose settings need not be merged
                continue
            rounds = settings.get(settings.merge(*below, column, row), "training.rounds")
            if type(rounds) is int and at > rounds:
                report.add((*place, "at"), f"round {at} is beyond the last, {rounds}")
