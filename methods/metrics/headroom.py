"""Headroom: what pre-training adds to a linear probe on a data set, over random features.

No paper: a measure of fedrepro's own. It says how much a comparison between pre-trained and
untrained encoders can show on the data of a run.
Choices: scikit-learn's logistic regression, default penalty, on standardised features or pixels.
Evidence: `tests/methods/test_headroom.py` (features that hold the class, and features that do not).
"""

import torch
from torch import Tensor

METRICS = ("headroom", "probe_pretrained", "probe_random", "probe_pixels")


def probe_accuracy(features: Tensor, labels: Tensor, unseen: Tensor, wanted: Tensor) -> float:
    """The share of `unseen` features (n x dim) that a probe of `features` puts in their class."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    probe.fit(features.double().cpu().numpy(), labels.cpu().numpy())
    return float(probe.score(unseen.double().cpu().numpy(), wanted.cpu().numpy()))


def of_each_class(labels: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """Positions of `n` random images of each class; `ValueError` where a class has fewer."""
    order = torch.randperm(len(labels), generator=generator)
    chosen = []
    for c in sorted(set(labels.tolist())):
        members = order[labels[order] == c]
        if len(members) < n:
            raise ValueError(f"class {c} has {len(members)} images, and a probe needs {n}")
        chosen.append(members[:n])
    return torch.cat(chosen)
