"""Options that are younger than stored results.

A run's config leaves them out at their default, so that runs without them keep their keys.
"""

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any

_LATER = "later"


def later(default: Any) -> Any:
    """A field of a dataclass with that default, which configs leave out where it has it."""
    return field(default=default, metadata={_LATER: True})


def without_defaults(made: Any, plain: Mapping[str, Any]) -> dict[str, Any]:
    """`plain`, the fields of a dataclass by name, without such fields at their default."""
    unused = {
        one.name
        for one in fields(made)
        if one.metadata.get(_LATER) and getattr(made, one.name) == one.default
    }
    return {name: value for name, value in plain.items() if name not in unused}
