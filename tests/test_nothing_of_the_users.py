import os
import shutil
import subprocess
import sys
from pathlib import Path

from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.store.store import Store
from fedrepro.methods.outcome import Curve, Outcome

ROOT = Path(__file__).parents[1]
COUNTED = """
from fedrepro.benchmark.store.store import Store

print(len(list(Store("results/store").records())))
"""
PROBE = """
import os
from pathlib import Path

from fedrepro.benchmark.store.store import Store


def test_nothing_is_seen(tmp_path):
    assert list(Store("results/store").records()) == []
    assert [name for name in os.environ if name.startswith("FEDREPRO_")] == []
    assert Path.home().name != "users-home"
    assert list(Path.cwd().iterdir()) == []
"""


def test_a_store_and_variables_of_the_user_are_seen_by_commands_and_no_test(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests/conftest.py", tmp_path / "tests")
    (tmp_path / "tests/test_probe.py").write_text(PROBE, encoding="utf-8")
    home = tmp_path / "users-home"
    home.mkdir()
    store = Store(tmp_path / "results/store")
    wrong = Outcome(metrics={"accuracy": Curve((1, 2, 3), (0.0, 0.0, 0.0))})
    with store.writing():
        for run in make_plan(load_paper("cpcfl"), "smoke", tables=["3"]).runs:
            store.save(run, 0, wrong, {"wall_s": 1.0})
    env = {**os.environ, "HOME": str(home), "FEDREPRO_DATA": str(home)}

    def told(*words: str, **more: str) -> str:
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=tmp_path, env=env | more, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert int(told("-c", COUNTED)) > 0
    told_by_tests = told("-m", "pytest", "-q", "tests", FEDREPRO_TABLES=str(home))
    assert "1 passed" in told_by_tests.splitlines()[-1]
