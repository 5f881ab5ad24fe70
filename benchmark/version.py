"""Which fedrepro this is: its version, and the commit of a checkout."""

import os
import subprocess
from functools import cache
from pathlib import Path

__version__ = "0.1.0"


@cache
def commit() -> str | None:
    """The checkout's commit, with '+' where files differ from it; None outside a checkout."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        # A user's own hooks and monitors have no business in a question about one's own commit.
        command = ["git", "-c", "core.fsmonitor=false", "-C", str(here), *words]
        environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=10, env=environment
        ).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "--", __file__)
        return git("describe", "--always", "--exclude=*", "--abbrev=40", "--dirty=+")
    except (OSError, subprocess.SubprocessError):
        return None
