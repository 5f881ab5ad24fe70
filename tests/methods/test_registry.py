import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from fedrepro.methods import registry
from fedrepro.methods.encoders.base import Encoder
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.later import later
from fedrepro.methods.registry import UnknownNameError, class_in, find, module_of, names, names_in

KINDS = ["federated", "objective", "encoder", "partition"]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An importable package with the modules base, _private, one_thing and two_things."""
    folder = tmp_path / "found_by_name"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "base.py").write_text("class Base: ...\n")
    (folder / "_private.py").write_text("raise RuntimeError\n")
    (folder / "one_thing.py").write_text(
        "from found_by_name.base import Base\nclass One(Base): ...\nclass Helper: ...\n"
    )
    (folder / "two_things.py").write_text(
        "from found_by_name.base import Base\nclass A(Base): ...\nclass B(Base): ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield "found_by_name"
    for name in [n for n in sys.modules if n.startswith("found_by_name")]:
        del sys.modules[name]


@pytest.mark.parametrize("kind", KINDS)
def test_every_listed_name_is_found_and_its_class_is_the_modules_own(kind: str) -> None:
    for name in names(kind):
        assert find(kind, name).__module__ == module_of(kind, name)


def test_hyphens_in_names_stand_for_underscores_in_modules() -> None:
    assert "class-groups" in names("partition")
    assert module_of("partition", "class-groups") == "fedrepro.methods.data.partitions.class_groups"
    with pytest.raises(UnknownNameError, match="did you mean 'class-groups'"):
        find("partition", "class_groups")


def test_base_and_private_modules_are_not_contributions(package: str) -> None:
    assert names_in(package) == ["one-thing", "two-things"]


def test_a_file_is_found_as_soon_as_it_is_there(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = (package, f"{package}.base", "Base")
    monkeypatch.setitem(registry._BASES, "thing", base)
    assert find("thing", "one-thing").__name__ == "One"
    text = "from found_by_name.base import Base\nclass New(Base): ...\n"
    (tmp_path / package / "new.py").write_text(text)
    importlib.invalidate_caches()
    assert find("thing", "new").__name__ == "New"


def test_a_module_must_define_exactly_one_class(package: str) -> None:
    base = importlib.import_module(f"{package}.base").Base
    assert class_in(f"{package}.one_thing", base).__name__ == "One"
    with pytest.raises(TypeError, match="two_things must define exactly one Base, has 2"):
        class_in(f"{package}.two_things", base)


def test_an_unknown_name_lists_what_exists_and_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="encoder 'cnm' is not implemented") as caught:
        find("encoder", "cnm")
    assert caught.value.suggestions == ["cnn"]
    assert "known: " in str(caught.value)
    with pytest.raises(UnknownNameError) as far:
        module_of("encoder", "zzzzzz")
    assert far.value.suggestions == []
    assert "did you mean" not in str(far.value)


def test_a_class_is_made_with_its_own_options_and_lists_become_tuples() -> None:
    made = registry.make("encoder", "cnn", {"name": "cnn", "widths": [8, 16], "rounds": 3})
    assert made == CNN(widths=(8, 16))
    groups = registry.make(
        "partition", "class-groups", {"groups": [[0, 1], [2]], "count": 2, "n_major": 1}
    )
    assert groups.groups == ((0, 1), (2,))


@dataclass(frozen=True)
class Odd(Encoder):
    dim: int = 1
    weights: torch.Tensor | None = None


def test_a_field_that_no_setting_can_have_is_named() -> None:
    with pytest.raises(TypeError, match=r"test_registry\.Odd: .* 'weights', a torch\.Tensor"):
        registry.with_options(Odd, {"dim": 2})


def test_a_later_option_is_told_only_where_it_is_set() -> None:
    @dataclass(frozen=True)
    class Younger:
        old: int = 1
        new: tuple[float, ...] = later(())

    assert registry.options_of(Younger()) == {"old": 1}
    assert registry.options_of(Younger(new=(0.5,))) == {"old": 1, "new": [0.5]}
    assert registry.with_options(Younger, {"old": 1}) == Younger()


@pytest.mark.parametrize("kind", registry.kinds())
def test_options_of_what_is_made_make_it_again(kind: str) -> None:
    for name in registry.names(kind):
        made = registry.make(kind, name, {})
        options = registry.options_of(made)
        assert json.loads(json.dumps(options)) == options
        assert registry.make(kind, name, options) == made


def test_a_mistake_in_no_line_of_a_package_may_be_what_it_returns() -> None:
    said = registry.told(TypeError("x"), ["mypackage.mine", "fedrepro.methods.outcome"])
    assert said == "TypeError: x (in no line of mypackage: see what it returns)"
    assert registry.told(KeyError("x"), ["mypackage.mine"]) == "KeyError: 'x'"
