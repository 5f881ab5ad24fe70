"""One client of MFCL or of its baselines, as a cell describes it (MFCL, Section 5.4).

Costs in the paper depend on what a client trains: a whole network (FedSimCLR), two of them (FedEMA,
Section 5.7), or a client module with its decoder (MFCL). Which module that is, the paper says twice
and differently: Tables 9 and 10 show the first layers of a VGG and a pooling, Section 5.1 takes the
first layers of the network itself. The size of a representation is that before the pooling.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...methods.encoders.base import Encoder
from ...methods.nn.mfcl_modules import (
    Autoencoder,
    Convolution,
    client_autoencoder,
    mirrored,
)
from ..spec.model import Cell
from ._network import Measured, first_layers, measure, measure_layers
from .base import Candidate, encoder_of, setting

_NETWORKS = {"mfcl": 0, "fedema": 2, "fedsimclr": 1}
VIEWS = 2


@dataclass(frozen=True)
class Trained:
    """A reading of what a client trains, in numbers.

    source: where the paper says so. whole: with the decoder. alone: the client module without it;
    None for a whole network. representation: channels and side of what a module puts out for one
    image.
    """

    name: str
    source: str
    whole: Measured
    alone: Measured | None = None
    representation: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Sent:
    """A reading of how many values are sent. how: the arithmetic behind `values`."""

    name: str
    source: str
    values: int
    how: str


@dataclass(frozen=True)
class Client:
    """What a cell says of a client.

    networks: how many it trains end to end, 0 for MFCL. batch: images in a mini-batch, of which
    each has two views. vectors: representation vectors of all its images that it sends. rate: of
    the channel code, useful bits for each bit sent.
    """

    networks: int
    encoder: Encoder
    channels: int
    side: int
    cut_layer: int
    rounds: int
    epochs: int
    batch: int
    images: int
    vectors: int
    value_bits: int
    value_bytes: int
    rate: Fraction

    def trained(self) -> list[Trained]:
        """Readings of what is trained; of modules the one with the text's representations first."""
        if self.networks:
            source = "Section 5.1"
            if getattr(self.encoder, "classifier", "none") != "none":
                source = "Appendix B.2.3: 138 million parameters, ImageNet's dense layers"
            return [Trained("", source, self.network)]
        listed = self.listed
        unpooled = Autoencoder(listed.module[:-1], listed.decoder)
        text = "Section 5.4: 32 x 32 x 64 values, stride 1"
        found = [self._module("module as listed, before its pooling", text, unpooled)]
        own = self._own(self.encoder)
        if _convolutions(own) != _convolutions(listed):
            name = "network's own first layers"
            text = f"Section 5.1: the first {self.cut_layer} layers of the network"
            found.append(self._module(name, text, own))
            if getattr(self.encoder, "stem", "imagenet") != "imagenet":
                behind = self._own(_with(self.encoder, stem="imagenet"))
                name, text = f"{name} with the ImageNet stem", f"{text}; its stem is unstated"
                found.append(self._module(name, text, behind))
        return found

    @property
    def times(self) -> str:
        """What an arithmetic begins with where several networks are trained."""
        return f"{self.networks} networks x " if self.networks > 1 else ""

    @property
    def network(self) -> Measured:
        """The whole network."""
        return measure(self.encoder, self.channels, self.side)

    @property
    def listed(self) -> Autoencoder:
        """The client module and its decoder as Tables 9 and 10 list them, pooling included."""
        return client_autoencoder(self.cut_layer, self.channels)

    def sent_in_phase_2(self) -> list[Sent]:
        """Readings of all representations that it sends, as the text's example counts them."""
        if self.networks:
            return [Sent("", "Section 5.4: no second phase", 0, "0 values")]
        found = []
        for one in self.trained():
            channels, side = one.representation
            values = side**2 * channels * self.images * self.vectors
            how = f"{side} x {side} x {channels} x {self.images:,} images x {self.vectors} vectors"
            found.append(Sent(one.name, one.source, values, how))
        return found

    def _module(self, name: str, source: str, layers: Autoencoder) -> Trained:
        whole, _ = measure_layers(layers.layers, self.side)
        alone, side = measure_layers(layers.module, self.side)
        return Trained(name, source, whole, alone, (_convolutions(layers)[-1].outputs, side))

    def _own(self, encoder: Encoder) -> Autoencoder:
        module = first_layers(encoder, self.channels, self.side, self.cut_layer)
        return Autoencoder(module, mirrored(module))


def _with(encoder: Encoder, **options: str) -> Encoder:
    return dataclasses.replace(encoder, **options)


def _convolutions(network: Autoencoder) -> list[Convolution]:
    return [layer for layer in network.module if isinstance(layer, Convolution)]


def client(cell: Cell) -> Client:
    """The client of a cell.

    Raises `SpecError` if its experiment lacks a setting, `LookupError` for a method whose costs the
    paper takes over without an equation (Section 5.2).
    """
    method = setting(cell, "method")
    if method not in _NETWORKS:
        raise LookupError(
            f"the paper has no equation for the costs of '{method}' (only for those of "
            f"{', '.join(_NETWORKS)}), and takes some over from other papers (Section 5.2)"
        )
    return Client(
        networks=_NETWORKS[method],
        encoder=encoder_of(cell),
        channels=setting(cell, "clients.channels"),
        side=setting(cell, "clients.image_size"),
        cut_layer=setting(cell, "training.cut_layer"),
        rounds=setting(cell, "training.rounds"),
        epochs=setting(cell, "training.local_epochs"),
        batch=setting(cell, "training.batch_size"),
        vectors=setting(cell, "training.representations"),
        images=setting(cell, "costs.images"),
        value_bits=setting(cell, "costs.value_bits"),
        value_bytes=setting(cell, "costs.value_bytes"),
        rate=Fraction(str(setting(cell, "costs.code_rate"))),
    )


def with_code(one: Client, equation: str, readings: Sequence[Sent]) -> list[Candidate]:
    """Bits of values that are sent with coding: the first reading times R, then all divided by R.

    The equations multiply by the code rate R = 1/3; a code of that rate sends three bits for each.
    """
    bits = [
        (sent.values * one.value_bits, f"{sent.how} x {one.value_bits} bits") for sent in readings
    ]
    first, how = bits[0]
    found = [Candidate(f"{equation} as printed, times R", first * one.rate, f"{how} x R", equation)]
    for sent, (count, how) in zip(readings, bits, strict=True):
        name = f"{equation} divided by R" + (f", {sent.name}" if sent.name else "")
        source = f"Section 5.4: a code of rate R sends 1/R bits for each bit; {sent.source}"
        found.append(Candidate(name, count / one.rate, f"{how} / R", source))
    return found
