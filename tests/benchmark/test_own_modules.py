import importlib
import py_compile
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.spec import authors, names, settings
from fedrepro.benchmark.spec.settings import merge
from fedrepro.benchmark.store import fingerprint
from fedrepro.benchmark.store.fingerprint import unfollowed
from fedrepro.cli import main
from fedrepro.methods import registry
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from tests.benchmark.small_papers import TINY, Make, as_published

MODULE = '''"""Federated averaging that keeps a share of the old model."""

from dataclasses import dataclass

from fedrepro.methods.federated.supervised.fedavg import FedAvg
from ownpackage.shares import mixed


@dataclass(frozen=True)
class Kept(FedAvg):
    keep: float = 0.0

    def aggregate(self, now, server, upload):
        return mixed(server, super().aggregate(now, server, upload), self.keep)
'''
HELPER = """
def mixed(old, new, share):
    return {name: share * old[name] + (1 - share) * new[name] for name in new}
"""
PAGE = (Path(__file__).parents[2] / "docs/adding-a-method.md").read_text("utf-8")
GUIDE = next(one for one in PAGE.split("```") if "class MyProx" in one).removeprefix("python\n")
NAME = "ownpackage.kept"
SMALL = ("--set", "clients.count=2", "--set", "clients.test_size=10", "--trials", "1")
Said = pytest.CaptureFixture[str]


def forget() -> None:
    """What was found of modules of one's own in this process."""
    for name in [one for one in sys.modules if one.startswith(("ownpackage", "ownlib"))]:
        del sys.modules[name]
    importlib.invalidate_caches()
    for cached in (names._own, registry.class_in, fingerprint._module_of, fingerprint._module):
        cached.cache_clear()
    for cached in (fingerprint.source_of, fingerprint._hashes, fingerprint._beside):
        cached.cache_clear()


def edit(file: Path, text: str) -> None:
    """What a later process finds in a module."""
    file.write_text(text)
    forget()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with a method and what that imports, in the folder where one stands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    forget()
    folder = tmp_path / "ownpackage"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "kept.py").write_text(MODULE)
    (folder / "shares.py").write_text(HELPER)
    yield folder
    forget()


def write_paper(method: str, more: str = "") -> None:
    Path("t.csv").write_text("Method,Accuracy\nOurs,70.0\n")
    assert main(["new-table", "t.csv", "--paper", "mine", "--table", "1"]) == 0
    spec = Path("tables/mine/1.toml")
    text = spec.read_text("utf-8")
    skipped = next(line for line in text.splitlines() if line.startswith("skip"))
    spec.write_text(text.replace(skipped, f'method = "{method}"\n{more}'), "utf-8")


def test_a_module_is_found_where_one_stands_and_hides_nothing(package: Path) -> None:
    assert registry.is_module(NAME)
    assert NAME not in sys.modules
    assert registry.find("federated", NAME).__name__ == "Kept"
    assert sys.path[-1] == str(package.parent)
    for name in ("kept", "ownpackage.nothing", "nopackage.kept", "fedrepro.cli", "idlelib.idle"):
        assert not registry.is_module(name)
    with pytest.raises(registry.UnknownNameError, match=r"ownpackage\.nothing"):
        registry.module_of("federated", "ownpackage.nothing")


def test_what_a_class_lacks_of_the_settings_of_its_bases_authors_is_said(package: Path) -> None:
    def said(method: str, **training: object) -> tuple[str, ...]:
        own = {"method": method, "training": {"batch_size": 64, "learning_rate": 0.1, **training}}
        return as_published(merge(TINY, own), "accuracy").cautions

    takes = "whose row takes its authors' optimizer sgd, sgd_momentum 0.9; this one takes adam, 0.0"
    assert said(NAME, weight_decay=0.1) == (f"{NAME} extends fedavg, {takes}",)
    assert said("fedavg") == said("fedprox") == ()
    more = "\n    @property\n    def exchanges(self):\n        return 3 * self.rounds\n"
    (package / "more.py").write_text(MODULE + more)
    assert f"{NAME[:-4]}more trains 6 rounds, where `rounds` is 2" in said(f"{NAME[:-4]}more")
    assert said(NAME, weight_decay=0.0, optimizer="adamw", sgd_momentum=0.5) == ()


