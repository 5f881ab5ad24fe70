import numpy as np
import pandas as pd
import pytest

import fedrepro

ROWS = {
    "FedAvg|None": 44.1, "FedAvg|SimCLR": 59.3, "IFCA|None": 67.8, "IFCA|FedAvg": 70.9,
    "CP-CFL|SimCLR": 76.8, "CP-CFL|BYOL": 74.9, "CP-CFL|SimSiam": 70.2,
}  # fmt: skip
COLUMNS = {"T = 25": -10.0, "T = 50": -5.0, "T = 75": -2.0, "T = 100": 0.0}


def judged(rows=ROWS, columns=COLUMNS, seeds=5, sd=0.5):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        [
            {"table": "3", "row": r, "column": c, "seed": s, "value": v + d + rng.normal(0, sd)}
            for r, v in rows.items()
            for c, d in columns.items()
            for s in range(seeds)
        ]
    )
    return fedrepro.judge("cpcfl", frame, audit=False).report


def test_a_whole_table_passes():
    table = judged().tables[0]
    assert (table.word, table.answers[0].rows, table.answers[0].trials) == ("PASS", 7, 5)


@pytest.mark.parametrize("n", [1, 4, 6])
def test_some_rows_are_not_the_table(n):
    table = judged(dict(list(ROWS.items())[:n])).tables[0]
    assert table.word == "OPEN"
    assert f"{n} of 7 rows" in table.reason


def test_one_seed_is_open():
    table = judged(seeds=1).tables[0]
    assert table.word == "OPEN"
    assert "no two rows have paired trials" in table.reason
