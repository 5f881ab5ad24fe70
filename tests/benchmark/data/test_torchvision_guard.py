"""Each case runs in its own interpreter: importing torchvision cannot be undone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120
    )


def test_torchvision_imports_after_the_guard() -> None:
    done = run(
        "from tests.whole_torchvision import ensure_torchvision as e; e(); e()\n"
        "import torch, torchvision; from torchvision import datasets, models\n"
        "from torchvision.transforms import v2\n"
        "e(); print(v2.Resize(4)(torch.zeros(3, 8, 8)).shape[-1], len(models.list_models()) > 10)"
    )
    assert (done.returncode, done.stdout.strip()) == (0, "4 True"), done.stderr


def test_nothing_is_declared_for_a_torchvision_that_is_missing_or_whole() -> None:
    done = run(
        "import importlib.util as u; real = u.find_spec\n"
        "from tests import whole_torchvision as g\n"
        "u.find_spec = lambda n, *a: None if n == 'torchvision' else real(n, *a)\n"
        "g.ensure_torchvision(); print(len(g._declared))\n"
        "u.find_spec = real; g._loads = lambda folder: True\n"
        "g.ensure_torchvision(); print(len(g._declared))\n"
    )
    assert (done.returncode, done.stdout.split()) == (0, ["0", "0"]), done.stderr


def test_an_operator_that_something_else_declared_is_kept() -> None:
    done = run(
        "import torch; lib = torch.library.Library('torchvision', 'DEF')\n"
        "lib.define('nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor')\n"
        "from tests import whole_torchvision as g; g._loads = lambda folder: False\n"
        "g.ensure_torchvision(); print(hasattr(torch.ops.torchvision, 'qnms'))"
    )
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr
