"""`docs/settings.md`: every method of every paper with its settings, and where they come from."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from ..benchmark.planning.plan import Plan
from ..benchmark.planning.setting_origin import Told, common, source_of_defaults, units
from ..benchmark.spec.model import Origin

INTRODUCTION = Path(__file__).parent / "templates/settings.md"
_WORDS = {"paper": "the paper", "unstated": "open", "authors": "authors"}
_WORDS |= {"default": "default", "method": "the method"}
_STAGES = {"federated": "Method", "pretraining": "Pre-training", "measurement": "Protocol"}


def render(plans: Iterable[Plan]) -> str:
    """The page, as Markdown."""
    lines, modules = [INTRODUCTION.read_text("utf-8")], dict[str, None]()
    for plan in plans:
        found = units(plan)
        shared = common(found)
        methods = [unit for unit in found if unit.stage == "federated"]
        others = dict.fromkeys(one for unit in methods for one in unit.elsewhere)
        lines += [f"## {plan.paper.id}: {plan.paper.title}", ""]
        lines += ["### All methods, where nothing else is said", ""]
        lines += _table(shared, [one for one in others if one.path in shared])
        for unit in found:
            own = {path: told for path, told in unit.main.items() if shared.get(path) != told}
            elsewhere = [one for one in unit.elsewhere if one.path in own]
            said = "" if unit.objective is None else f", clients minimise `{unit.objective}`"
            where = unit.table if unit.table.startswith("figure") else f"Table {unit.table}"
            lines.append(f"### {_STAGES[unit.stage]} `{unit.name}`{said} ({where})")
            lines += ["", *_table(own, elsewhere)]
        told = (*shared.values(), *(one for unit in found for one in unit.main.values()))
        modules |= dict.fromkeys(one.origin.text for one in told if one.origin.layer == "default")
    lines += ["## Modules and the sources of their defaults", "", "| module | its papers |"]
    lines.append("|---|---|")
    for module in sorted(filter(None, modules)):
        source = source_of_defaults(module) or "none named: a choice of this suite"
        lines.append(f"| `{_file(module)}` | {_cell(source)} |")
    return "\n".join(lines) + "\n"


def _table(told: Mapping[str, Told], elsewhere: Iterable[Told]) -> list[str]:
    """A row for each origin of these settings; values of other cells come with `also`."""
    rows: dict[Origin, dict[str, list[str]]] = {}
    for path, value, origin in sorted(told.values()):
        rows.setdefault(origin, {})[path] = [f"`{path} = {value}`"]
    for path, value, origin in elsewhere:
        values = rows.setdefault(origin, {}).setdefault(path, [f"`{path}`"])
        values.append(f"also `{value}`")
    order = list(_WORDS)
    ranked = sorted(rows, key=lambda origin: (order.index(origin.layer), origin.text))
    lines = [
        f"| {_name(origin)} | {'; '.join(' '.join(values) for values in rows[origin].values())} |"
        for origin in ranked
    ]
    return ["| from | settings |", "|---|---|", *lines, ""]


def _name(origin: Origin) -> str:
    text = f"`{_file(origin.text)}`" if origin.layer == "default" and origin.text else origin.text
    return _WORDS[origin.layer] + (f": {_cell(text)}" if text else "")


def _file(module: str) -> str:
    return module.replace(".", "/") + ".py"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
