"""`python -m benchmark` is the command `fedrepro`."""

import sys

from benchmark.cli import main

sys.exit(main())
