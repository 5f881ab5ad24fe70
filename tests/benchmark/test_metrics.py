import pytest

from fedrepro.benchmark.metrics import outside


@pytest.mark.parametrize(
    ("value", "name", "unit", "possible"),
    [
        (5.63, "accuracy", None, False),
        (142.7, "accuracy", "%", False),
        (-76, "accuracy", "%", False),
        (100.00001, "accuracy", "%", True),
        (1.0, "accuracy", None, True),
        (-0.4, "ari", None, True),
        (1e12, "bits", None, True),
        (-1, "bits", None, False),
        (-17.0, "a metric of somebody's own", None, True),
    ],
)
def test_a_value_outside_of_its_metric_is_told(value, name, unit, possible):
    assert (outside(value, name, unit) is None) == possible
