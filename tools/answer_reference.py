"""Writes what an independent implementation says of the recorded baselines, for the tests.

    answer.py results/baselines/PAPER-reduced.json tables/PAPER … --json FILE
    python -m tools.answer_reference FILE

They are held against fedrepro's own answers.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def shown(value: Any) -> Any:
    """A number in nine places, `inf` as the word, anything else as it is."""
    if not isinstance(value, float):
        return value
    return round(value, 9) if abs(value) != float("inf") else str(value)


def reference(found: dict[str, Any]) -> dict[str, Any]:
    """Of one paper: when it was recorded, and its tables, leads and claims as lists."""
    path = ROOT / f"results/baselines/{found['paper']}-reduced.json"
    tables = {
        name: [one["sound_word"], *one["retention"], one["reliability"], one["correlation"]]
        + [one[key] for key in ("relabelling_p", "orderings", "clear_orderings", "shown_in_80")]
        for name, one in found["tables"].items()
    }
    leads = {
        name: [
            *(*one["ours"], one["printed"], one["ahead"], one["shown_in_80"]),
            ",".join(one["baselines_ahead"]),
        ]
        for name, one in found["leads"].items()
    }
    claims = {
        name: [one.get("sound_word", one["word"]), *one.get("ratio", [None] * 3)]
        for name, one in found["claims"].items()
    }
    return {
        "created": json.loads(path.read_text("utf-8"))["created"],
        **{
            kind: {name: [shown(one) for one in values] for name, values in each.items()}
            for kind, each in (("tables", tables), ("leads", leads), ("claims", claims))
        },
    }


if __name__ == "__main__":
    papers = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    made = {found["paper"]: reference(found) for found in papers}
    to = ROOT / "tests/benchmark/answer/reference.json"
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
    to.write_text(text.replace('],"', '],\n"') + "\n", "utf-8")
