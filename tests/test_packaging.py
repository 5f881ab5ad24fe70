"""What is installed: an sdist, the wheel built from it, and its use far from the repository."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmark", "methods", "reports")
FACE = Path("src/fedrepro")
HOSTILE = "raise ImportError('the folder of a user was imported in place of fedrepro')\n"

JUDGE = """
import fedrepro

found = fedrepro.stored("cpcfl", "smoke", tables=["3"], rows="FedAvg|None")
fedrepro.report(found, "judged")
print(len(found.cells), found.cells["mean"].count())
"""

PACKAGE = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "mypackage"
version = "1"

[tool.setuptools]
packages = ["mypackage"]

"""


def run(command: Sequence[str | Path], folder: Path) -> str:
    """What a command prints; it fails with all that it said."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "FEDREPRO"))}
    env, told = clean | {"OMP_NUM_THREADS": "1"}, {"capture_output": True, "text": True}
    done = subprocess.run([*map(str, command)], cwd=folder, env=env, timeout=600, **told)
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def in_bash(scripts: Path, commands: str, folder: Path) -> str:
    """What lines of bash print in which `fedrepro` is the command of an environment."""
    return run(["env", f"PATH={scripts}:/usr/bin:/bin", "bash", "-ec", commands], folder)


def installed_place(file: Path) -> str:
    """Where a source file of the repository lies in a wheel."""
    if file.is_relative_to(FACE):
        return f"fedrepro/{file.relative_to(FACE)}"
    return f"fedrepro/{file}"


def sources() -> set[Path]:
    """Every file that an installed fedrepro needs, as it lies in the repository."""
    code = {file for folder in (*FOLDERS, FACE) for file in (ROOT / folder).rglob("*.py")}
    specs = {
        file
        for folder in ("benchmark", "methods", "reports", "tables")
        for file in (ROOT / folder).rglob("*.toml")
    } | {*(ROOT / "tables").glob("*/headroom.json")}
    excerpts = (ROOT / "benchmark/data/excerpts").glob("*/*")
    scripts = {*(ROOT / "benchmark/spec").iterdir()} - {ROOT / "benchmark/spec/__pycache__"}
    names = ("reports/templates", FACE / "templates", "results/baselines")
    folders = (ROOT / name for name in names)
    data = {*specs, *excerpts, *scripts, *(file for one in folders for file in one.iterdir())}
    guides = {file for file in (ROOT / "docs").rglob("*.*") if "site" not in file.parts}
    return {file.relative_to(ROOT) for file in code | data | guides | {ROOT / FACE / "py.typed"}}


def not_copied(folder: str, names: list[str]) -> set[str]:
    """What lies in a checkout without belonging to it."""
    if Path(folder) == ROOT:
        own = {".git", ".nox", "build", "data", "dist"}
        return {name for name in names if name in own or name.startswith(".venv")}
    if Path(folder) == ROOT / "results":
        return set(names) - {"baselines", "published"}
    return {name for name in names if name == "__pycache__"}


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("build")
    place = tmp_path_factory.mktemp("sdist")
    shutil.copytree(ROOT, place / "checkout", ignore=not_copied)
    here = [sys.executable, "-m", "build", "--no-isolation", "--outdir", place]
    run([*here, "--sdist", place / "checkout"], place)
    (packed,) = place.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(place, filter="data")
    return place / packed.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> Path:
    run([sys.executable, "-m", "build", "--no-isolation", "--wheel", sdist], sdist)
    (built,) = (sdist / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment with the wheel, and this one's dependencies."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False, symlinks=True)
    (inside,) = place.glob("lib/python*/site-packages")
    shared = [path for path in sys.path if Path(path).name == "site-packages"]
    (inside / "shared.pth").write_text("\n".join(shared))
    target = ["--python", place / "bin/python"]
    run([sys.executable, "-m", "pip", *target, "install", "--no-deps", wheel], place)
    return place / "bin"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A research repository with folders of the same names as ours."""
    for name in ("methods", "benchmark", "reports", "tests", "tables"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(HOSTILE)
    return tmp_path


def test_every_folder_with_code_is_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr("setuptools.setup", given.update)
    monkeypatch.chdir(ROOT)
    runpy.run_path("setup.py")
    wanted = {str(Path(installed_place(file)).parent) for file in sources() if file.suffix == ".py"}
    named = {name.replace(".", "/") for name in given["packages"]}
    assert named == {*wanted, "fedrepro/tables", "fedrepro/docs", "fedrepro/results"}


def test_links_between_guides_hold_as_a_wheel_carries_them() -> None:
    held = {installed_place(file) for file in sources()}
    held |= {str(folder) for file in held for folder in Path(file).parents}
    guides = [file for file in sources() if file.parts[0] == "docs" and file.suffix == ".md"]
    dead = [
        f"{guide}: {target}"
        for guide in guides
        for target in re.findall(r"\]\((?!https?://)([^)#\s]+)", (ROOT / guide).read_text("utf-8"))
        if os.path.normpath(Path(installed_place(guide)).parent / target) not in held
    ]
    assert len(guides) > 20
    assert dead == []


@pytest.mark.slow
def test_a_wheel_holds_all_that_runs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if not name.split("/")[0].endswith("info")}
    assert held == {installed_place(file) for file in sources()}


