"""Communication of one client in terms of S (size of a model), T (rounds) and N (models).

CP-CFL Table 2, Eqs. 13 to 15. The method of the cell is trained on a tiny federation for a few N
and T. The models that a client exchanges are counted from its messages, and T (a N + b) S is fitted
exactly. Integers such as the number of the chosen model are counted separately, as the paper does.
"""

from fractions import Fraction
from functools import cache
from itertools import product

import torch

from ...methods.costs import model_costs
from ...methods.costs.model_costs import Exchange
from ...methods.data.federation import Federation, ImageSet
from ...methods.encoders.cnn import CNN
from ...methods.federated.base import FederatedMethod, Task
from ...methods.nn.classifier import Classifier, dense_head
from ...methods.seeds import Seeds
from ..spec import settings
from ..spec.model import Cell
from . import Analytic, in_unit, setting

_POOLS, _ROUNDS = (1, 2, 3, 5), (1, 2, 3)
_CLIENTS, _IMAGES = 3, 4


def communication(cell: Cell) -> Analytic:
    """The cost as a product such as `(N+1)ST`; for a cell that holds a number, its multiple of ST.
    The number is taken at the cell's `training.n_clusters`. Raises `SpecError` for a missing method
    or number of clusters, `ValueError` if the counts follow no such product."""
    name = setting(cell, "method")
    # One head-only round, so that both kinds of round are seen where a method has them.
    training = {**cell.experiment.get("training", {}), "head_rounds": 1}
    counted = {}
    for n, t in product(_POOLS, _ROUNDS):
        options = {**training, "n_clusters": n, "rounds": t}
        counted[n, t] = _exchanged(settings.build("federated", name, options))
    slope = counted[2, 1].models - counted[1, 1].models
    constant = counted[1, 1].models - slope
    for (n, t), found in counted.items():
        if found.models != t * (slope * n + constant):
            said = f"method '{name}' exchanges {found.models} models for N = {n}, T = {t}"
            raise ValueError(f"{said}, which is no multiple of T (a N + b)")
    text = f"{_sum(slope, constant)}ST"
    shown = [(n, 1) for n in _POOLS] + [(_POOLS[2], t) for t in _ROUNDS[1:]]
    lines = (
        f"N = {n}, T = {t}: {_number(one.downloaded)} S down + {_number(one.uploaded)} S up = "
        f"{_number(one.models)} S (and {_number(one.integers)} bytes of integers)"
        for n, t in shown
        for one in [counted[n, t]]
    )
    working = (*lines, f"all {len(counted)} counts equal {text}")
    if cell.printed.value is None:
        return Analytic(text=text, working=working)
    n = setting(cell, "training.n_clusters")
    value = in_unit(slope * n + constant, cell.unit)
    return Analytic(value=value, working=(*working, f"for N = {n}: {value} ST"))


@cache
def _exchanged(method: FederatedMethod) -> Exchange:
    """Cached, since the verdict and the audit ask for the same, and so do rows of one method."""
    everyone = torch.arange(_CLIENTS * _IMAGES)
    noise = torch.randint(0, 256, (len(everyone), 1, 8, 8), generator=Seeds(0).generator("noise"))
    portion = ImageSet(noise.to(torch.uint8), everyone % 2)
    index = tuple(everyone.reshape(_CLIENTS, _IMAGES))
    federation = Federation(portion, portion, index, index, torch.zeros(_CLIENTS).long(), 2)
    encoder = CNN(widths=(2,), dim=3)
    model = Classifier(encoder.build(1, 8), encoder.out_dim, dense_head(encoder.out_dim, (), 2))
    task = Task(federation, model, Seeds(0), torch.device("cpu"))
    return model_costs.communication(method, task)


def _sum(slope: Fraction, constant: Fraction) -> str:
    """a N + b as it is written before ST: `2`, `(N+1)`, `(2N+1)`."""
    n = "N" if slope == 1 else f"{_number(slope)}N"
    terms = [n] * bool(slope) + [_number(constant)] * bool(constant or not slope)
    return terms[0] if len(terms) == 1 else f"({'+'.join(terms)})"


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.3g}"
