"""Make the module and the test of a federated method, in a clone."""

import argparse
import keyword
import re
from pathlib import Path

from fedrepro.benchmark.errors import FedreproError
from fedrepro.commands import _options as options
from fedrepro.commands.new_project import template, write_new

EXAMPLE = "fedrepro new-method fedmomentum --family supervised"
_USED = (
    "from fedrepro.methods.federated.base import Round",
    "from fedrepro.methods.federated.supervised.fedavg import FedAvg",
    "from fedrepro.testing import check_method",
    "from tests.methods.conftest import make_task",
)
_NAMES = ("FedAvg", "Message", "Round", "Server", "Task")  # what the templates name themselves
ARGUMENTS = (
    options.option("name", metavar="NEW", help="as specs will say it: fedmomentum, my-method"),
    options.option("--family", default="supervised", metavar="FAMILY", help="a folder of "
        "methods/federated: supervised (default), clustered, personalized, self_supervised, "
        "split, reference"),
    options.folder("--root", "the checkout (default: where you stand)", default=Path()),
)  # fmt: skip


def execute(args: argparse.Namespace) -> None:
    """Writes two files and says what to do next."""
    root, module = args.root, args.name.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", args.name):
        raise FedreproError(f"'{args.name}': small letters, digits and single hyphens only")
    if keyword.iskeyword(module) or module == "base":
        said = "is a word of Python or of this project; choose another name"
        raise FedreproError(f"'{args.name}' {said}")
    package = root / "methods" / "federated"
    for needed in (package, root / "tests" / "methods"):
        if not needed.is_dir():
            raise FedreproError(
                f"{needed.absolute()} is missing: methods are added in a checkout (--root); "
                "elsewhere `fedrepro new-project` makes one of your own"
            )
    families = sorted(place.parent.name for place in package.glob("*/__init__.py"))
    if args.family not in families:
        raise FedreproError(f"no family '{args.family}' (families: {', '.join(families)})")
    for path in package.glob(f"*/{module}.py"):
        raise FedreproError(f"{path} is there already; choose another name")
    name = "".join(part.capitalize() for part in args.name.split("-"))
    if name in _NAMES:
        name += "Method"
    test = f"tests/methods/test_{module}.py"
    own = f"from fedrepro.methods.federated.{args.family}.{module} import {name}"
    code = template("method.py", title=args.name, cls=name, test=test, federated=".")
    tests = template("method_test.py", cls=name, imports="\n".join(sorted([own, *_USED])))
    write_new({package / args.family / f"{module}.py": code, root / test: tests})
    print(f'try it: pytest {test}; then name it in a spec: method = "{args.name}"')
