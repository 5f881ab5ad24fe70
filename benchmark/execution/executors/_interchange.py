"""Parsl's interchange, which ends when the driver is gone, however that ended.

Left alone, the interchange of a killed driver would keep its workers, and the nodes that they
occupy, for as long as the allocation lasts. Without it they end after the heartbeat's silence.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
import time

_LOOK_EVERY_S = 1.0


def main(driver: int) -> None:
    """Runs the interchange for the process `driver`."""
    threading.Thread(target=_end_with, args=(driver,), daemon=True).start()
    runpy.run_module("parsl.executors.high_throughput.interchange", run_name="__main__")


def _end_with(driver: int) -> None:
    while os.getppid() == driver:
        time.sleep(_LOOK_EVERY_S)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv.pop()))
