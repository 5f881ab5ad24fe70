"""A map of representations in two dimensions, by t-SNE: an illustration, not a measurement.

Papers: fedrlc, Figure 5 (test images); calibre, Figures 1 and 2 (images of several clients, and of
one); mfcl, Figure 9 (pixels of one client, representations of all); van der Maaten and Hinton 2008.
The map is their t-SNE, as scikit-learn computes it.
Unstated: perplexity (30), start (the two principal components), number of images (500 at most).
Evidence: `tests/methods/test_protocols.py`.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits
from torch import Tensor

from ..data.federation import to_float
from ..outcome import Outcome
from ..seeds import Seeds
from ..training.pretraining import encode
from .base import Protocol, Subject, once


@dataclass(frozen=True)
class Embedding(Protocol):
    """of: images of `test`, or the training images of some `clients`. `clients`: how many clients
    are drawn, where `of` is `clients`. `together`: one map for all clients, else a map for each.
    `images`: at most so many, in each map. `perplexity`: less where images are few. `at`: what is
    mapped, the encoder's output or the images as they are."""

    federated: ClassVar[bool] = True

    of: Literal["test", "clients"] = "test"
    clients: PositiveInt = 10
    together: bool = True
    images: Annotated[int, Field(ge=10)] = 500
    perplexity: PositiveFloat = 30.0
    at: Literal["encoder", "pixels"] = "encoder"

    def measure(self, subject: Subject) -> Outcome:
        """Arrays `xy` (images x 2), `label` and `client` (images, -1 for test images).
        The metric `kl_divergence` is the mean of the maps' final losses."""
        maps = [self._map(subject, index, owner) for index, owner in self._chosen(subject)]
        return Outcome(
            metrics=once({"kl_divergence": float(np.mean([loss for _, loss in maps]))}),
            arrays={
                name: np.concatenate([arrays[name] for arrays, _ in maps])
                for name in ("xy", "label", "client")
            },
        )

    def _chosen(self, subject: Subject) -> list[tuple[Tensor, Tensor]]:
        """For each map, positions of images and who holds them."""
        stream = subject.seeds.generator("embedding")
        if self.of == "test":
            index = _some(torch.arange(len(subject.held_out())), self.images, stream)
            return [(index, torch.full_like(index, -1))]
        assert subject.federation is not None
        held = subject.federation.train_of
        drawn = _some(torch.arange(len(held)), self.clients, stream).tolist()
        each = max(2, self.images // len(drawn)) if self.together else self.images
        portions = [_some(held[client].cpu(), each, stream) for client in drawn]
        owners = [torch.full_like(p, c) for p, c in zip(portions, drawn, strict=True)]
        if self.together:
            return [(torch.cat(portions), torch.cat(owners))]
        return list(zip(portions, owners, strict=True))

    def _map(
        self, subject: Subject, index: Tensor, owner: Tensor
    ) -> tuple[dict[str, NDArray[np.generic]], float]:
        portion = subject.held_out() if self.of == "test" else subject.train
        if self.of == "clients":
            assert subject.federation is not None
            portion = subject.federation.train
        images = portion.images[index.to(portion.images.device)].to(subject.device)
        if self.at == "pixels":
            h = to_float(images).flatten(1)
        else:
            h = encode(subject.network, subject.on_device(), images)
        xy, loss = tsne(h.cpu().double().numpy(), self.perplexity, subject.seeds)
        labels = portion.labels
        label = torch.zeros_like(index) if labels is None else labels.cpu()[index]
        return {"xy": xy, "label": label.numpy(), "client": owner.numpy()}, loss


def tsne(
    h: NDArray[np.double], perplexity: float, seeds: Seeds
) -> tuple[NDArray[np.single], float]:
    """A map (n x 2) of representations (n x dim), and its loss; perplexity is at most n / 3."""
    n, dim = h.shape
    seed = int(torch.randint(2**31 - 1, (1,), generator=seeds.generator("embedding", "t-sne")))
    method = TSNE(
        perplexity=min(perplexity, (n - 1) / 3),
        init="pca" if dim > 1 else "random",
        random_state=seed,
    )
    # Sums in another order would be another map.
    with threadpool_limits(1):
        xy = method.fit_transform(h)
    return xy.astype(np.single), float(method.kl_divergence_)


def _some(of: Tensor, most: int, stream: torch.Generator) -> Tensor:
    return of[torch.randperm(len(of), generator=stream)[:most].sort().values]
