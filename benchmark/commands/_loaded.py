"""Imports all that judging and writing papers needs, for processes to be forked with it.

Most of it is found by name, and would else be imported in each of them when a paper asks for it.
"""

from __future__ import annotations

import importlib
import pkgutil

_NAMED = (
    "fedrepro.benchmark.judging.judge",
    "fedrepro.benchmark.planning.plan",
    "fedrepro.benchmark.spec.load",
    "torch._dynamo",
)
"""The last is what torch imports, in a second and 60 MB, when it first counts operators."""
_PACKAGES = (
    "methods",
    "fedrepro.benchmark.analytic",
    "fedrepro.benchmark.audit",
    "fedrepro.benchmark.data",
    "reports",
)

for _name in _NAMED:
    importlib.import_module(_name)
for _package in _PACKAGES:
    _folders = importlib.import_module(_package).__path__
    for _module in pkgutil.walk_packages(_folders, f"{_package}."):
        importlib.import_module(_module.name)
