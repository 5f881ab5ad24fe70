from __future__ import annotations

import dataclasses
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

import fedrepro.methods.federated
import fedrepro.methods.objectives
from fedrepro.methods import declared, registry
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.objectives.simclr import SimCLR

REGISTERED = [(kind, name) for kind in registry.kinds() for name in registry.names(kind)]
SECTIONS = [
    ("fedrepro.methods.data.views.augment", "Augmentation"),
    ("fedrepro.methods.training.pretraining", "PretrainingOptions"),
]


def options_of(cls: Any) -> list[tuple[Any, ...]]:
    """Name, type and default of every field."""
    hints = typing.get_type_hints(cls)
    return [
        (one.name, hints[one.name], one.default, one.default_factory, one.init)
        for one in dataclasses.fields(cls)
    ]


@pytest.mark.parametrize(("kind", "name"), REGISTERED, ids="-".join)
def test_a_class_has_the_options_of_the_imported_one(kind: str, name: str) -> None:
    imported, read = registry.find(kind, name), declared.find(kind, name)
    assert options_of(read) == options_of(imported)
    taken = {one.name for one in dataclasses.fields(imported) if one.init}
    assert declared.option_names(kind, name) == taken
    assert (read.__module__, read.__qualname__) == (imported.__module__, imported.__qualname__)
    assert {one.__name__ for one in read.__mro__} <= {one.__name__ for one in imported.__mro__}
    for one in ("tests", "federated"):
        assert getattr(read, one, None) == getattr(imported, one, None)


@pytest.mark.parametrize(("kind", "name"), REGISTERED, ids="-".join)
def test_a_class_draws_views_where_the_imported_one_does(kind: str, name: str) -> None:
    imported, read = registry.find(kind, name), declared.find(kind, name)
    own = {one.name for one in dataclasses.fields(imported)}
    changes = [{}, *({one: True} for one in ("augments", "augmented") if one in own)]
    for change in changes:
        drawn = [getattr(cls(**change), "draws_views", None) for cls in (imported, read)]
        assert drawn[0] == drawn[1]
        assert drawn[0] or not change


@pytest.mark.parametrize("name", registry.names("federated"))
def test_a_method_decides_as_the_imported_one(name: str) -> None:
    cls, read = registry.find("federated", name), declared.find("federated", name)
    changes: list[dict[str, Any]] = [{}]
    own = {one.name for one in dataclasses.fields(cls)}
    changes += [{"objective": "swav"}] if "objective" in own else []
    changes += [{"client_norm": "group", "group_channels": 3}] if "client_norm" in own else []
    changes += [{"cut_layer": 1}] if "cut_layer" in own else []
    for change in changes:
        imported, made = cls(**change), read(**change)
        assert made.objective_name() == imported.objective_name()
        assert made.encoder_options() == imported.encoder_options()


@pytest.mark.parametrize(
    ("kind", "name", "options"),
    [
        ("federated", "mfcl", {"client_dropout": 1.0}),
        ("federated", "scaffold-ft", {"optimizer": "adam"}),
        ("encoder", "resnet", {"depth": 11}),
        ("encoder", "resnet", {"client_norm": "layer"}),
        ("encoder", "vgg", {"classifier": "large"}),
        ("partition", "quantity", {"count": 0}),
        ("partition", "quantity", {"classes": 0}),
        ("protocol", "saliency", {"left": 0}),
    ],
)
def test_a_class_refuses_what_the_imported_one_refuses(
    kind: str, name: str, options: dict[str, Any]
) -> None:
    said = []
    for cls in (declared.find(kind, name), registry.find(kind, name)):
        with pytest.raises(ValueError, match=r".") as caught:
            cls(**options)
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize(("module", "name"), SECTIONS)
def test_options_of_a_section_are_those_of_its_class(module: str, name: str) -> None:
    imported = getattr(__import__(module, fromlist=[name]), name)
    assert options_of(declared.value(module, name)) == options_of(imported)


def test_names_of_metrics_are_those_of_the_imported_modules() -> None:
    for module in registry.modules_in("fedrepro.methods.metrics").values():
        imported = __import__(module, fromlist=["METRICS"])
        assert declared.binds(module, "METRICS") == hasattr(imported, "METRICS")
        if hasattr(imported, "METRICS"):
            assert declared.value(module, "METRICS") == imported.METRICS


