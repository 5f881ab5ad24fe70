"""Say what is installed, and which data are there."""

import argparse
from collections.abc import Iterator

from fedrepro.benchmark.errors import FedreproError, MissingDataError
from fedrepro.benchmark.store.store import Store
from fedrepro.benchmark.version import __version__, commit
from fedrepro.commands import _options as options
from fedrepro.commands._terminal import paint

EXAMPLE = "fedrepro doctor --data-dir data"
ARGUMENTS = (options.SPECS, *options.PLACES)


def execute(args: argparse.Namespace) -> int:
    """Prints the diagnosis; 2 if data or records of trials are damaged, else 0."""
    from fedrepro.benchmark.data.own import torchvision_sets
    from fedrepro.benchmark.execution.executors import ExecutorOptions
    from fedrepro.benchmark.execution.executors.local import LocalExecutor
    from fedrepro.benchmark.training.training import device_name, versions

    here = LocalExecutor(ExecutorOptions(None, "auto", jobs=None))
    devices = {name: device_name(name) for name in dict.fromkeys(("cpu", *here.devices))}
    devices["CUDA"] = "no" if here.device == "cpu" else "yes"
    devices["processes"] = f"{here.workers} by default"
    damaged = list[str]()
    stored = sum(1 for _ in Store(args.store, warn=damaged.append).records())
    installed = {"fedrepro": f"{__version__}, commit {commit() or 'unknown'}", **versions()}
    try:
        torchvision_sets()
    except FedreproError as error:  # only `--on torchvision:NAME` needs it
        installed["torchvision"] = f"{installed.get('torchvision', 'missing')}; {error}"
    found = {
        "installed": installed,
        "devices": devices,
        "store": {str(args.store): "; ".join((f"{stored} finished trials", *damaged))},
        "data": dict(_data(args)),
    }
    for title, facts in found.items():
        print(f"{title}:")
        for name, fact in facts.items():
            word, colon, rest = fact.partition(":")
            print(f"  {name:<24}{paint(word)}{colon}{rest}")
    damaged += [fact for fact in found["data"].values() if fact.startswith("damaged")]
    return 2 if damaged else 0


def _data(args: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Each part of each set, of a family of one set: read whole, so that damage shows."""
    from fedrepro.benchmark import data, data_names

    for name in {module: name for name, module in data_names.modules().items()}.values():
        known = None if data_names.is_own(name) else data.find(name)
        for part in ("train", "test") if known is None or known.n_classes else ("unlabeled",):
            try:
                found = data.load(name, part, data_dir=args.data_dir)
            except MissingDataError as error:
                yield f"{name}/{part}", f"missing: {known.how_to_get() if known else error}"
            except FedreproError as error:
                yield f"{name}/{part}", f"damaged: {error}"
            else:
                whose = "the release" if known and found.is_release else found.note or found.source
                yield f"{name}/{part}", f"ok: {len(found.portion)} images, {whose}"
