"""MFCL's client modules and their decoders as plain lists of layers.

Paper: MFCL, Tables 9 and 10 and Section 5.1. Both tables follow one rule. The client module is the
first convolutions of a VGG (64, 64, 128, 128, ...) and one pooling at its end, whatever network
follows it. The decoder has the same convolutions transposed in reverse order, and one more among
the image's channels. Every layer but the last has a norm (TN: scale, shift by channel) and ReLU.
Unstated: the modules of other cuts (the same rule is taken), and biases (taken in every
convolution, as Keras has them). The decoder never undoes the pooling: it returns half the side.
Evidence: `tests/methods/test_modular.py`, `tests/benchmark/test_analytic_mfcl.py` (the tables).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_MULTIPLES = (1, 1, 2, 2, 4, 4, 4)


@dataclass(frozen=True)
class Convolution:
    """A convolution with bias; `normalised`: with a normalisation and ReLU behind it."""

    inputs: int
    outputs: int
    kernel: int = 3
    stride: int = 1
    padding: int = 1
    transposed: bool = False
    normalised: bool = True

    @property
    def parameters(self) -> int:
        """Weights and biases, and a scale and a shift for each normalised channel."""
        convolution = self.outputs * self.inputs * self.kernel**2 + self.outputs
        return convolution + (2 * self.outputs if self.normalised else 0)

    def size(self, side: int) -> int:
        if self.transposed:
            return (side - 1) * self.stride - 2 * self.padding + self.kernel
        return (side + 2 * self.padding - self.kernel) // self.stride + 1


@dataclass(frozen=True)
class Pooling:
    """A maximum over windows."""

    kernel: int = 2
    stride: int = 2
    padding: int = 0

    def size(self, side: int) -> int:
        return (side + 2 * self.padding - self.kernel) // self.stride + 1


@dataclass(frozen=True)
class Autoencoder:
    """A client module and the decoder that it is trained with in phase 1."""

    module: tuple[Convolution | Pooling, ...]
    decoder: tuple[Convolution, ...]

    @property
    def layers(self) -> tuple[Convolution | Pooling, ...]:
        return self.module + self.decoder


def client_autoencoder(cut_layer: int, channels: int = 3, width: int = 64) -> Autoencoder:
    """The module up to a cut of Table 1 and its decoder: Table 9 for 2, Table 10 for 4."""
    if not 1 <= cut_layer <= len(_MULTIPLES):
        raise ValueError(f"training.cut_layer = {cut_layer} is not in 1 to {len(_MULTIPLES)}")
    widths = [channels, *(width * multiple for multiple in _MULTIPLES[:cut_layer])]
    module = tuple(Convolution(a, b) for a, b in pairwise(widths))
    return Autoencoder((*module, Pooling()), mirrored(module))


def mirrored(module: Sequence[Convolution | Pooling]) -> tuple[Convolution, ...]:
    """A module's convolutions transposed, last first, and one more among the image's channels."""
    convolutions = [layer for layer in module if isinstance(layer, Convolution)]
    channels = convolutions[0].inputs
    transposed = [
        Convolution(layer.outputs, layer.inputs, layer.kernel, layer.stride, layer.padding, True)
        for layer in reversed(convolutions)
    ]
    return (*transposed, Convolution(channels, channels, normalised=False))
