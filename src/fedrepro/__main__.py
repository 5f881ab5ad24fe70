"""`python -m fedrepro` is the command `fedrepro`."""

import sys

from fedrepro.cli import script

sys.exit(script())
