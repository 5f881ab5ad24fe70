"""Results as what JSON can hold."""

import dataclasses
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any


def as_plain(value: Any) -> Any:
    """Dataclasses, tuples, decimals and paths as what JSON can hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(item) for item in value]
    if isinstance(value, (Decimal, Path)):
        return str(value)
    return value
