"""Two judged reports beside each other as one page: words, retention, and what differs."""

from collections.abc import Callable, Mapping, Sequence

from ..benchmark.judging.baseline import Recorded
from ..benchmark.judging.comparison import ABSENT, Movement
from . import layout
from .pages import css_class, page, word


def render(
    pairs: Mapping[str, tuple[Recorded, Recorded]], moved: Mapping[str, Sequence[Movement]]
) -> str:
    """The page. pairs: by paper and profile, the two reports. moved: what moved between them."""
    filters: dict[str, Callable[..., object]] = {
        "css": css_class,
        "number": layout.number,
        "of_table": _of_table,
        "word": word,
    }
    return page("diff.html", filters, {"layout": layout, "absent": ABSENT}).render(
        pairs=pairs, moved=moved
    )


def _of_table(movements: Sequence[Movement], table: str) -> list[Movement]:
    return [one for one in movements if one.where.partition(": ")[0] == table]
