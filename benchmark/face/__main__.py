"""`python -m fedrepro` is the command `fedrepro`."""

import sys

from fedrepro.benchmark.cli import main

sys.exit(main())
