"""Every dependency is pinned in `constraints.txt`, most by hash, with a known permissive licence.
`nox -s licences` prints the list."""

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

FONTS = "Bitstream Vera and Arev font licences (DejaVu), SIL Open Font License 1.1 (STIX)"
"""Of pictures of characters; both allow that they are part of other software."""

KNOWN = {"torch": "BSD-3-Clause", "optype": "BSD-3-Clause"}
"""Licences that the metadata do not name in a word."""

CUDA_OF_TORCH = {
    canonicalize_name(Requirement(text).name)
    for text in distribution("torch").requires or ()
    if text.startswith(("nvidia", "cuda", "triton"))
}
"""Packages that only torch's GPU builds bring, each pinned by torch itself."""


def requirements(*extras: str) -> list[Requirement]:
    """What fedrepro and these extras ask for by name; all extras if none is given."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    wanted = [one for extra in extras or optional for one in optional[extra]]
    return [Requirement(text) for text in (*project["dependencies"], *wanted)]


def installed(*extras: str) -> dict[str, Distribution]:
    """The packages that these bring here, directly or not, but for those that are not here."""
    waiting, found = requirements(*extras), dict[str, Distribution]()
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
    said = package.metadata
    classifiers = [
        text.rpartition(" :: ")[2]
        for text in said.get_all("Classifier") or ()
        if text.startswith("License ::") and text != "License :: OSI Approved"
    ]
    text = said.get("License-Expression") or KNOWN.get(name) or ", ".join(classifiers)
    return text or (said.get("License") or "unknown").strip().splitlines()[0][:60]


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.partition("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, _, version in pairs}


def hashed(file: str) -> dict[str, tuple[str, list[str]]]:
    """Version and SHA-256 of every package that a file holds to its hashes."""
    text = re.sub(r"^#.*\n", "", (ROOT / file).read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").split("\n")
    found = {}
    for line in filter(None, lines):
        pin, *hashes = line.split()
        name, _, version = pin.partition("==")
        found[canonicalize_name(name)] = version, hashes
    return found


def test_every_licence_is_known_and_permissive() -> None:
    packages = installed()
    listed = {name: licence_of(name, package) for name, package in packages.items()}
    for name, licence in listed.items():
        print(f"{name:<28}{packages[name].version:<24}{licence}")
    assert {"torch", "numpy", "pydantic"} <= set(listed)
    assert {n: text for n, text in listed.items() if not PERMISSIVE.search(text)} == {}


def test_data_that_come_with_fedrepro_have_their_licence_beside_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {path for pattern in project["license-files"] for path in ROOT.glob(pattern)}
    folders = [path for path in (ROOT / "benchmark/data/excerpts").iterdir() if path.is_dir()]
    assert folders
    for folder in folders:
        text = (folder / "LICENSE").read_text(encoding="utf-8").splitlines()[0]
        print(f"{folder.name:<52}{text}")
        assert PERMISSIVE.search(text) or text.startswith(FONTS), folder
        assert folder / "LICENSE" in named
    assert project["license"] == "Apache-2.0 AND MIT AND Bitstream-Vera AND OFL-1.1"


def test_every_dependency_is_pinned_within_its_range() -> None:
    versions = pinned()
    assert sorted(set(installed()) - set(versions)) == []
    direct = {canonicalize_name(one.name): one.specifier for one in requirements()}
    assert [n for n, range in direct.items() if n in versions and versions[n] not in range] == []


@pytest.mark.parametrize("file", ["hashes.txt", ".ci/requirements.txt"])
def test_every_line_of_a_locked_file_has_hashes(file: str) -> None:
    held = hashed(file)
    assert held
    for name, (version, hashes) in held.items():
        assert version and hashes, name  # noqa: PT018
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes), name


def test_all_that_tests_install_is_held_by_hash_but_for_torch() -> None:
    held, versions = hashed("hashes.txt"), pinned()
    assert set(installed("test")) - set(held) <= {"torch", "torchvision"} | CUDA_OF_TORCH
    assert [name for name, (version, _) in held.items() if versions[name] != version] == []
