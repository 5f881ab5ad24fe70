from pathlib import Path

import pytest

from fedrepro.benchmark.store import fingerprint
from tests.benchmark.small_papers import Make


@pytest.fixture
def package(tmp_path: Path) -> dict[str, Path]:
    """A package whose main module reaches two helpers, one of them lazily."""
    files = {
        "__init__.py": '"""Only words."""\n__version__ = "1"\n',
        "main.py": "from pkg import helper\nimport json\ndef f():\n    from .sub import lazy\n",
        "helper.py": "x = 1\n",
        "other.py": "y = 1\n",
        "typed.py": "z = 1\n",
        "run.py": "import pkg.named\n",
        "named/__init__.py": "RATE = 1\n",
        "called/__init__.py": "print()\n",
        "sub/__init__.py": "from . import lazy\n",
        "sub/lazy.py": (
            "import typing\nif typing.TYPE_CHECKING:\n    from pkg import typed\nelse:\n"
            "    from .. import run\nif not typing.TYPE_CHECKING:\n    from ..called import *\n"
        ),
    }
    for name, text in files.items():
        file = tmp_path / "pkg" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return {"pkg": tmp_path / "pkg"}


def test_closure_follows_imports_lazy_and_relative_ones_too(package: dict[str, Path]) -> None:
    inner = "main.py helper.py run.py named/__init__.py called/__init__.py"
    inner += " sub/__init__.py sub/lazy.py"
    found = fingerprint.closure(["pkg.main"], package)
    assert set(found) == {f"pkg/{name}" for name in inner.split()}


BEFORE = """
SIZE = 3

def step(x: int, rate: float = 0.5) -> float:
    return x * rate + 1
"""
SAME = {
    "line ends": BEFORE.replace("\n", "\r\n"),
    "comments": BEFORE.replace("SIZE = 3", "SIZE = 3  # clients"),
    "layout": BEFORE.replace("x * rate + 1", "(\n        x * rate\n        + 1\n    )"),
    "docstrings": '"""Steps."""' + BEFORE.replace("    return", '    """A step."""\n    return'),
}
OTHER = {
    "a constant": BEFORE.replace("SIZE = 3", "SIZE = 4"),
    "the kind of a constant": BEFORE.replace("SIZE = 3", "SIZE = 3.0"),
    "an operator": BEFORE.replace("x * rate", "x / rate"),
    "a default": BEFORE.replace("= 0.5", "= 0.25"),
    "a lost default": BEFORE.replace(" = 0.5", ""),
    "a name": BEFORE.replace("SIZE", "WIDTH"),
    "nothing returned": BEFORE.replace("return x * rate + 1", "return"),
    "an order of operations": BEFORE.replace("x * rate + 1", "x * (rate + 1)"),
    "a further statement": BEFORE + "SIZE += 1\n",
}


def hashed(package: dict[str, Path], text: str) -> str:
    (package["pkg"] / "helper.py").write_bytes(text.encode())
    fingerprint._module.cache_clear()
    return fingerprint.closure(["pkg.main"], package)["pkg/helper.py"]


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_words_and_layout_make_nothing_stale(package: dict[str, Path], text: str) -> None:
    assert text != BEFORE
    assert hashed(package, text) == hashed(package, BEFORE)


@pytest.mark.parametrize("text", OTHER.values(), ids=OTHER)
def test_what_changes_results_makes_them_stale(package: dict[str, Path], text: str) -> None:
    assert text != BEFORE
    assert hashed(package, text) != hashed(package, BEFORE)


def test_a_fingerprint_does_not_hang_on_the_version_of_python(package: dict[str, Path]) -> None:
    text = "async def f(x, *, y=(None, ...)):\n    return f'{x!r:>{y}} {x[\"a\"]}' + u'a', -1.5e3\n"
    assert hashed(package, text)[:16] == "7e86c9e328f0c49b"  # seen with 3.11, 3.12 and 3.13


def test_changed_names_files_that_came_and_went() -> None:
    before, after = {"a": "1", "b": "1", "c": "1"}, {"b": "2", "c": "1", "d": "1"}
    assert fingerprint.changed(before, after) == ["a", "b", "d"]


def test_a_run_depends_on_what_trains_it_and_on_nothing_that_judges_or_belongs_to_others(
    tiny_config: Make,
) -> None:
    found = set(fingerprint.source_of(tiny_config()))
    own = """
        data/partitions/class_groups encoders/cnn federated/base federated/loop
        federated/supervised/fedavg metrics/classification nn/layers seeds training/local
    """
    harness = "data/loading data/sets/digits training/stages/federated training/training"
    strangers = """
        encoders/resnet federated/clustered/ifca objectives/simclr training/pretraining
    """
    of_harness = "__init__ data/sets/mnist execution judging planning results spec store/store"
    assert {f"methods/{name}.py" for name in own.split()} <= found
    assert {f"benchmark/{name}.py" for name in harness.split()} <= found
    outside = (*(f"methods/{name}" for name in strangers.split()), "reports/")
    outside += tuple(f"benchmark/{name}" for name in of_harness.split())
    assert [file for file in found if file.startswith(outside)] == []


def test_a_run_depends_on_the_source_of_its_start_but_not_the_reverse(tiny_config: Make) -> None:
    config = tiny_config({"pretraining": {"method": "simclr"}})
    assert config.init_from is not None
    later, start = fingerprint.source_of(config), fingerprint.source_of(config.init_from)
    assert set(start) < set(later)
    assert "methods/objectives/simclr.py" in start
    assert "methods/federated/loop.py" not in start
