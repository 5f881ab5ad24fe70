from pathlib import Path

from fedrepro.methods.outcome import Curve
from tests.benchmarks.curves import METHODS, VARIANTS, page, planned, plot


def test_variants_of_a_method_differ_in_the_authors_settings_alone() -> None:
    plan, runs = planned({"training.rounds": 1})
    assert {*plan.runs} == {*runs.values()}
    assert len(runs) == len(METHODS) * len(VARIANTS)
    for method in METHODS:
        first, second, third = (runs[method, variant] for variant in VARIANTS)
        differing = {k for k, v in first.options.items() if second.options[k] != v}
        assert differing == {"sgd_momentum", "weight_decay"}
        assert {k for k, v in second.options.items() if third.options[k] != v} == {"augments"}
        assert (first.augmentation, second.augmentation) == (None, None)
        assert third.augmentation is not None
        assert third.augmentation["crop_border"] == "reflect"


def test_the_page_shows_the_last_round_and_the_picture_every_curve(tmp_path: Path) -> None:
    curves = {
        (method, variant): Curve((1, 2), (0.1, 0.2 + n / 100))
        for n, (method, variant) in enumerate((m, v) for v in VARIANTS for m in METHODS)
    }
    text = page(curves, {"training.rounds": 2})
    assert "2 rounds of 2 local epochs" in text
    assert "| and augmentation | 26.0 | 27.0 | 28.0 |" in text
    plot(curves, tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").read_text(encoding="utf-8").count('<g id="line2d_') >= 9
