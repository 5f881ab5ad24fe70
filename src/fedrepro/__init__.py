"""fedrepro: what a published table says, and what its methods give when they are run again.

In a notebook or a script, which needs no `if __name__ == "__main__"`:

    import fedrepro

    fedrepro.papers()                                        # a data frame
    found = fedrepro.run("cpcfl", "smoke", tables=["11"])    # trains what the store lacks
    mine = fedrepro.judge("cpcfl", "mine.csv")               # results of your own
    mine.cells, mine.trials, mine.claims                     # long data frames
    fedrepro.report(mine, "my-report")                       # every format of docs/reports.md

docs/python.md has more. These names are the public ones, each imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from fedrepro.benchmark.version import __version__ as __version__

__all__ = [
    "FedreproError", "Paper", "Plan", "Report", "Results", "Store", "execute", "judge",
    "load_paper", "load_papers", "make_plan", "papers", "plan", "report", "run", "stored",
    "write_report",
]  # fmt: skip

_DEFINED_IN = {
    "_calls": ("judge", "papers", "plan", "report", "run", "stored"),
    "_results": ("Results",),
    "benchmark.errors": ("FedreproError",),
    "benchmark.execution.run": ("execute",),
    "benchmark.planning.plan": ("Plan", "make_plan"),
    "benchmark.results": ("Report",),
    "benchmark.spec.load": ("load_paper", "load_papers"),
    "benchmark.spec.model": ("Paper",),
    "benchmark.store.store": ("Store",),
    "reports.publish": ("write_report",),
}
_HOMES = {name: module for module, names in _DEFINED_IN.items() for name in names}

if TYPE_CHECKING:
    from fedrepro._calls import judge, papers, plan, report, run, stored
    from fedrepro._results import Results
    from fedrepro.benchmark.errors import FedreproError
    from fedrepro.benchmark.execution.run import execute
    from fedrepro.benchmark.planning.plan import Plan, make_plan
    from fedrepro.benchmark.results import Report
    from fedrepro.benchmark.spec.load import load_paper, load_papers
    from fedrepro.benchmark.spec.model import Paper
    from fedrepro.benchmark.store.store import Store
    from fedrepro.reports.publish import write_report
else:

    def __getattr__(name):
        """The public name, from the module that defines it (PEP 562)."""
        if name not in _HOMES:
            raise AttributeError(f"module 'fedrepro' has no attribute '{name}'")
        return getattr(import_module(f"fedrepro.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
