"""Which folder is which package; everything else about the distribution is in pyproject.toml.

The folders stay at the top of the repository. Installed, they are `fedrepro.<folder>`, so that a
user's own `methods` or `benchmark` neither hides them nor is hidden by them.
"""

from setuptools import find_packages, setup

FACE = "face"  # of `benchmark`: what `import fedrepro` gives
FOLDERS = ("benchmark", "methods", "reports")

inner = [
    f"fedrepro.{folder}{package}"
    for folder in FOLDERS
    for package in ("", *(f".{name}" for name in find_packages(folder) if name != FACE))
]
setup(
    packages=["fedrepro", *inner, "fedrepro._tables"],
    package_dir={
        "fedrepro": f"benchmark/{FACE}",
        "fedrepro._tables": "tables",
        **{f"fedrepro.{folder}": folder for folder in FOLDERS},
    },
    package_data={
        "fedrepro": ["py.typed"],
        "fedrepro._tables": ["*/*.toml"],
        "fedrepro.reports": ["templates/*"],
        "fedrepro.benchmark.data": ["excerpts/*/*"],
        "fedrepro.benchmark.planning": ["*.json"],
        "": ["*.toml"],  # of methods: settings of authors
    },
)
