"""What a paper leaves open, as its spec says it: a named choice and its alternatives."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from .fields import At, InFile, Name, Settings, Text

_Names = Collection[str | None]


@dataclass(frozen=True, kw_only=True)
class _OfRuns(InFile):
    """Of which runs something is said; none means all.

    `methods`: federated methods. `objectives`: what clients minimise or what pre-trains an encoder.
    `protocols`: how weights are evaluated."""

    methods: tuple[Text, ...] = ()
    objectives: tuple[Text, ...] = ()
    protocols: tuple[Text, ...] = ()

    def is_of(self, methods: _Names, objectives: _Names, protocol: str | None) -> bool:
        pairs = (self.methods, methods), (self.objectives, objectives), (self.protocols, [protocol])
        return all(not only or not {*only}.isdisjoint(have) for only, have in pairs)


@dataclass(frozen=True)
class Alternative(_OfRuns):
    """Another interpretation of what a paper leaves open, which `--reading` selects by its name.
    `taken`: what it stands for. `why`: why one might take it. `speaks`: what speaks for it (code,
    printed numbers, an equation), with the source. `set`: settings, a fragment of an experiment.
    `at`: the round that is read. `metrics`: the metric that is read, by the one that the cells
    name. Raises `ValueError` if it changes nothing."""

    name: Name
    taken: Text
    why: Text
    speaks: Text
    set: Settings = field(default_factory=dict)
    at: At | None = None
    metrics: Mapping[Text, Text] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.set and self.at is None and not self.metrics:
            raise ValueError("changes nothing; give set, at or metrics")


@dataclass(frozen=True)
class Unstated(_OfRuns):
    """A setting that the paper does not give, what is taken, and why.

    `name`: of the choice; needed where there are alternatives. `settings`: the dotted paths that it
    decides. `no_setting`: where no path can be named, what decides instead (a module, say). Raises
    `ValueError` for alternatives without a name, and for `settings` with `no_setting`."""

    setting: Text
    taken: Text
    why: Text
    name: Name | None = None
    settings: tuple[Text, ...] = ()
    no_setting: Text | None = None
    alternatives: tuple[Alternative, ...] = ()

    def __post_init__(self) -> None:
        if self.alternatives and self.name is None:
            raise ValueError("alternatives need a 'name' of the choice")
        if self.settings and self.no_setting is not None:
            raise ValueError("has both 'settings' and 'no_setting'; give one of them")
