"""Sessions of nox; `nox -l` lists them.

They install the versions in `constraints.txt`, with which the suite was tried, and hold most of
them to the hashes in `hashes.txt`; pyproject.toml holds the ranges that fedrepro accepts. The
virtualenv backend, because uv ignores pip's configuration.
"""

import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2024.4.15"
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests"]

OF_TORCH = ("fsspec", "jinja2", "networkx", "pillow", "sympy", "typing-extensions")
"""What torch and torchvision bring, whose own hashes depend on the build (see `hashes.txt`)."""
STRICT = ("--config-settings", "editable_mode=strict", "--editable")
"""Options of pip that install links to each file, which type checkers and editors can follow."""


def install(session: nox.Session, extra: str = "", *how: str) -> None:
    """fedrepro from this folder, with the tried versions of its dependencies. First what
    `hashes.txt` lists, setuptools among it, so that no newer one builds the package. Then the rest
    under `constraints.txt`. `how`: options of pip, `--editable` if none is given."""
    session.install("--quiet", "--no-deps", "--require-hashes", "--requirement", "hashes.txt")
    pinned = ["--quiet", "--constraint", "constraints.txt", "--no-build-isolation"]
    session.install(*pinned, *(how or ("--editable",)), f".{extra}")


def define(name: str, says: str, extra: str, *command: str) -> None:
    """A session that runs one command; arguments after `--` go to it."""

    def run(session: nox.Session) -> None:
        install(session, extra)
        threads = {"OMP_NUM_THREADS": "1"} if name in ("tests", "cluster") else {}
        session.run(*command, *session.posargs, env=threads)

    run.__doc__ = says
    nox.session(run, name=name)


for paper in sorted(path.parent.name for path in Path(__file__).parent.glob("tables/*/paper.toml")):
    says = "Trains, judges and reports one paper."
    define(f"reproduce-{paper}", says, "", "fedrepro", "run", paper)
define("regress", "The reduced profile against the baseline.", "", "fedrepro", "regress")

FAST = ("-n", "auto", "-m", "not slow and not data and not speed")
SHOWN = ("--benchmark-only", "--benchmark-columns=median,iqr,rounds", "tests/test_speed.py")
for name, (says, extras, *options) in {
    "tests": ("The fast tests, on all cores; `-- --durations=20` names the slowest.", "", *FAST),
    "slow": ("Tests of more than a few seconds each.", "", "-m", "slow and not cluster"),
    "cluster": ("The cluster engine, two workers on this machine.", ",cluster", "-m", "cluster"),
    "data": ("Tests on real data sets under FEDREPRO_DATA.", "", "-m", "data"),
    "oracles": ("Losses against lightly's.", ",oracles", "tests/methods", "-k", "lightly"),
    "bench": ("Timings, to be compared as ratios within one run.", "", "-m", "speed", *SHOWN),
    "licences": (
        "The licences of all that fedrepro and its extras bring, and whether all of it is pinned.",
        *(",lint,cluster,oracles", "tests/test_licences.py", "-rP"),
    ),
}.items():
    define(name, says, f"[test{extras}]", "pytest", *options)


@nox.session
def dev(session: nox.Session) -> None:
    """An environment for an editor, `.nox/dev`, with ruff, mypy, pyright and the commit hooks. Make
    it again after adding a file, to which the install then has a link."""
    install(session, "[test,lint]", *STRICT)
    session.install("--quiet", "--constraint", "constraints.txt", "pre-commit", "pyright")
    session.run("pre-commit", "install")


@nox.session
def lock(session: nox.Session) -> None:
    """Writes `hashes.txt` and `.ci/requirements.txt` again; asks the package index for hashes."""
    session.install("--quiet", "pip-tools")
    project = nox.project.load_toml("pyproject.toml")["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["test"], "setuptools"]
    wanted = [*OF_TORCH, *(one for one in asked if not one.startswith("torch"))]
    tried = ["--constraint", str(Path("constraints.txt").resolve())]
    for file, names, limits in (
        (Path("hashes.txt"), wanted, tried),
        (Path(".ci/requirements.txt"), ["nox"], []),
    ):
        place = Path(session.create_tmp())
        (place / "wanted.in").write_text("\n".join(names), encoding="utf-8")
        session.run(
            *("pip-compile", "--quiet", "--generate-hashes", "--allow-unsafe", "--strip-extras"),
            *("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"),
            *(*limits, "--output-file", str(place / "locked.txt"), str(place / "wanted.in")),
        )
        remarks, _, _ = file.read_text("utf-8").partition("\n\n")
        locked = (place / "locked.txt").read_text("utf-8")
        file.write_text(f"{remarks}\n\n{locked}", encoding="utf-8")
        (place / "locked.txt").unlink()


@nox.session
def lint(session: nox.Session) -> None:
    """ruff and mypy."""
    install(session, "[test,lint,cluster]", *STRICT)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """The site, in results/site: guides, API, the tutorial run through, a gallery of reports."""
    install(session, "[docs]", *STRICT)
    made = Path("results/site-made")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    # A copy, since the notebook writes beside itself.
    notebook = shutil.copy("docs/tutorial.ipynb", session.create_tmp())
    session.run(
        *("jupyter-nbconvert", "--execute", "--to", "markdown", "--output-dir", str(made)), notebook
    )
    gallery, store = made / "gallery", Path(session.create_tmp()) / "store"
    session.run("fedrepro", "audit", "--out", str(gallery / "audit"))
    # Claims on costs, which are counted at the published size in seconds, without training.
    asked = ("mfcl", "--tables", "3", "--readings", "sent-before-pooling", "--profile", "paper")
    asked += ("--store", str(store))
    where = ("--out", str(gallery / "multiverse"))
    session.run("fedrepro", "multiverse", *asked, *where, success_codes=[0, 1, 3])
    session.run("python", "-m", "tools.gallery", str(made))
    session.run("mkdocs", "build", "--strict", "--clean")
