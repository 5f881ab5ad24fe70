"""What each source of randomness contributes to the spread of one cell's trials.

Trials are made in which one source is drawn anew and all others are those of trial 0, for each
source, beside ordinary trials in which all are drawn anew (Bouthillier et al. 2021, Accounting for
variance in machine learning benchmarks). `redrawn` makes the runs, `variance_by_source` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...methods.seeds import SOURCES
from ..claims.nodes import key_of
from ..config import RunConfig
from ..planning.plan import Plan, PlannedCell
from ..stats.samples import Sample, describe
from ..stats.variance import ratio_interval, sd_interval, summed_df
from .evidence import CellTrials, Evidence, Trials

PRETRAINING = "pretraining"
"""The run that clients start from; drawn anew, it is another trial of that run."""


@dataclass(frozen=True)
class SourceSpread:
    """Trials of one cell with one source drawn anew, or all of them.

    trials: in the cell's unit, None where one failed.
    interval: 95 % of `sd` (ddof = 1), where trials are normal.
    share: of the variance with everything drawn anew, with its 95 % interval.
    """

    source: str
    trials: tuple[float | None, ...]
    mean: float | None
    sd: float | None
    interval: tuple[float, float] | None
    share: float | None = None
    share_interval: tuple[float, float] | None = None
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class VarianceBySource:
    """The spread of one cell by source.

    together: the sum of all shares, with its 95 % interval; above 1, sources act through each
    other, and below 1, trial 0, at which the others are held, spreads less than most.
    says: that in words.
    """

    paper: str
    profile: str
    on: str | None
    table: str
    row: tuple[str, ...]
    column: tuple[str, ...]
    metric: str | None
    unit: str | None
    run: str
    draws: int
    everything: SourceSpread
    sources: tuple[SourceSpread, ...]
    together: float | None
    together_interval: tuple[float, float] | None
    says: str

    @property
    def failed(self) -> bool:
        return any(one.failed for one in (self.everything, *self.sources))


def redrawn(config: RunConfig, source: str) -> RunConfig:
    """The run whose trials draw one source anew and hold all others at trial 0.

    What is evaluated is trained so too; a pre-trained encoder is a source of its own.
    """
    start = config.start
    if start is None:
        return replace(config, redrawn=source)
    if not _starts_pretrained(config):
        return replace(config, redrawn=source, start=redrawn(start, source), start_trial=None)
    held = None if source == PRETRAINING else config.start_trial or 0
    return replace(config, redrawn=source, start_trial=held)


def varied(plan: Plan, planned: PlannedCell, source: str) -> Plan:
    """The plan of one cell with one source drawn anew."""
    assert planned.config is not None
    return _with(plan, replace(planned, config=redrawn(planned.config, source)))


def joined(plans: Mapping[str, Plan], plan: Plan) -> Plan:
    """One plan of all of them, to be trained in one go."""
    cells = tuple(cell for one in plans.values() for cell in one.cells)
    return replace(plan, cells=cells).only({key_of(cell.cell) for cell in cells})


def sources_of(plan: Plan, planned: PlannedCell, store: Trials) -> list[str]:
    """The sources that trial 0 of a cell drew from, in the order of `SOURCES`."""
    config, drawn = planned.config, set[str]()
    while config is not None:
        record = store.find(config, 0)
        drawn |= set(record.provenance.get("drawn", ())) if record is not None else set()
        if _starts_pretrained(config):
            drawn.add(PRETRAINING)
            break
        config = config.start
    return [one for one in (PRETRAINING, *SOURCES) if one in drawn]


def variance_by_source(
    plan: Plan, planned: PlannedCell, plans: Mapping[str, Plan], store: Trials
) -> VarianceBySource:
    """The spread of a cell's ordinary trials, and of those of `plans`, by source."""
    cell, config = planned.cell, planned.config
    assert config is not None
    everything, all_of = _spread("everything", plan, planned, store)
    found = {name: _spread(name, one, one.cells[0], store) for name, one in plans.items()}
    variances = {name: one.sd**2 for name, (_, one) in found.items() if one is not None}
    shares: dict[str, SourceSpread] = {name: shown for name, (shown, _) in found.items()}
    together = together_interval = None
    if all_of is not None and all_of.sd > 0 and not all_of.flat:
        total, below = all_of.sd**2, all_of.n - 1
        dfs = {name: one.n - 1 for name, (_, one) in found.items() if one is not None}
        for name, own in variances.items():
            share = own / total
            shares[name] = replace(
                shares[name],
                share=share,
                share_interval=ratio_interval(share, dfs[name], below),
            )
        if len(variances) == len(found) and sum(variances.values()) > 0:
            together = sum(variances.values()) / total
            df = summed_df(list(variances.values()), list(dfs.values()))
            together_interval = ratio_interval(together, df, below)
    return VarianceBySource(
        paper=plan.paper.id,
        profile=plan.profile.name,
        on=plan.on,
        table=cell.table,
        row=cell.row,
        column=cell.column,
        metric=cell.metric,
        unit=cell.unit,
        run=config.key,
        draws=plan.trials,
        everything=everything,
        sources=tuple(shares.values()),
        together=together,
        together_interval=together_interval,
        says=_in_words(together_interval),
    )


def _with(plan: Plan, planned: PlannedCell) -> Plan:
    return replace(plan, cells=(planned,)).only({key_of(planned.cell)})


def _starts_pretrained(config: RunConfig) -> bool:
    """Whether a run starts from a pre-trained encoder, not from what it is to evaluate."""
    start = config.start
    return start is not None and (config.stage == "federated" or start.stage == "pretraining")


def _spread(
    source: str, plan: Plan, planned: PlannedCell, store: Trials
) -> tuple[SourceSpread, Sample | None]:
    trials: CellTrials = Evidence(plan, store).cells[key_of(planned.cell)]
    sample = describe(trials.found)
    if sample is None or sample.n < 2:
        mean = None if sample is None else sample.mean
        shown = SourceSpread(source, trials.values, mean, None, None, failed=trials.failed)
        return shown, None
    interval = sd_interval(sample.sd, sample.n - 1)
    spread = SourceSpread(
        source, trials.values, sample.mean, sample.sd, interval, failed=trials.failed
    )
    return spread, sample


def _in_words(interval: tuple[float, float] | None) -> str:
    if interval is None:
        return "Shares cannot be summed: trials do not spread, or some are missing."
    low, high = interval
    if low > 1:
        return (
            "Sources add up to more than the whole: they act through each other, and a part is "
            "counted with each."
        )
    if high < 1:
        return (
            "Sources add up to less than the whole: around trial 0, at which the others are held, "
            "they matter less than elsewhere."
        )
    return "Nothing here speaks against sources that simply add up."
