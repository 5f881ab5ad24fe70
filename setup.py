"""Which folder is which package; everything else about the distribution is in pyproject.toml.

The folders stay at the top of the repository. Installed, they are `fedrepro.<folder>`, so that a
user's own `methods` or `benchmark` neither hides them nor is hidden by them.
"""

from setuptools import find_packages, setup

FOLDERS = ("benchmark", "methods", "reports")
DATA = ("tables", "docs", "results")

setup(
    packages=[
        *find_packages("src"),
        *(f"fedrepro.{name}" for name in FOLDERS),
        *(f"fedrepro.{name}.{inner}" for name in FOLDERS for inner in find_packages(name)),
        *(f"fedrepro.{name}" for name in DATA),
    ],
    package_dir={"": "src", **{f"fedrepro.{name}": name for name in (*FOLDERS, *DATA)}},
    package_data={
        "fedrepro": ["py.typed", "templates/*"],
        "fedrepro.tables": ["*/*.toml", "*/*.json"],
        "fedrepro.docs": ["*.md", "findings/*.md", "notes/*.md", "*.svg", "*.png"],
        "fedrepro.results": ["baselines/*.json"],  # findings link to them
        "fedrepro.reports": ["templates/*"],
        "fedrepro.benchmark.data": ["excerpts/*/*"],
        "fedrepro.benchmark.spec": ["*.lua", "*.tex", "*.txt"],
        "": ["*.toml"],  # settings of authors, releases of data sets
    },
    exclude_package_data={
        "fedrepro.docs": ["site/*", "site/*/*"],
        "fedrepro.results": ["published/*", "published/*/*/*"],
    },
)
