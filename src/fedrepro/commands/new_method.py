"""`fedrepro new-method`: a federated method's module and its test, to grow from FedAvg."""

from __future__ import annotations

import argparse
import keyword
import os
import re
from pathlib import Path

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.store.files import write_whole
from fedrepro.commands._options import folder

HELP = "make the module and the test of a new federated method, in a checkout"
EXAMPLE = "fedrepro new-method fedmomentum --family supervised"
_MODULE = '''"""{title}: say in one line what it does.

Paper: authors, year, algorithm. So far this is FedAvg whose new global model is mixed with the old
one; replace `aggregate` by the paper's step and name its equation here.
Departures and readings: none yet.
Evidence: `tests/methods/test_{module}.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from fedrepro.methods.federated.base import Message, Round, Server
from fedrepro.methods.federated.supervised.fedavg import FedAvg


@dataclass(frozen=True)
class {name}(FedAvg):
    """Options are fields: a spec sets them under `training`.

    keep: share of the old global model that is kept in each round.

    Raises `ValueError` unless `keep` lies in [0, 1).
    """

    keep: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.keep < 1:
            raise ValueError(f"keep must be in [0, 1), not {{self.keep}}")

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        average = super().aggregate(now, server, upload)
        return {{
            name: self.keep * server[name] + (1 - self.keep) * value
            for name, value in average.items()
        }}
'''
_TEST_IMPORTS = (
    "from fedrepro.methods.federated.base import Round, Task",
    "from fedrepro.methods.federated.loop import run",
    "from fedrepro.methods.federated.supervised.fedavg import FedAvg",
)
_TEST = """from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

{imports}

OPTIONS = {{"rounds": 2, "local_epochs": 1, "batch_size": 4}}


def test_without_its_option_it_is_federated_averaging(make_task: Callable[..., Task]) -> None:
    ours, theirs = (run(cls(**OPTIONS), make_task()) for cls in ({name}, FedAvg))
    assert ours.metrics == theirs.metrics


def test_a_share_of_the_old_model_is_kept(make_task: Callable[..., Task]) -> None:
    task = make_task()
    moved = []
    for keep in (0.0, 0.5):
        method = {name}(keep=keep, **OPTIONS)
        old = method.start(task, 0)
        now = Round(task, 0, method.participants(task, 0))
        upload = method.local_update(now, method.broadcast(now, old), method.new_memory(task))
        new = method.aggregate(now, old, upload)
        moved.append(torch.cat([(new[name] - old[name]).flatten() for name in sorted(old)]))
    torch.testing.assert_close(moved[1], 0.5 * moved[0])


def test_a_share_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="keep"):
        {name}(keep=1.0)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The name, and where the module goes."""
    parser.add_argument("name", metavar="NEW", help="as specs will say it: fedmomentum, my-method")
    parser.add_argument(
        "--family",
        default="supervised",
        metavar="FAMILY",
        help="a folder of methods/federated: supervised (default), clustered, personalized, "
        "self_supervised, split, reference",
    )
    parser.add_argument(
        "--root", type=folder, metavar="DIR", help="the checkout (default: where you stand)"
    )


def execute(given: argparse.Namespace) -> int:
    """Writes two files and says what to do next."""
    root = given.root or Path()
    module = given.name.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", given.name):
        raise FedreproError(f"'{given.name}': small letters, digits and single hyphens only")
    if keyword.iskeyword(module) or module == "base":
        raise FedreproError(
            f"'{given.name}' is a word of Python or of this project; choose another name"
        )
    package, tests = root / "methods" / "federated", root / "tests" / "methods"
    for needed in (package, tests):
        if not needed.is_dir():
            raise FedreproError(
                f"{needed.absolute()} is missing: methods are added in a checkout (--root); "
                "elsewhere `fedrepro new-project` makes one of your own"
            )
    families = sorted(place.parent.name for place in package.glob("*/__init__.py"))
    if given.family not in families:
        raise FedreproError(f"no family '{given.family}' (families: {', '.join(families)})")
    files = {
        package / given.family / f"{module}.py": _MODULE,
        tests / f"test_{module}.py": _TEST,
    }
    for path in (*package.glob(f"*/{module}.py"), *files):
        if os.path.lexists(path):
            raise FedreproError(f"{path} is there already; choose another name")
    name = "".join(part.capitalize() for part in given.name.split("-"))
    if re.search(rf"\b{name}\b", _MODULE + _TEST):
        name += "Method"  # the templates' own names: FedAvg, Task, ...
    dotted = f"fedrepro.methods.federated.{given.family}.{module}"
    words = {
        "title": given.name,
        "module": module,
        "name": name,
        "imports": "\n".join(sorted([f"from {dotted} import {name}", *_TEST_IMPORTS])),
    }
    for path, template in files.items():
        write_whole(path, template.format(**words).encode())
        print(f"wrote {path.absolute()}")
    print(
        f"try it: pytest tests/methods/test_{module}.py; then name it in a spec: method = "
        f'"{given.name}"'
    )
    return 0
