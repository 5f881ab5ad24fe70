"""Which images have labels where labels are few.

Evidence: `tests/methods/test_labels.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor


def labelled(own: Tensor, labels: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """`share` of the images of each class in `own`, at least one of each; int64, rising.

    own: int64, indices of images; labels: int64, classes of all images. Shares of a class are
    rounded to the nearest number. The same generator gives nested sets for growing shares.
    """
    chosen = []
    classes = labels[own]
    for c in torch.unique(classes):
        images = own[classes == c]
        order = torch.randperm(len(images), generator=generator).to(own.device)
        chosen.append(images[order[: max(1, round(share * len(images)))]])
    return torch.cat(chosen).sort().values
