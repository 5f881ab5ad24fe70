"""Bad inputs by the thousand: specs, stores, checkpoints, data files.

Each case damages something sound, at places drawn from a seed, and hands it to what reads it. The
answer must be the thing itself, or one error of the kind that the command line prints in one line:
never another exception, and never a file outside the folder that was given.
"""

import gzip
import json
import random
import re
import shutil
import struct
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from fedrepro.benchmark.audit.findings import findings_for
from fedrepro.benchmark.claims.answer import Known, answer_claim
from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.claims.printed import support
from fedrepro.benchmark.data import own
from fedrepro.benchmark.data.formats import read_idx
from fedrepro.benchmark.errors import FedreproError, SpecError, StoreError
from fedrepro.benchmark.judging.evidence import load_trials
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.check import check
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.checkpoints import TrialFile
from fedrepro.benchmark.store.store import Store, weights_from
from fedrepro.methods.outcome import Curve, Outcome
from fedrepro.reports import publish
from tests.benchmark.small_papers import Make
from tests.hostile import HOSTILE, unseen

Reader = Callable[[random.Random], None]
ROOT = Path(__file__).parents[2]
CASES = 1000  # of each kind in the slow test: 4,000
TOKENS = [
    b"", b"\x00", b"\xff\xfe", b'"', b"[", b"]" * 3, b"{", b"}", b"=", b"\n", b",", b"-", b"nan",
    b"1e400", b"9" * 40, b"null", b"true", b"../../outside", b"\\u0000", b"[" * 500, b"a." * 200,
    b'{"a":' * 300, b"PK\x03\x04", b"\x1f\x8b", b"\x93NUMPY",
]  # fmt: skip
VALUE = re.compile(rb'"[^"\n]*"|(?<![\w.])-?\d[\w.]*')  # a number or a text of a TOML file
HOLDS = ("'*|*' / ('*|*' - '*|*') > 0", "mean('*|*') ~ 0 '*|*'", "max('*|*') * 0 = '*|*' / 0")
VALUES = [
    *(json.dumps(one, ensure_ascii=False).encode("utf-8", "replace") for one in (*HOSTILE, *HOLDS)),
    *b"0 -1 1 2 1000000000 99999999999999999999999999999 0.5 0.00 1e-29 41.2 true [] {}".split(),
]
TRIALS = (0.0, 0.5, 0.5, 1.0, 41.2)  # of cells, so that divisors are zero and differences tie


def damaged(content: bytes, draw: random.Random) -> bytes:
    for _ in range(draw.randint(1, 4)):
        at, length = draw.randrange(len(content) + 1), draw.choice([1, 1, 2, 8, 64, 512])
        before, after = content[:at], content[at + length :]
        content = draw.choice(
            [
                before + draw.randbytes(length) + after,
                before + after,
                before,
                before + content[at : at + length] * 2 + after,
                before + draw.choice(TOKENS) + content[at:],
            ]
        )
    return content


def refused(read: Reader, cases: int) -> int:
    """How many of the cases were refused; fails with every other kind of answer that there was."""
    errors, surprises = 0, Counter[str]()
    for case in range(cases):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read(random.Random(f"{read.__name__} {case}"))
        except FedreproError as error:
            errors += 1
            surprises["an error without a word"] += not str(error).strip()
        except Exception as error:
            trace = traceback.extract_tb(error.__traceback__)[:-4:-1]
            where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in trace)
            surprises[f"{type(error).__name__}: {str(error)[:90]} ({where})"] += 1
    lines = [f"{n} x {what}" for what, n in surprises.most_common(20) if n]
    assert not lines, "\n".join(["", *lines])
    return errors


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Path]:
    """The folder to work in; nothing beside it may have changed at the end."""
    folder = tmp_path / "inside" / "deep"
    folder.mkdir(parents=True)
    (tmp_path / "witness").write_text("as it was")
    yield folder
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inside", "witness"]
    assert [path.name for path in (tmp_path / "inside").iterdir()] == ["deep"]
    assert (tmp_path / "witness").read_text() == "as it was"


def with_other_values(content: bytes, draw: random.Random) -> bytes:
    """A TOML file of which one to three numbers or texts are others."""
    found = list(VALUE.finditer(content))
    others = VALUES if draw.random() < 0.5 else [one[0] for one in found]
    for one in sorted(draw.sample(found, draw.randint(1, 3)), key=lambda one: -one.start()):
        content = content[: one.start()] + draw.choice(others) + content[one.end() :]
    return content


def go_through(paper: Paper, root: Path, profile: str) -> None:
    """All that `plan`, `audit`, `claims` and `report` do with a paper that was never run."""
    for table in paper.tables:
        resolved = [(claim, bind(claim, table, paper)) for claim in table.claims]
        for _, comparisons in resolved:
            support(comparisons)
        cells = [cell for one in paper.tables for cell in one.cells]
        values = {
            cell.key: {seed: TRIALS[(i + seed) % len(TRIALS)] for seed in range(3)}
            for i, cell in enumerate(cells)
        }
        for claim, comparisons in resolved:
            answer_claim(claim, comparisons, Known(values))
    findings_for(paper)
    store = Store(root / "store", source_of=lambda config: {})
    for on in (None, *paper.profiles[profile].on):
        plan = make_plan(paper, profile, on=on)
        report = judge(plan, load_trials(plan, store), command="fedrepro")
        for writer in publish.formats().values():
            text = writer.render([report])
            assert not unseen(text) or writer.FILE == "report.json"


