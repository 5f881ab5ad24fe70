"""DataMix: representations leave a client only as secret mixtures of two images'.

Papers: Liu et al. 2020, "DataMix"; MFCL, Section 5.6.1 (on the representations of phase 2).
Unstated in MFCL: everything but the name. In Liu et al. a client mixes inputs with secret
coefficients and takes the server's outputs apart again. MFCL's server trains on what it is sent and
returns nothing to take apart, so here the mixing alone remains: an image's representation is mixed
with that of another image of the same client, the partner and the coefficient being the same for
both views, so that two mixed views are still views of one thing.
Evidence: `tests/methods/test_datamix.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor


def datamix(z: Tensor, generator: torch.Generator, least: float = 0.5) -> Tensor:
    """λ z_i + (1 - λ) z_j; z: images x 2 (views) x ..., all of one client.

    j: another image, if there is one, λ: uniform in [least, 1], both drawn for each image.
    """
    n = len(z)
    if n < 2:
        return z
    # A shift along a random order, so that no image is mixed with itself.
    order = torch.randperm(n, generator=generator)
    partner = torch.empty(n, dtype=torch.int64)
    partner[order] = order.roll(1)
    own = least + (1 - least) * torch.rand(n, generator=generator)
    share = own.to(z.device).view(-1, *(1,) * (z.dim() - 1))
    return share * z + (1 - share) * z[partner.to(z.device)]
