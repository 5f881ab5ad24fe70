"""What an encoder architecture provides."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from ..nn.layers import Layer


@dataclass(frozen=True)
class Encoder:
    """Options of an architecture; the fields of a subclass are its options in a spec."""

    inferred: ClassVar[str] = ""
    """What of the layout was inferred from numbers that a paper prints, so that no recomputed cost
    convicts one of them; empty where texts state all of it."""

    @property
    @abstractmethod
    def out_dim(self) -> int:
        """Width of the representation."""

    @abstractmethod
    def narrowed(self, share: float) -> Encoder:
        """The same architecture with `share` of the channels in every layer, at least one."""

    @abstractmethod
    def build(self, channels: int, image_size: int) -> Layer:
        """The network from square images to models x batch x dim; tensors begin with `encoder.`.
        Raises `ValueError` if the images are too small for the architecture."""
