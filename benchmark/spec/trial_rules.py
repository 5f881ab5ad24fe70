"""How many trials a profile and its tables may have, and of which profile, in the raw TOML.

Parts of a wrong shape are passed over here; `benchmark.spec.schema` reports them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from .lines import Path
from .problems import Reporter, suggestion

Toml = Mapping[str, Any]


def check_looks(profile: Toml, at: Path, report: Reporter) -> None:
    """Looks rise, there is more than one, and what is trained by default is one of them."""
    looks, trials = profile.get("looks"), profile.get("trials")
    if not isinstance(looks, list) or not all(type(one) is int for one in looks):
        return  # the schema says so
    if len(looks) < 2:
        report.add((*at, "looks"), "one look needs no declaration; give two or more, or none")
    elif any(later <= one for one, later in pairwise(looks)):
        report.add((*at, "looks"), f"{looks} does not rise: a look adds trials to the one before")
    elif type(trials) is int and trials not in looks:
        report.add(
            (*at, "looks"),
            f"trials = {trials} is none of {looks}: a run would end between two looks",
        )


def check_like(name: str, profiles: Toml, report: Reporter) -> None:
    """A profile like another one runs all that it runs, and shares no trial with it."""
    profile, here = profiles[name], ("profiles", name)
    like = profile.get("like") if isinstance(profile, dict) else None
    if not isinstance(like, str):
        return
    other = profiles.get(like)
    if other is None:
        known = sorted(set(profiles) - {name})
        report.add((*here, "like"), f"unknown profile '{like}'{suggestion(like, known)}")
    elif isinstance(other, dict):
        if "like" in other:
            report.add((*here, "like"), f"'{like}' is itself like another; name that one")
        shared = [
            one
            for one, raw in profiles.items()
            if one != name and isinstance(raw, dict) and like in (one, raw.get("like"))
            if raw.get("series", 0) == profile.get("series", 0)
        ]
        if shared:
            said = f"it has the series of '{shared[0]}', so that trials would be looked at twice"
            report.add(here, f"{said}; give it another `series`")
    for own in ("overrides", "on", "omit"):
        if own in profile:
            report.add((*here, own), f"a profile like another runs what '{like}' runs")


def check_more_trials(own: Toml, profiles: Toml, report: Reporter) -> None:
    """A table has more trials than its profile's others, for a reason, and one look at them.

    own: what the table adds to profiles, by their names. profiles: those of the paper.
    """
    for name, more in own.items():
        profile = profiles.get(name, {})
        if not isinstance(more, dict) or not isinstance(profile, dict):
            continue
        here: Path = ("profiles", name)
        trials, others = more.get("trials"), profile.get("trials")
        if (trials is None) != (more.get("why") is None):
            report.add(here, "`trials` and `why` go together")
        if trials is not None and profile.get("looks") is not None:
            report.add((*here, "trials"), "the profile's `looks` say how many there are")
        if type(trials) is int and type(others) is int and trials <= others:
            report.add((*here, "trials"), f"{trials} is not more than the profile's {others}")