@pytest.mark.slow
def test_away_from_the_repository_user_folders_hide_nothing(scripts: Path, elsewhere: Path) -> None:
    python, command = scripts / "python", scripts / "fedrepro"
    where = run([python, "-c", "import fedrepro; print(fedrepro.__file__)"], elsewhere)
    assert Path(where.strip()).is_relative_to(scripts.parent)
    assert "cpcfl" in run([command, "list"], elsewhere)
    assert run([python, "-m", "fedrepro", "list"], elsewhere) == run([command, "list"], elsewhere)

    one_row = ["--tables", "3", "--rows", "FedAvg|None"]
    run([command, "run", "cpcfl", *one_row, "--profile", "smoke", "--jobs", "1"], elsewhere)

    (elsewhere / "judge.py").write_text(JUDGE)
    assert run([python, "judge.py"], elsewhere).split() == ["4", "4"]
    assert (elsewhere / "judged/report.html").is_file()


@pytest.mark.slow
def test_the_guide_to_tables_is_followed_literally_in_an_empty_folder(
    scripts: Path, tmp_path: Path
) -> None:
    """Every command of docs/adding-a-table.md in its order; only the printed table is given."""
    commands = "".join(blocks("adding-a-table.md", "bash"))
    assert "fedrepro new-table table7.csv" in commands
    (tmp_path / "table7.csv").write_text("Method,Accuracy\nFedAvg,70.0\nFedProx,72.0\n")
    told = in_bash(scripts, commands, tmp_path)
    assert f"wrote {tmp_path / 'tables' / 'mypaper' / '7.toml'}" in told
    assert "again: fedrepro run mypaper --tables 7" in told
    assert (tmp_path / "results/reports/mypaper-smoke/report.html").is_file()


@contextmanager
def installed(scripts: Path, folder: Path) -> Iterator[None]:
    """For a block: the package of a folder is installed, so that it can be edited."""
    pip = [sys.executable, "-m", "pip", "--python", scripts / "python"]
    run([*pip, "install", "--no-deps", "--no-build-isolation", "--editable", folder], folder)
    try:
        yield
    finally:
        run([*pip, "uninstall", "--yes", "mypackage"], folder)


@pytest.fixture
def project(scripts: Path, tmp_path: Path) -> Path:
    """The folder that `new-project` makes."""
    run([scripts / "fedrepro", "new-project", "mine"], tmp_path)
    return tmp_path / "mine"


LATEX = r"""\begin{tabular}{lcc} \toprule
Method & CIFAR-10 & STL-10 \\ \midrule
FedAvg & 61.2 $\pm$ 0.4 & 55.0 $\pm$ 0.9 \\
\textbf{Ours} & \textbf{66.3 $\pm$ 0.5} & \textbf{59.1 $\pm$ 0.7} \\ \bottomrule
\end{tabular}"""


@pytest.mark.slow
def test_results_are_judged_against_a_table_from_latex_by_what_its_draft_asks_for(
    scripts: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pypandoc", reason="LaTeX is read by pandoc")
    (tmp_path / "mine.tex").write_text(LATEX)
    told = in_bash(scripts, "fedrepro new-table mine.tex --paper mine --table 1", tmp_path)
    assert "columns are one experiment" in told
    assert "no method is named by Ours: write one in place of skip" in told
    told = in_bash(scripts, "fedrepro template mine 2>&1", tmp_path)
    assert "1 cell has no line: columns CIFAR-10, STL-10 of table 1 are one experiment" in told
    assert "2 cells have no line: draft" in told
    spec = tmp_path / "tables/mine/1.toml"
    text = re.sub('skip = ".*"', 'method = "ours"', spec.read_text())
    text = text.replace('"CIFAR-10"', '"CIFAR-10"\nclients.data = "cifar10"')
    spec.write_text(text.replace('"STL-10"', '"STL-10"\nclients.data = "stl10"'))
    header, *lines = in_bash(scripts, "fedrepro template mine --trials 3", tmp_path).splitlines()
    assert len(lines) == 4 * 3
    filled = "\n".join([header, *(f"{one}6{one[-2]}" for one in lines)])
    (tmp_path / "mine.csv").write_text(filled)
    told = in_bash(scripts, "fedrepro judge mine --results mine.csv --protocol full", tmp_path)
    assert "report: results/reports/mine-external/report.html" in told


def blocks(guide: str, language: str) -> list[str]:
    text = (ROOT / "docs" / guide).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.slow
def test_the_guide_to_methods_is_followed_literally_with_a_package_of_ones_own(
    scripts: Path, tmp_path: Path
) -> None:
    """What docs/adding-a-method.md says of a method without a checkout, then its step 7. The
    package is installed, its entry point gives the short name, and workers find it too."""
    [module] = [code for code in blocks("adding-a-method.md", "python") if "class MyMethod" in code]
    [entry_point] = blocks("adding-a-method.md", "toml")
    package = tmp_path / "mypackage"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "my_method.py").write_text(module)
    (tmp_path / "pyproject.toml").write_text(PACKAGE + entry_point)

    def told_by(commands: str) -> str:
        return in_bash(scripts, f"exec 2>&1\n{commands}", tmp_path)

    with installed(scripts, tmp_path):
        told = told_by(blocks("adding-a-method.md", "bash")[-1])
        assert "federated mypackage.my_method (mypackage/my_method.py)" in told
        assert "2 cells, 0 claims, 0 problems" in told
        assert "trials: 4 trained" in told
        again = "fedrepro run mypaper --profile smoke --jobs 2"
        assert "0 trials to train" in told_by(again)
        edited = module.replace("self.keep * server", "0.5 * server")
        (package / "my_method.py").write_text(edited)
        earlier = told_by("fedrepro report mypaper --profile smoke --stale")
        assert "Trials of earlier code are shown: 1 file has been edited since" in earlier
        told = told_by(again)
        assert "stale: mypackage/my_method.py has changed since 2 trials were made" in told
        assert "trials: 2 trained, 2 reused" in told


