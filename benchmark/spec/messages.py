"""Validates raw TOML against a model and says in an author's words what is wrong with its shape."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fedrepro.benchmark.spec.lines import Path
from fedrepro.benchmark.spec.problems import Reporter, suggestion

Model = TypeVar("Model", bound=BaseModel)


def validate(model: type[Model], data: Mapping[str, Any], report: Reporter) -> Model | None:
    """The model of `data`, or None once every problem of its shape is reported."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        for details in error.errors():
            path = tuple(key for key in details["loc"] if key != "[key]")
            if details["type"] == "missing":
                report.add(path[:-1], f"'{path[-1]}' is missing")
            else:
                report.add(path, message(details, model))
        return None


def message(details: ErrorDetails, model: type[BaseModel]) -> str:
    """What one of pydantic's errors means to the author of a spec."""
    given = describe(details["input"])
    bounds = details.get("ctx", {})
    match details["type"]:
        case "spec":
            return str(details["msg"])
        case "extra_forbidden" | "unexpected_keyword_argument":
            return (
                f"unknown key{suggestion(str(details['loc'][-1]), keys_at(model, details['loc']))}"
            )
        case "missing":
            return f"'{details['loc'][-1]}' is missing"
        case "string_too_short" | "too_short":
            return "is empty"
        case "greater_than_equal":
            return f"must be at least {bounds['ge']}, not {given}"
        case "less_than_equal":
            return f"must be at most {bounds['le']}, not {given}"
        case "greater_than":
            return f"must be more than {bounds['gt']}, not {given}"
        case "literal_error":
            return f"must be {bounds['expected']}, not {given}"
    wanted = {
        "string_type": "text",
        "int_type": "a whole number",
        "bool_type": "true or false",
        "list_type": "a list",
        "tuple_type": "a list",
        "dict_type": "a table of keys",
        "dataclass_type": "a table of keys",
        "model_type": "a table of keys",
        "model_attributes_type": "a table of keys",
    }.get(details["type"])
    return details["msg"] if wanted is None else f"must be {wanted}, not {given}"


def keys_at(model: type[BaseModel], path: Path) -> frozenset[str]:
    """The keys that are valid in the place of the last one of `path`."""
    keys: dict[str, Any] = {name: field.annotation for name, field in model.model_fields.items()}
    for key in path[:-1]:
        if key in keys:
            keys = _keys_in(keys[str(key)]) or keys
    return frozenset(keys)


def _keys_in(annotation: Any) -> dict[str, Any]:
    """The keys of the table that stands at a place with this type, with their own types."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {name: field.annotation for name, field in annotation.model_fields.items()}
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return typing.get_type_hints(annotation)
    found = map(_keys_in, typing.get_args(annotation))
    return next(filter(None, found), {})


def describe(value: Any) -> str:
    """A value of a TOML file, as messages show it."""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str) else str(value)
