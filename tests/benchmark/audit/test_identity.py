"""Which printed numbers the audit takes for numbers of one run."""

from __future__ import annotations

from fedrepro.benchmark.audit.identity import numbers
from fedrepro.benchmark.planning.resolve import MEASUREMENTS, Resolver
from fedrepro.benchmark.spec.load import load_papers
from fedrepro.benchmark.spec.model import AS_PUBLISHED
from tests.benchmark.audit.small_paper import cell, paper


def test_numbers_share_their_key_where_the_published_runs_have_one_config() -> None:
    shared = 0
    for loaded in load_papers():
        resolver = Resolver(AS_PUBLISHED)
        pairs = set()
        for one in numbers(loaded):
            measured = one.cell.metric if one.cell.metric in MEASUREMENTS else "accuracy"
            config = resolver.resolve(one.cell, measured).config
            if config is not None:
                pairs.add((one.experiment, config.canonical))
        keys, configs = {key for key, _ in pairs}, {config for _, config in pairs}
        assert len(pairs) == len(keys) == len(configs)
        shared += len(numbers(loaded)) > len(pairs) > 1
    assert shared >= 3


def test_numbers_of_what_nothing_implements_share_their_key_where_specs_say_the_same() -> None:
    found = numbers(
        paper(
            *(
                cell("50.2", column=f"{i}", experiment={"method": "made-up", "name": name})
                for i, name in enumerate("xyx")
            )
        )
    )
    first, second, third = (one.experiment for one in found)
    assert first == third != second
