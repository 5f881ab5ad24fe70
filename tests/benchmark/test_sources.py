from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark import sources
from benchmark.config import RunConfig

Make = Callable[..., RunConfig]


@pytest.fixture
def package(tmp_path: Path) -> dict[str, Path]:
    """A package whose main module reaches two helpers, one of them lazily."""
    files = {
        "__init__.py": '"""Only words."""\nversion = "1"\n',
        "main.py": "from pkg import helper\nimport json\ndef f():\n    from .sub import lazy\n",
        "helper.py": "x = 1\n",
        "other.py": "y = 1\n",
        "typed.py": "z = 1\n",
        "sub/__init__.py": "from . import lazy\n",
        "sub/lazy.py": (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pkg import typed\n"
        ),
    }
    for name, text in files.items():
        file = tmp_path / "pkg" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return {"pkg": tmp_path / "pkg"}


def test_closure_follows_imports_lazy_and_relative_ones_too(package: dict[str, Path]) -> None:
    found = sources.closure(["pkg.main"], package)
    assert set(found) == {"pkg/main.py", "pkg/helper.py", "pkg/sub/__init__.py", "pkg/sub/lazy.py"}
    assert found["pkg/helper.py"] == hashlib.sha256(b"x = 1\n").hexdigest()


def test_line_ends_do_not_matter_but_content_does(package: dict[str, Path]) -> None:
    before = sources.closure(["pkg.main"], package)
    for content, edited in ((b"x = 1\r\n", []), (b"x = 2\n", ["pkg/helper.py"])):
        (package["pkg"] / "helper.py").write_bytes(content)
        sources._module.cache_clear()
        assert sources.changed(before, sources.closure(["pkg.main"], package)) == edited


def test_changed_names_files_that_came_and_went() -> None:
    assert sources.changed({"a": "1", "b": "1", "c": "1"}, {"b": "2", "c": "1", "d": "1"}) == [
        "a",
        "b",
        "d",
    ]


def test_a_run_depends_on_its_method_engine_data_and_partition(tiny_config: Make) -> None:
    found = set(sources.source_of(tiny_config()))
    assert {
        "methods/federated/fedavg.py",
        "methods/federated/base.py",
        "methods/engine/loop.py",
        "methods/engine/local.py",
        "methods/metrics/classification.py",
        "methods/models/layers.py",
        "methods/encoders/cnn.py",
        "methods/partitions/class_groups.py",
        "methods/seeds.py",
        "benchmark/training.py",
        "benchmark/stages/federated.py",
        "benchmark/data/loading.py",
        "benchmark/data/sets/digits.py",
    } <= found


def test_a_run_does_not_depend_on_what_judges_shows_or_belongs_to_others(
    tiny_config: Make,
) -> None:
    found = set(sources.source_of(tiny_config()))
    strangers = {
        "methods/federated/ifca.py",
        "methods/pretraining.py",
        "methods/objectives/simclr.py",
        "methods/encoders/resnet.py",
        "benchmark/data/sets/mnist.py",
        "benchmark/verdicts.py",
        "benchmark/results.py",
        "benchmark/plan.py",
        "benchmark/resolve.py",
        "benchmark/builder.py",
        "benchmark/overrides.py",
        "benchmark/store.py",
        "benchmark/executors/local.py",
        "benchmark/__init__.py",
    }
    assert not strangers & found
    assert not {file for file in found if file.startswith(("reports/", "benchmark/spec/"))}


def test_a_run_depends_on_the_source_of_its_start_but_not_the_reverse(tiny_config: Make) -> None:
    config = tiny_config({"pretraining": {"method": "simclr"}})
    assert config.start is not None
    later, start = sources.source_of(config), sources.source_of(config.start)
    assert set(start) < set(later)
    assert "methods/objectives/simclr.py" in start
    assert "methods/engine/loop.py" not in start


def test_an_edited_helper_makes_the_run_another_and_is_named(
    tiny_config: Make, tmp_path: Path
) -> None:
    folders = {}
    for name, folder in sources.package_folders().items():
        ignored = shutil.ignore_patterns("__pycache__")
        folders[name] = Path(shutil.copytree(folder, tmp_path / name, ignore=ignored))
    modules = list(sources._modules_of(tiny_config()))
    before = sources.closure(modules, folders)
    with (folders["methods"] / "state.py").open("a") as file:
        file.write("# edited\n")
    with (folders["methods"] / "federated" / "ifca.py").open("a") as file:
        file.write("# edited\n")
    sources._module.cache_clear()
    after = sources.closure(modules, folders)
    assert sources.changed(before, after) == ["methods/state.py"]
    assert sources.digest(before) != sources.digest(after)