@pytest.mark.slow
def test_the_guide_to_own_data_is_followed_in_a_new_project(scripts: Path, project: Path) -> None:
    guide = (ROOT / "docs" / "own-data.md").read_text(encoding="utf-8")
    modules = re.findall(r"`(mypackage/\w+\.py)`[^`].*?```python\n(.*?)```", guide, re.DOTALL)
    assert len(modules) == 3
    for name, code in modules:
        (project / name).write_text(code)
    (script,) = [code for code in blocks("own-data.md", "python") if "np.savez" in code]
    run([scripts / "python", "-c", script], project)
    smoke = [scripts / "fedrepro", "run", "mypaper", "--profile", "smoke", "--jobs", "0"]
    smoke += ["--trials", "1"]
    for name in ("own.npz", "mypackage.my_data"):
        told = run([*smoke, "--rows", "FedAvg", "--on", name], project)
        assert f"smoke: {name}#" in told
        if name == "own.npz":  # its checksum is the guide's
            assert {*re.findall(r"npz#\w+", told)} == {*re.findall(r"npz#\w+", guide)}
    paper = project / "tables" / "mypaper"
    changes = {"paper.toml": {"iid": "blocks"}, "1.toml": {"accuracy": "brier"}}
    for file, (change,) in ((paper / name, one.items()) for name, one in changes.items()):
        text = file.read_text().replace(f'"{change[0]}"', f'"{change[1]}"')
        text = text.replace('unit    = "%"\n', "").replace("value  = 2.0", "value  = 0.1")
        file.write_text(re.sub(r"\[(7\d)\.\d, (7\d)\.\d\]", r"[0.\1, 0.\2]", text))
    [points] = [code for code in blocks("own-data.md", "toml") if "entry-points" in code]
    (project / "pyproject.toml").write_text(PACKAGE + points)
    with installed(scripts, project):
        run([scripts / "fedrepro", "check", "mypaper"], project)
        assert "cells: 6 NOT COMPARED" in run([*smoke, "--on", "my-data"], project)


@pytest.mark.slow
def test_a_mistake_in_an_own_method_is_told_with_its_line(scripts: Path, project: Path) -> None:
    method = project / "mypackage" / "my_method.py"
    method.write_text(method.read_text().replace("self.keep * server", "self.kept * server"))
    (line,) = [i for i, one in enumerate(method.read_text().splitlines(), 1) if "self.kept" in one]
    failing = "fedrepro run mypaper --profile smoke --rows 'My method' --jobs 2 -v 2>&1 || true"
    told = in_bash(scripts, failing, project)
    place = f"(mypackage/my_method.py:{line}, in "
    assert place in told
    (folder,) = (project / "results/reports").iterdir()
    assert all(place in (folder / f"report{one}").read_text() for one in (".html", ".junit.xml"))
    assert f'my_method.py", line {line}' in told


@pytest.mark.slow
def test_the_notebook_runs_in_an_empty_folder(scripts: Path, tmp_path: Path) -> None:
    """Its cells as one script: a line that begins with ! is a command, with names in braces."""
    notebook = json.loads((ROOT / "docs/tutorial.ipynb").read_text("utf-8"))
    lines = ["import subprocess"]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            for line in "".join(cell["source"]).splitlines():
                command = f"subprocess.run(f{line[1:]!r}, shell=True, check=True)"
                lines.append(command if line.startswith("!") else line)
    (tmp_path / "tutorial.py").write_text("\n".join(lines))
    run([scripts / "python", "tutorial.py"], tmp_path)
    assert (tmp_path / "tutorial-report/report.html").is_file()


@pytest.mark.slow
def test_the_tests_run_from_an_sdist(sdist: Path, scripts: Path) -> None:
    names = ("test_house", "benchmark/test_printed", "methods/test_clusters")
    some = [f"tests/{name}.py" for name in names]
    told = run([scripts / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *some], sdist)
    assert " passed" in told
    assert "failed" not in told
