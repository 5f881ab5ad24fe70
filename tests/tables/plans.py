"""Plans of papers and runs behind cells, each made once."""

from functools import cache

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.training.training import train_trial


@cache
def plan_of(paper: str, profile: str, *tables: str) -> Plan:
    return make_plan(load_paper(paper), profile, tables=tables or None)


def config_of(plan: Plan, row: str, column: str) -> RunConfig:
    place = (row,), tuple(column.split("|"))
    (found,) = (one.config for one in plan.cells if (one.cell.row, one.cell.column) == place)
    assert found is not None
    return found


def trained(config: RunConfig) -> RunConfig:
    assert config.init_from is not None
    return config.init_from


@cache
def measured(config: RunConfig, metric: str, trials: int) -> float:
    """The mean over trials of what a run measures, after the training that it starts from."""
    total = 0.0
    for trial in range(trials):
        before, _ = train_trial(trained(config), trial, data_dir=None, device="cpu")
        outcome, _ = train_trial(config, trial, data_dir=None, device="cpu", encoder=before.encoder)
        total += outcome.metrics[metric].read("final")
    return total / trials
