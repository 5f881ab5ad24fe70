"""Each case runs in its own interpreter: importing torchvision cannot be undone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120
    )


def test_torchvision_imports_after_the_guard() -> None:
    done = run(
        "from benchmark.data._torchvision import ensure_torchvision as e; e(); e()\n"
        "import torch, torchvision; from torchvision import datasets, models\n"
        "from torchvision.transforms import v2\n"
        "e(); print(v2.Resize(4)(torch.zeros(3, 8, 8)).shape[-1], len(models.list_models()) > 10)"
    )
    assert (done.returncode, done.stdout.strip()) == (0, "4 True"), done.stderr


def test_a_missing_torchvision_is_left_missing() -> None:
    done = run(
        "import sys, importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'torchvision' else real(n, *a)\n"
        "from benchmark.data import _torchvision as g; g.ensure_torchvision()\n"
        "print(g._declared)"
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


@pytest.mark.parametrize("declared", ["both", "one"])
def test_operators_that_something_else_declared_are_kept(declared: str) -> None:
    names = ["nms", "qnms"] if declared == "both" else ["nms"]
    done = run(
        "import torch; lib = torch.library.Library('torchvision', 'DEF')\n"
        "schema = '(Tensor dets, Tensor scores, float iou_threshold) -> Tensor'\n"
        f"[lib.define(name + schema) for name in {names}]\n"
        "from benchmark.data._torchvision import ensure_torchvision; ensure_torchvision()\n"
        "import torchvision; print('whole')"
    )
    assert (done.returncode, done.stdout.strip()) == (0, "whole"), done.stderr


def test_nothing_is_declared_beside_a_torchvision_that_loads() -> None:
    done = run(
        "from benchmark.data import _torchvision as g\n"
        "g._loads = lambda folder: True; g.ensure_torchvision(); print(g._declared)"
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