def test_a_broken_package_ends_no_command_and_is_named(
    package: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {
        "raises": "ownpackage.raises",
        "leaves": "ownpackage.leaves",
        "gone": "ownpackage.gone.further",
        "empty": "ownpackage.shares",
        "fedavg": NAME,
        "kept": NAME,
        "twice": NAME,
    }
    (package / "raises.py").write_text("raise RuntimeError('\\x1b[2J boom')")
    (package / "leaves.py").write_text("raise SystemExit(7)")
    points = [EntryPoint(name, at, "fedrepro.federated") for name, at in given.items()]
    points.append(EntryPoint("twice", "ownpackage.other", "fedrepro.federated"))

    def found(*, group: str) -> list[EntryPoint]:
        return [one for one in points if one.group == group]

    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(registry, "entry_points", found)
    caches = (registry._installed, settings.registered, settings.is_known, authors.files)
    for one in caches:
        one.cache_clear()
    try:
        assert main(["check", "fcl"]) == 0
        said = capsys.readouterr().err
        assert main(["methods", "kept"]) == 0
        shown = capsys.readouterr()
    finally:
        for one in caches:
            one.cache_clear()
    assert "ownpackage/kept.py" in shown.out
    assert shown.err == said
    assert [line.split("'")[1] for line in said.splitlines()] == [
        "empty", "fedavg", "gone", "leaves", "raises", "twice",
    ]  # fmt: skip
    assert "'fedavg' is left out: ownpackage.kept: the name is one of fedrepro's own" in said
    assert "ownpackage.kept, ownpackage.other: two packages give the name" in said
    assert "RuntimeError: \ufffd[2J boom" in said


@pytest.mark.parametrize(("code", "option"), [(MODULE, "keep"), (GUIDE, "proximal_weight")])
def test_a_spec_names_it_with_its_options_and_it_trains(
    code: str, option: str, package: Path, capsys: Said
) -> None:
    (package / "kept.py").write_text(code)
    write_paper(NAME, f"training.{option} = 0.5\n")
    assert main(["check", "mine"]) == 0
    assert main(["run", "mine", "--profile", "smoke", "--jobs", "0", *SMALL]) == 0
    assert "1 trained" in capsys.readouterr().err


def test_wrong_options_and_broken_modules_are_lines_of_a_check(package: Path, capsys: Said) -> None:
    write_paper(NAME, "training.keeps = 0.5\n")
    assert main(["check", "mine"]) == 2
    assert "1.toml:" in (said := capsys.readouterr().err)
    assert "keeps" in said
    edit(package / "kept.py", "import nothing_of_that_name\n" + MODULE)
    assert main(["check", "mine"]) == 2
    said = capsys.readouterr().err
    assert f"method '{NAME}' cannot be used: ModuleNotFoundError" in said
    assert "(ownpackage/kept.py:1, in <module>)" in said
    hooked = "    def __post_init__(self): {}['x']\n\n    def aggregate"
    (package / "kept.py").write_text(MODULE.replace("    def aggregate", hooked))
    (spec := Path("tables/mine/1.toml")).write_text(spec.read_text().replace("keeps", "keep"))
    forget()
    assert main(["check", "mine"]) == 2
    assert "KeyError: 'x' (ownpackage/kept.py:13, in __post_init__)" in capsys.readouterr().out


@pytest.mark.usefixtures("package")
def test_a_module_that_is_not_there_is_a_loud_line_and_a_program_no_method(capsys: Said) -> None:
    write_paper("ownpackage.later")
    assert main(["check", "mine"]) == 1
    assert "NOT IMPLEMENTED: method 'ownpackage.later'" in capsys.readouterr().out
    shutil.rmtree("tables")
    write_paper("numpy.f2py.__main__")
    assert main(["check", "mine"]) == 2
    assert "method 'numpy.f2py.__main__' cannot be used: " in capsys.readouterr().err


def test_a_module_that_another_package_hides_is_named_with_it(package: Path, capsys: Said) -> None:
    other = package.parent / "beside" / "ownpackage.py"
    other.parent.mkdir()
    other.touch()
    sys.path.insert(0, str(other.parent))
    write_paper(NAME)
    assert main(["check", "mine"]) == 2
    said = f"method '{NAME}' cannot be used: ownpackage/kept.py is not found, since Python finds "
    assert f"{said}another 'ownpackage' first ({other})" in capsys.readouterr().err


@pytest.mark.parametrize(
    "said",
    ["keep: of 'ownpackage.kep'; did you mean 'ownpackage.kept'?",
     "round: of 'later'; or did you mean 'training.rounds'?"],
)  # fmt: skip
def test_a_key_of_a_missing_module_names_it(said: str, package: Path, capsys: Said) -> None:
    write_paper(said.split("'")[1], f"training.{said.partition(':')[0]} = 1\n")
    assert main(["check", "mine"]) == 2
    told = capsys.readouterr().err.replace("may be an option of method", "of")
    assert f"].training.{said}\n" in told.replace(", which does not exist", "")


@pytest.mark.parametrize("helper", ["ownpackage/shares.py", "ownlib.py", "ownlib/mix.py"])
def test_its_sources_are_part_of_the_fingerprint(
    helper: str, package: Path, tiny_config: Make
) -> None:
    """Those outside of its package are on a path that it adds itself as it is imported."""
    place = package.parent / ("" if "package" in helper else "vendored") / helper
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(HELPER)
    origin = f"import sys\nsys.path.append('vendored')\nfrom {helper[:-3].replace('/', '.')}"
    (package / "kept.py").write_text(MODULE.replace("from ownpackage.shares", origin))
    config = tiny_config({"method": NAME})
    before = fingerprint.source_of(config)
    assert {"ownpackage/kept.py", helper, "methods/state.py"} <= set(before)
    edit(place, HELPER.replace("1 - share", "1.0 - share"))
    assert fingerprint.changed(before, fingerprint.source_of(config)) == [helper]


@pytest.mark.parametrize("verb", ["check", "run", "regress"])
@pytest.mark.parametrize(
    "ending", ["import sys\nsys.exit(0)", "\nraise KeyboardInterrupt", "\nraise GeneratorExit"]
)
def test_a_module_that_would_end_the_command_is_an_error_with_its_file_and_line(
    package: Path, capsys: Said, verb: str, ending: str
) -> None:
    write_paper(NAME)
    edit(package / "kept.py", ending)
    record = ["--record", "--baselines", "b"] if verb == "regress" else []
    assert main([verb, "mine", *record]) == 2
    said = capsys.readouterr().err
    assert re.search(rf"method '{NAME}' cannot be used: ImportError: \S+kept\.py:2 raises", said)


@pytest.mark.parametrize("jobs", ["0", pytest.param("1", marks=pytest.mark.slow)])
def test_a_mistake_shows_its_file_and_line_wherever_it_is_told(
    jobs: str, package: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    write_paper(NAME)
    edit(package / "shares.py", HELPER.replace("new[name]", "new[nome]"))
    run = ["run", "mine", "--profile", "smoke", "--jobs", jobs, "--out", "told", *SMALL]
    assert main(run) == 2
    said = capsys.readouterr()
    mistake = "NameError: name 'nome' is not defined (ownpackage/shares.py:3, in "
    junit = Path("told/report.junit.xml").read_text("utf-8").replace("&lt;", "<")
    page = Path("told/report.html").read_text("utf-8").replace("&#39;", "'")
    for told in (said.out, said.err, junit, page):
        assert mistake in told
    (file,) = re.findall(r"whole traceback: (errors/\S+) of the store", said.err)
    assert "in aggregate" in (Path("results/store") / file).read_text("utf-8")
    assert "Traceback" not in said.err
    assert ("\x1b[" in said.err) == (jobs != "0"), "a bar would hide a debugger's prompt"
    assert main([*run, "-v"]) == 2
    assert 'shares.py", line 3' in capsys.readouterr().err


@pytest.mark.parametrize("jobs", ["0", "1"])
def test_a_method_that_leaves_as_it_trains_does_not_end_the_command_well(
    package: Path, capsys: Said, jobs: str
) -> None:
    write_paper(NAME)
    leaving = MODULE.replace("return mixed", "sys.exit(0)\n        return mixed")
    edit(package / "kept.py", "import sys\n" + leaving)
    assert main(["run", "mine", "--profile", "smoke", "--jobs", jobs, *SMALL]) == 2
    said = capsys.readouterr().err
    assert "trial 0: SystemExit: 0 (ownpackage/kept.py:15, in aggregate)" in said


def test_declared_files_are_part_of_the_fingerprint_and_others_are_told(
    package: Path, tiny_config: Make
) -> None:
    config = tiny_config({"method": NAME})
    reading = "import json, os\nfrom pathlib import Path\n" + HELPER
    reading += "SHARES = json.load(open(Path(__file__).with_name('shares.json')))\n"
    reading += "MORE = os.environ.get('MORE')\nOTHER = Path('other.json').read_text()\n"
    Path("other.json").write_text("[]")
    (package / "shares.json").write_text("[1]")
    (package / "shares.py").write_text(reading)
    told = unfollowed([config])
    assert {line.split(" finds")[0] for line in told} == {
        "ownpackage/shares.py:6: what reading 'shares.json'",
        "ownpackage/shares.py:7: what os.environ",
        "ownpackage/shares.py:8: what reading 'other.json'",
    }
    edit(package / "shares.py", 'reads: list[str] = ["shares.json"]\n' + reading)
    before = fingerprint.source_of(config)
    assert [line.split(" finds")[0] for line in unfollowed([config])] == [
        "ownpackage/shares.py:8: what os.environ",
        "ownpackage/shares.py:9: what reading 'other.json'",
    ]
    edit(package / "shares.json", "[2]")
    assert fingerprint.changed(before, fingerprint.source_of(config)) == ["ownpackage/shares.json"]
    (package / "shares.json").unlink()
    forget()
    with pytest.raises(FedreproError, match=r"declares that it reads shares\.json"):
        fingerprint.source_of(config)


def test_a_module_that_replaces_a_part_of_fedrepro_is_refused(package: Path, capsys: Said) -> None:
    write_paper(NAME)
    patch = "FedAvg.aggregate = lambda self, now, server, upload: dict(server)\n"
    whole, kept = MODULE + patch, FedAvg.aggregate
    edit(package / "kept.py", whole)
    try:
        assert main(["run", "mine", "--profile", "smoke", "--jobs", "0"]) == 2
    finally:
        FedAvg.aggregate = kept  # type: ignore[method-assign]
    assert f"{NAME} replaces aggregate of " in capsys.readouterr().err


@pytest.mark.parametrize("line", [
    "from importlib import import_module", "from json import load", "f = lambda: np.genfromtxt",
    "f = lambda: pd.read_parquet", "f = lambda: Kept.__doc__", "f = lambda: inspect.getdoc",
    "f = lambda: pkgutil.resolve_name", "f = lambda: subprocess.check_output",
])  # fmt: skip
def test_what_cannot_be_followed_is_told(line: str, package: Path, tiny_config: Make) -> None:
    (package / "shares.py").write_text(f"{line}\n{HELPER}")
    (told,) = unfollowed([tiny_config({"method": NAME})])
    assert re.match(rf"ownpackage/shares.py:1: what (\w+\.)?{line.split()[-1]} finds", told)


@pytest.mark.parametrize("kind", ["compiled", "zipped", "second folder"])
def test_an_own_module_without_a_source_that_is_followed_is_told(
    kind: str, package: Path, tiny_config: Make
) -> None:
    folders = [package.parent / "first", package.parent / "second"]
    names = [folder / "ownlib" / f"{name}.py" for folder, name in zip(folders, "ab", strict=True)]
    for place in names:
        place.parent.mkdir(parents=True)
        place.write_text(HELPER)
    if kind != "second folder":
        (names[1].parent / "__init__.py").write_text('"""Of one\'s own."""\n__version__ = "3"\n')
        folders = folders[1:]
    if kind == "compiled":
        py_compile.compile(str(names[1]), str(names[1].with_suffix(".pyc")), doraise=True)
        names[1].unlink()
    if kind == "zipped":
        folders = [Path(shutil.make_archive("lib", "zip", folders[0]))]
    origin = f"import sys\nsys.path += {[*map(str, folders)]}\nfrom ownlib.b"
    (package / "kept.py").write_text(MODULE.replace("from ownpackage.shares", origin))
    config = tiny_config({"method": NAME})
    told = [one.split(" finds")[0] for one in unfollowed([config]) if "importing" in one]
    of = names[1].name if kind != "compiled" else "b.pyc"
    assert told == [f"ownpackage/kept.py:1: what importing ownlib.b from {of}"]


def test_a_package_that_says_more_than_what_it_is_counts(package: Path, tiny_config: Make) -> None:
    (package / "__init__.py").write_text("__all__ = ['kept']\n__version__ = '2'\n")
    assert "ownpackage/__init__.py" not in fingerprint.source_of(tiny_config({"method": NAME}))
    forget()
    (package / "__init__.py").write_text("__version__ = RATE = 0.3\n")
    assert "ownpackage/__init__.py" in fingerprint.source_of(tiny_config({"method": NAME}))
