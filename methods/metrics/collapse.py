"""Whether representations have collapsed to a point.

The spread of representations, brought to length one, times the root of their width (Chen and He
2021, Section 4.1). It is about 1 for directions spread evenly, 0 when all images are represented
alike.
Evidence: `tests/methods/test_metrics.py`.
"""

import torch.nn.functional as F
from torch import Tensor

from ..data.federation import ImageSet
from ..nn.layers import Layer
from ..state import State
from ..training.pretraining import encode
from . import Evaluation

METRICS = ("representation_std",)
_IMAGES = 500


def first_images(test: ImageSet) -> Tensor:
    """The images on which it is measured after a round: the first 500, uint8."""
    return test.images[:_IMAGES]


def evaluate(encoder: Layer, weights: State, test: ImageSet) -> Evaluation:
    """The metric on the `first_images` of `test`, by one model in evaluation mode."""
    h = encode(encoder, weights, first_images(test))  # images x dim
    return Evaluation({"representation_std": representation_std(h)})


def representation_std(h: Tensor) -> float:
    """From representations n x dim; in [0, 1]."""
    unit = F.normalize(h.double(), dim=1)
    return float(unit.std(dim=0, correction=0).mean() * h.shape[1] ** 0.5)