def test_reading_every_class_imports_nothing_that_computes() -> None:
    script = (
        "import sys\n"
        "from fedrepro.methods import declared, registry\n"
        "for kind in registry.kinds():\n"
        "    for name in registry.names(kind):\n"
        "        declared.find(kind, name)\n"
        "print(sorted({'torch', 'numpy', 'scipy', 'sklearn'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


METHOD = """
from __future__ import annotations
from dataclasses import dataclass
{imported}
from fedrepro.methods.federated.supervised.fedavg import FedAvg

{constant}


@dataclass(frozen=True)
class Made(FedAvg):
    share: float = SHARE
"""


@pytest.mark.parametrize(
    ("imported", "constant"),
    [("", "SHARE = 1 / 4"), ("import torch", "SHARE = torch.tensor(0.25).item()")],
)
def test_a_default_is_worked_out_by_import_where_it_has_to_be(
    imported: str, constant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "made_torch" if imported else "made_plain"
    text = METHOD.format(imported=imported, constant=constant)
    (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    package = fedrepro.methods.federated.supervised
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    module = f"{package.__name__}.{name}"
    assert declared.value(module, "Made")().share == 0.25
    assert (module in sys.modules) == bool(imported)


ODD = """
from __future__ import annotations
import dataclasses
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import ClassVar, Generic, Literal, TypeVar
from typing import ClassVar as CV
from fedrepro.methods.objectives.simclr import SimCLR
import fedrepro.methods.data.views.augment as views

T = TypeVar("T")
HIDDEN = field(init=False, default=1)

{given}
"""


@pytest.mark.parametrize(
    ("given", "own"),
    [
        ("@dataclass(frozen=True)\nclass Made(SimCLR):\n    a: int = 1\n    b: ClassVar[int] = 2\n",
         {"a"}),
        ("class Made(SimCLR):\n    a: int = 1\n", set()),
        ("@dataclasses.dataclass(frozen=True)\nclass Made(SimCLR):\n    a: int = 1\n", {"a"}),
        ("@dataclass(frozen=True)\nclass Made(SimCLR):\n    a: int = field(init=False, default=1)\n"
         "    b: int = field(default=2)\n", {"b"}),
        ("@dataclass(frozen=True)\nclass Made(SimCLR, views.Augmentation):\n    a: int = 1\n",
         {"a", *(one.name for one in dataclasses.fields(Augmentation))}),
        ("@dataclass(frozen=True)\nclass Made(SimCLR, Generic[T]):\n    a: int = 1\n", {"a"}),
        *(
            (f"@dataclass(frozen=True)\nclass Made(SimCLR):\n    b: int = 1\n    {line}\n", own)
            for line, own in [
                ("a: InitVar[int] = 3\n    def __post_init__(self, a): pass", {"b"}),
                ("a: CV[int] = 1", {"b"}),
                ("a: int = HIDDEN", {"b"}),
                ("a: int = field(**{'init': False, 'default': 1})", {"b"}),
                ("(a): int = 1", {"b"}),
                ("a: Literal['ClassVar', 'x'] = 'x'", {"a", "b"}),
                ("if True: a: int = 1", {"a", "b"}),
                ("__annotations__ |= {'a': 'int'}; a = 1", {"a", "b"}),
                ("__a: int = 1", {"b", "_Made__a"}),
                ("_: KW_ONLY\n    a: int = 1", {"a", "b"}),
                ("a: CV[int] = 1", {"b"}),
            ]
        ),
        ("@dataclass(frozen=True)\nclass Made(SimCLR):\n    temperature: ClassVar[float] = 3.0\n",
         {"-temperature"}),
    ],
)  # fmt: skip
def test_names_of_options_are_those_of_the_class_however_it_is_written(
    given: str, own: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"made_odd_{abs(hash(given)):x}"
    (tmp_path / f"{name}.py").write_text(ODD.format(given=given), encoding="utf-8")
    package = fedrepro.methods.objectives
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    above = {one.name for one in dataclasses.fields(SimCLR)} - {one[1:] for one in own}
    own = {one for one in own if not one.startswith("-")}
    registered = name.replace("_", "-")
    try:
        assert declared.option_names("objective", registered) == above | own
        made = registry.find("objective", registered)
        assert declared.option_names("objective", registered) == {
            one.name for one in dataclasses.fields(made) if one.init
        }
    finally:
        registry._FOUND.clear()
