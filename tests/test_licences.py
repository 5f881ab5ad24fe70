"""Every dependency is pinned in `constraints.txt`, and its licence is known and permissive.

`nox -s licences` prints the list.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest

pytest.importorskip("packaging")
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PERMISSIVE = re.compile(
    r"\b(MIT|BSD|Apache|PSF|Python Software Foundation|ISC|HPND|MPL|Mozilla|Zlib|Unlicense|CC0|0BSD"
    r"|MIT-CMU)\b|^Matplotlib|^PSF",
    re.IGNORECASE,
)
"""MPL asks only that changes to its own files stay open; nothing of it is copied here."""

KNOWN = {"torch": "BSD-3-Clause", "py-cpuinfo2": "MIT", "optype": "BSD-3-Clause"}
"""Licences that the metadata do not name in a word."""


def requirements() -> list[Requirement]:
    """All that fedrepro and its extras ask for by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [one for extra in project["optional-dependencies"].values() for one in extra]
    return [Requirement(text) for text in (*project["dependencies"], *extras)]


def installed() -> dict[str, Distribution]:
    """The packages that these bring here, directly or not, but for extras that are not here."""
    waiting, found = requirements(), dict[str, Distribution]()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        for text in found[name].requires or ():
            further = Requirement(text)
            if further.marker is None or any(
                further.marker.evaluate({"extra": extra}) for extra in ("", *wanted.extras)
            ):
                waiting.append(further)
    return dict(sorted(found.items()))


def licence_of(name: str, package: Distribution) -> str:
    """The licence as the package's metadata say it, in one line."""
    said = package.metadata
    classifiers = [
        text.rpartition(" :: ")[2]
        for text in said.get_all("Classifier") or ()
        if text.startswith("License ::") and text != "License :: OSI Approved"
    ]
    text = said.get("License-Expression") or KNOWN.get(name) or ", ".join(classifiers)
    return text or (said.get("License") or "unknown").strip().splitlines()[0][:60]


def pinned() -> dict[str, str]:
    """Name and version of every line of `constraints.txt`."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.partition("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, _, version in pairs}


def test_every_licence_is_known_and_permissive() -> None:
    listed = {name: licence_of(name, package) for name, package in installed().items()}
    for name, licence in listed.items():
        print(f"{name:<28}{installed()[name].version:<24}{licence}")
    assert {"torch", "numpy", "pydantic"} <= set(listed)
    assert {n: text for n, text in listed.items() if not PERMISSIVE.search(text)} == {}


def test_every_dependency_is_pinned() -> None:
    assert sorted(set(installed()) - set(pinned())) == []


def test_direct_dependencies_are_pinned_within_their_ranges() -> None:
    versions = pinned()
    direct = {canonicalize_name(one.name): one for one in requirements()}
    lacking = {
        name: str(one)
        for name, one in direct.items()
        if name in versions and versions[name] not in one.specifier
    }
    assert lacking == {}
