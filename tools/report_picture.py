"""Draws docs/report.png with Chromium: `python tools/report_picture.py [REPORT.html]`.

It shows Table 3 of CP-CFL, from the report that `nox -s reproduce-cpcfl` writes.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "results/reports/cpcfl-reduced/report.html"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SHOW_TABLE_3 = """
<style>
header, main > :not(.paper), .paper > :not(#cpcfl-table-3) { display: none !important }
</style>
<script>document.getElementById("cpcfl-table-3-c1-1").showPopover();</script>
"""
"""A picture shows the top of a page, so all that stands above the table is hidden."""


def main() -> None:
    """Writes the picture; ends with a message if there is no browser or nothing is shown."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"none of {', '.join(BROWSERS)} is installed")
    page = Path(*(sys.argv[1:] or [PAGE])).read_text("utf-8")
    drawn = ROOT / "docs/report.png"
    with tempfile.TemporaryDirectory() as folder:
        shown = Path(folder) / "report.html"
        shown.write_text(page + SHOW_TABLE_3, encoding="utf-8")
        command = (browser, "--headless", "--no-sandbox", "--hide-scrollbars")
        size = ("--window-size=1400,1000", f"--screenshot={drawn}")
        subprocess.run([*command, *size, shown.as_uri()], check=True)
    if drawn.stat().st_size < 50_000:
        raise SystemExit(f"{drawn} shows nothing: does the report still have Table 3 of CP-CFL?")


if __name__ == "__main__":
    main()
