"""Draws docs/report.png with Chromium: `python -m tools.report_picture`.

It shows the first lines and Table 3 of CP-CFL's report, from the recorded baseline.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from fedrepro.reports.publish import write_report

from .found import ROOT, judged

WHOLE = "--run-all-compositor-stages-before-draw"
"""Else a slow machine may leave parts of the picture blank."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SHOW_TABLE_3 = """
<style>
nav, main > :not(.paper), .paper > :not(#cpcfl-table-3) { display: none !important }
.page { display: block !important }
.paper { margin-top: .5rem !important }
</style>
<script>
document.getElementById("cpcfl-table-3-c1-1").showPopover();
addEventListener("load", () => setTimeout(() => scrollTo(0, 0)));
</script>
"""
"""A picture shows the top of a page, so what is between first lines and table is hidden."""


def main() -> None:
    """Writes the picture; ends with a message if there is no browser or a part is blank."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"none of {', '.join(BROWSERS)} is installed")
    drawn = ROOT / "docs/report.png"
    with tempfile.TemporaryDirectory() as folder:
        write_report([judged("cpcfl")], folder)
        shown = Path(folder) / "report.html"
        shown.write_text(shown.read_text("utf-8") + SHOW_TABLE_3, encoding="utf-8")
        command = (browser, "--headless", "--no-sandbox", "--hide-scrollbars", WHOLE)
        size = ("--window-size=1400,1450", f"--screenshot={drawn}")
        subprocess.run([*command, *size, shown.as_uri()], check=True)
    if drawn.stat().st_size < 250_000:
        raise SystemExit(f"{drawn} is not whole: does the report still have Table 3 of CP-CFL?")


if __name__ == "__main__":
    main()