def specs(inside: Path) -> Reader:
    """A paper of two small tables, one file of it damaged, or valid TOML with other values. What
    `check` passes is planned, audited, judged and written."""
    names = ("paper.toml", "3.toml", "11.toml")
    sound = {name: (ROOT / "tables" / "cpcfl" / name).read_bytes() for name in names}
    (inside / "cpcfl").mkdir()

    def a_spec(draw: random.Random) -> None:
        chosen, change = draw.choice(names), draw.choice([damaged, with_other_values])
        for name, content in sound.items():
            content = change(content, draw) if name == chosen else content
            (inside / "cpcfl" / name).write_bytes(content)
        paper = load_paper("cpcfl", inside)
        if change is damaged and draw.random() < 0.9:
            return
        problems, *_ = check([paper])
        if problems:
            assert not any("\n" in str(problem) for problem in problems)
            raise SpecError(str(problems[0]))
        go_through(paper, inside, draw.choice(list(paper.profiles)))

    return a_spec


def stores(inside: Path, tiny_config: Make, outcome: Outcome) -> Reader:
    config, source = tiny_config(), {"methods/a.py": "1"}
    whole, root = Store(inside / "whole", lambda config: source), inside / "store"
    with whole.writing():
        for seed in range(2):
            whole.save(config, seed, outcome, {"wall_s": 1.0})
        whole.save_error(config, 9, "diverged at round 1", "")
    found = [path for path in sorted(whole.root.rglob("*")) if path.is_file()]
    files = [path.relative_to(whole.root) for path in found if path.name != "lock"]

    def a_store(draw: random.Random) -> None:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(whole.root, root)
        damage = root / draw.choice(files)
        damage.write_bytes(damaged(damage.read_bytes(), draw))
        said: list[str] = []
        store = Store(root, lambda config: source, warn=said.append)
        store.error(config, 9)
        sound = list(store.records())
        assert [record.metrics for record in sound] == [outcome.metrics] * len(sound)
        for record in sound:
            store.load_arrays(record)
            encoder = store.encoder_path(record)
            assert encoder is not None
            weights_from(encoder.read_bytes())
        assert len(sound) + len(said) == 2
        with store.writing():
            gone = [store.find(config, seed) is None for seed in range(2)]
        if said:
            assert gone.count(True) == 2 - len(sound)
            raise StoreError(said[0])

    return a_store


def checkpoints(inside: Path) -> Reader:
    name, cpu = ("0123456789abcdef", 3), torch.device("cpu")
    state = {
        "at": "round 2", "weights": {"w": torch.arange(6.0).reshape(2, 3).t()}, "seen": (1, None),
        "chosen": np.arange(4), "curve": Curve((1, 2), (0.25, 0.5)), "by": {0: [True], 1: [0.5]},
    }  # fmt: skip
    said: list[str] = []
    file = TrialFile(inside, name, {"seed": 3}, ["fedrepro.methods"], cpu, said.append)
    file.write(state)
    sound = file.path.read_bytes()

    def a_checkpoint(draw: random.Random) -> None:
        said.clear()
        file.path.write_bytes(damaged(sound, draw))
        found = file.read()
        if found is None:
            raise StoreError(said[0])
        assert torch.equal(found["weights"]["w"], torch.arange(6.0).reshape(2, 3).t())
        assert found["curve"] == state["curve"]

    return a_checkpoint


def idx_files(inside: Path) -> Reader:
    """IDX files, gzipped or not."""
    sound = struct.pack(">4i", 0x803, 3, 4, 4) + bytes(range(48))

    def an_idx(draw: random.Random) -> None:
        bad = damaged(sound, draw) if draw.random() < 0.7 else sound
        if draw.random() < 0.5:
            path, content = inside / "images", bad
        else:
            packed = gzip.compress(bad, 1)
            path = inside / "images.gz"
            content = damaged(packed, draw) if draw.random() < 0.5 else packed
        path.write_bytes(content)
        assert read_idx(path, 3)[1].ndim == 3

    return an_idx


def own_files(inside: Path) -> Reader:
    split, labels = np.array(["train", "test"] * 4), np.arange(8) // 2 % 2
    images = np.arange(128, dtype=np.uint8).reshape(8, 4, 4)
    np.savez(inside / "own.npz", images=images, labels=labels, split=split)
    rows = [[*range(16), "label", "split"]]
    rows += [[*images[i].ravel(), labels[i], split[i]] for i in range(8)]
    (inside / "own.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    sound = {name: (inside / name).read_bytes() for name in ("own.npz", "own.csv")}

    def an_own_file(draw: random.Random) -> None:
        name = draw.choice(sorted(sound))
        (inside / name).write_bytes(damaged(sound[name], draw))
        for part, stored in own.content(name, inside).parts.items():
            assert stored.images.dtype == torch.uint8
            assert stored.labels is None or len(stored.labels) == len(stored.images), part

    return an_own_file


KINDS: list[Callable[..., Reader]] = [
    specs, stores, checkpoints, idx_files, own_files,
]  # fmt: skip


@pytest.fixture
def reader(request: pytest.FixtureRequest, inside: Path) -> Reader:
    make = request.param
    names = make.__code__.co_varnames[1 : make.__code__.co_argcount]
    made: Reader = make(inside, **{name: request.getfixturevalue(name) for name in names})
    return made


@pytest.mark.parametrize("reader", KINDS, indirect=True, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("cases", [20, pytest.param(CASES, marks=pytest.mark.slow)])
def test_bad_inputs_end_in_one_clear_error(reader: Reader, cases: int) -> None:
    assert refused(reader, cases) > cases // 4
