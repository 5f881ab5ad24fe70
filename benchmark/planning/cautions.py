"""What a reader must know of how a run was set up, which is no mistake."""

from collections.abc import Iterator, Sequence

from ...methods import registry
from ..config import RunConfig, chain
from ..spec import authors
from ..spec.layers import Layered, SettingsLayer, layered
from ..spec.model import Cell
from ..spec.settings import get, leaves, merge


def cautions(cell: Cell, run: RunConfig, changes: Sequence[SettingsLayer]) -> Iterator[str]:
    """A sentence for each; `changes`: what the profile and `--set` make of the cell's settings."""
    data, tested = run.data["name"], run.data["test_part"]
    learnt = [one.data for one in chain(run) if one.data["name"] == data and tested]
    parts = {one.get(key) or "none" for one in learnt for key in ("part", "unlabeled_part")}
    for part in sorted(parts):
        whole, own = sorted((part, tested), key=len)
        if f"{own}-".startswith(f"{whole}-"):  # `train` holds `train-30`
            yield f"{run.method} is tested on images that it was trained on: {data}/{own}"
    for one in (each for each in chain(run) if each.stage == "federated"):
        cls, *bases = registry.find("federated", one.method).__mro__
        if cls.__module__.startswith("fedrepro."):
            continue
        trained, rounds = registry.with_options(cls, one.options).exchanges, one.options["rounds"]
        if trained != rounds:
            yield f"{one.method} trains {trained} rounds, where `rounds` is {rounds}"
        if one.method == get(cell.experiment, "method"):
            yield from _not_inherited(cell, one, bases, changes)


def _not_inherited(
    cell: Cell, run: RunConfig, bases: Sequence[type], changes: Sequence[SettingsLayer]
) -> Iterator[str]:
    """What a class of another package lacks that a row of its base takes from its authors."""
    named = {module: name for name, module in registry.modules("federated").items()}
    known = (named[one.__module__] for one in bases if one.__module__ in named)
    base = next((one for one in known if authors.files("federated")[one].exists()), None)
    stated = {**cell.experiment, "method": base}
    given = merge(*(one for _, one in authors.layers(stated) if base))
    theirs = layered(changes, Layered(merge(given, stated), {})).settings
    ours = {"training": {**(run.objective or {}), **run.options}, "augmentation": run.augmentation}
    unlike = [path for path, _ in leaves(given) if get(ours, path) not in (None, get(theirs, path))]
    if unlike:
        takes = ", ".join(f"{path.rpartition('.')[2]} {get(theirs, path)}" for path in unlike)
        here = ", ".join(str(get(ours, path)) for path in unlike)
        said = f"{run.method} extends {base}, whose row takes its authors' {takes}"
        yield f"{said}; this one takes {here}"
