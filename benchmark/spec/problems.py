"""What is wrong with a spec: one line each, with file, line, key and the nearest valid name."""

import dataclasses
import difflib
import re
import typing
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import PlainValidator, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from ..errors import SpecError
from ..printable import one_line
from . import lines

Model = TypeVar("Model")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in one file; printed as `file:line: message`."""

    file: Path
    line: int | None
    message: str

    def __str__(self) -> str:
        place = name_of(self.file) + ("" if self.line is None else f":{self.line}")
        return f"{place}: {one_line(self.message)}"


class InvalidSpecError(SpecError):
    """Everything that is wrong with the specs that were read, one problem a line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = in_order(problems)
        super().__init__("\n".join(map(str, self.problems)))


@dataclass
class FileProblems:
    """Collects the problems of one file. Paths are keys and positions from 0."""

    file: Path
    text: str
    problems: list[Problem] = field(default_factory=list)

    @cached_property
    def _lines(self) -> dict[lines.KeyPath, int]:
        return dict(lines.find_lines(self.text))

    def add(self, path: lines.KeyPath, message: str) -> None:
        """Notes that `message` holds for the value at `path`; the same line is noted once."""
        name = dotted(path)  # empty for the whole file, and for an empty key
        said = f"{name}: {message}" if name else message
        problem = Problem(self.file, lines.line_of(self._lines, path), said)
        if problem not in self.problems:
            self.problems.append(problem)


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems by file, as these come first, and line."""
    found = list(problems)
    files = {file: i for i, file in enumerate(dict.fromkeys(one.file for one in found))}
    return tuple(sorted(found, key=lambda one: (files[one.file], one.line or 0)))


def dotted(path: lines.KeyPath) -> str:
    """A path as messages show it, positions counted from 1: `rows[2].pretraining.epochs`."""
    name = ""
    for key in path:
        name += f"[{key + 1}]" if isinstance(key, int) else f".{key}" if name else key
    return name


def name_of(file: Path) -> str:
    """A file as messages name it: relative to the working directory where it lies below it."""
    try:
        return one_line(str(file.resolve().relative_to(Path.cwd())))
    except ValueError:
        return one_line(str(file))


def read_text(file: Path, most: int | None = None) -> str:
    """Text of a file of at most so many bytes; `SpecError` names it, and the line of no UTF-8."""
    try:
        if most is not None and not file.is_file():
            raise InvalidSpecError([Problem(file, None, "is not a file")])
        if most is not None and file.stat().st_size > most:
            raise InvalidSpecError([Problem(file, None, f"is larger than {most:,} bytes")])
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        said = "is not UTF-8 text; save it as UTF-8"
        raise InvalidSpecError([Problem(file, line, said)]) from None
    except (OSError, ValueError) as error:
        said = (isinstance(error, OSError) and error.strerror) or str(error)
        raise SpecError(f"{name_of(file)} cannot be read: {said}") from None


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that `name` most resembles, or None if none comes near."""
    letters = {one: re.sub(r"[\W_]", "", one).lower() for one in (name, *sorted(known))}
    alike = [one for one in letters if one != name and letters[one] == letters[name]]
    near = alike or difflib.get_close_matches(name, sorted(known), n=1, cutoff=cutoff)
    return next(iter(near), None)


def suggestion(name: str, known: Collection[str]) -> str:
    """What to say after 'unknown ...': the nearest name, or all of them where they are few."""
    if (near := nearest(name, known)) is not None:
        odd = ", ".join(f"U+{ord(one):04X}" for one in sorted({*name} - {*near}) if ord(one) > 126)
        return f"; did you mean '{near}'?{f' (there is no {odd} in it)' * bool(odd)}"
    return f" (known: {', '.join(sorted(known))})" if 0 < len(known) <= 16 else ""


def validate(model: type[Model], data: Mapping[str, Any], report: FileProblems) -> Model | None:
    """The model of `data`, or None once every problem of its shape is reported."""
    try:
        made: Model = _adapter(typing.cast(typing.Hashable, model)).validate_python(data)
        return made
    except ValidationError as error:
        for details in error.errors():
            path = tuple(key for key in details["loc"] if key != "[key]")
            is_missing = details["type"] == "missing"
            report.add(path[:-1] if is_missing else path, message(details, model))
        return None


_adapter = cache(TypeAdapter)


def mistakes(error: ValidationError) -> str:
    """What is wrong with the options of a class, in one line."""
    # A list of which an entry is wrong also counts as too short.
    found = [one for one in error.errors() if one["type"] != "too_short"] or error.errors()
    return "; ".join(f"{dotted(one['loc'])} {message(one)}".strip() for one in found)


def message(details: ErrorDetails, model: type = object) -> str:
    """What one of pydantic's errors means to the author of a spec."""
    kind, key = details["type"], str(details["loc"][-1]) if details["loc"] else ""
    bounds = details.get("ctx", {})
    match kind:
        case "extra_forbidden" | "unexpected_keyword_argument":
            keys = _keys_in(model)
            for above in details["loc"][:-1]:
                keys = _keys_in(keys.get(str(above))) or keys
            return f"unknown key{suggestion(key, keys)}"
        case "missing":
            return f"'{key}' is missing"
        case "too_short" if details["input"]:
            return f"must have at least {bounds['min_length']} entries"
        case "string_too_short" | "too_short":
            return "is empty"
        case "value_error":
            return str(bounds["error"])
    wanted = _WANTED.get(kind)
    said = details["msg"] if wanted is None else f"must be {wanted.format(**bounds)}"
    return said if wanted is None else f"{said}, not {describe(details['input'])}"


_WANTED = {
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "greater_than": "more than {gt}",
    "less_than": "less than {lt}",
    "literal_error": "{expected}",
    "string_type": "text",
    "bool_type": "true or false",
    **dict.fromkeys(("int_type", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "finite_number"), "a number"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    **dict.fromkeys(
        ("dict_type", "dataclass_type", "model_type", "model_attributes_type"), "a table of keys"
    ),
}
"""By kind of pydantic's errors, what must stand there."""


def _refuse(value: Any) -> Any:
    raise PydanticCustomError("extra_forbidden", "unknown key")


Filled = PlainValidator(_refuse)
"""Marks a field that is no key of a file."""


def _keys_in(annotation: Any) -> dict[str, Any]:
    """The keys of the table that stands at a place with this type, with their own types."""
    if not (isinstance(annotation, type) and dataclasses.is_dataclass(annotation)):
        found = map(_keys_in, typing.get_args(annotation))
        return next(filter(None, found), {})
    hints, keys = typing.get_type_hints(annotation, include_extras=True), {}
    for one in dataclasses.fields(annotation):
        marks = getattr(hints[one.name], "__metadata__", ())
        aliases = (mark.alias for mark in marks if isinstance(mark, FieldInfo) and mark.alias)
        if Filled not in marks:
            keys[next(aliases, one.name)] = hints[one.name]
    return keys


def describe(value: Any) -> str:
    """A value of a TOML file, as messages show it."""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str) else str(value)
