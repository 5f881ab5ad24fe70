"""fedrepro: what a published table says, and what its methods give when they are run again.

A script that judges what a store holds, and writes the report in every format:

    from fedrepro import Store, judge, load_paper, make_plan, write_report

    plan = make_plan(load_paper("cpcfl"), "reduced")
    report = judge(plan, Store("results/store"), command="judge.py")
    write_report([report], "my-report")

These names are the public ones, each imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "FedreproError", "Paper", "Plan", "Report", "Store", "execute", "judge", "load_paper",
    "load_papers", "make_plan", "write_report",
]  # fmt: skip

_HOMES = {
    "FedreproError": "benchmark.errors",
    "Paper": "benchmark.spec.model",
    "Plan": "benchmark.planning.plan",
    "Report": "benchmark.results",
    "Store": "benchmark.store.store",
    "execute": "benchmark.execution.run",
    "judge": "benchmark.judging.judge",
    "load_paper": "benchmark.spec.load",
    "load_papers": "benchmark.spec.load",
    "make_plan": "benchmark.planning.plan",
    "write_report": "benchmark.commands._judged",
}
"""The module that defines each name."""

if TYPE_CHECKING:
    from fedrepro.benchmark.commands._judged import write_report
    from fedrepro.benchmark.errors import FedreproError
    from fedrepro.benchmark.execution.run import execute
    from fedrepro.benchmark.judging.judge import judge
    from fedrepro.benchmark.planning.plan import Plan, make_plan
    from fedrepro.benchmark.results import Report
    from fedrepro.benchmark.spec.load import load_paper, load_papers
    from fedrepro.benchmark.spec.model import Paper
    from fedrepro.benchmark.store.store import Store
else:

    def __getattr__(name):
        """The public name, from the module that defines it (PEP 562)."""
        if name not in _HOMES:
            raise AttributeError(f"module 'fedrepro' has no attribute '{name}'")
        return getattr(import_module(f"fedrepro.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
