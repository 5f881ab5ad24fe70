"""DataMix: representations leave a client only as secret mixtures of two images'.

Papers: Liu et al. 2020, "DataMix"; MFCL, Section 5.6.1 (on the representations of phase 2).
Unstated in MFCL: everything but the name. In Liu et al. a client mixes inputs with secret
coefficients and takes the server's outputs apart again. MFCL's server trains on what it is sent and
returns nothing to take apart, so only the mixing remains. An image's representation is mixed with
that of another image of the same client. Partner and coefficient are the same for both views, so
that two mixed views are still views of one thing.
Evidence: `tests/methods/test_privacy.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..state import unsqueeze_like
from ..training.representations import Pairs


@dataclass(frozen=True)
class Mixture:
    """Of n images in each of several vectors. `partner`: int64, vectors x n. `share`: own λ."""

    partner: Tensor
    share: Tensor


def draw_mixture(n: int, vectors: int, generator: torch.Generator, least: float = 0.5) -> Mixture:
    """Of n images of a client, for each vector: another image if there is one; λ in [least, 1]."""
    drawn = [_partners(n, generator, least) for _ in range(vectors)]
    partner, share = zip(*drawn, strict=True)
    return Mixture(torch.stack(partner), torch.stack(share))


def _partners(n: int, generator: torch.Generator, least: float) -> tuple[Tensor, Tensor]:
    if n < 2:
        return torch.arange(n), torch.ones(n)
    # A shift along a random order, so that no image is mixed with itself.
    order = torch.randperm(n, generator=generator)
    partner = torch.empty(n, dtype=torch.int64)
    partner[order] = order.roll(1)
    return partner, least + (1 - least) * torch.rand(n, generator=generator)


def joined(mixtures: Sequence[Mixture]) -> Mixture:
    """The mixtures of several clients as one, one client's images after the other's."""
    partners, before = [], 0
    for one in mixtures:
        partners.append(one.partner + before)
        before += one.partner.shape[1]
    return Mixture(torch.cat(partners, dim=1), torch.cat([one.share for one in mixtures], dim=1))


def mixed(z: Tensor, partners: Tensor, share: Tensor) -> Tensor:
    """λ z_i + (1 - λ) z_j; `z`, `partners`: b x 2 (views) x ..., z_i and z_j; `share`: b, λ."""
    own = unsqueeze_like(share.to(z.device), z)
    return own * z + (1 - own) * partners


@dataclass(frozen=True)
class Mixed:
    """Representations `z` as they leave their clients: mixed when they are read."""

    z: Pairs
    mixture: Mixture

    def __len__(self) -> int:
        return len(self.z)

    @property
    def vectors(self) -> int:
        return self.z.vectors

    @property
    def n_bytes(self) -> int:
        return self.z.n_bytes

    def read(self, images: Tensor, vectors: Tensor) -> Tensor:
        partner, share = self.mixture.partner[vectors, images], self.mixture.share[vectors, images]
        return mixed(self.z.read(images, vectors), self.z.read(partner, vectors), share)


def datamix(z: Tensor, generator: torch.Generator, least: float = 0.5) -> Tensor:
    """`z`, images x 2 (views) x ... of one client, mixed; λ is in [least, 1]."""
    drawn = draw_mixture(len(z), 1, generator, least)
    return mixed(z, z[drawn.partner[0].to(z.device)], drawn.share[0])
