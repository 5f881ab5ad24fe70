"""`python -m fedrepro` is the command `fedrepro`."""

import sys

from fedrepro.benchmark.cli import script

sys.exit(script())
