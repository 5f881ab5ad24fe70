"""One client of MFCL or of its baselines, as a cell describes it (MFCL, Section 5.4).

Costs in the paper depend on what a client trains: a whole network (FedSimCLR), two of them (FedEMA,
Section 5.7), or a client module with its decoder (MFCL). Which module that is, the paper says twice
and differently: Tables 9 and 10 show the first layers of a VGG and a pooling, Section 5.1 takes the
first layers of the network itself, and the size of a representation in Section 5.4 is that before
the pooling. All are readings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
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
_CLASSIFIER_SIDE = 224
VIEWS = 2
PRINTED_RATE = "as printed, times R"
CODED = "divided by R"
CODED_SUPPORT = "Section 5.4: a code of rate R sends 1/R bits for each bit"


@dataclass(frozen=True)
class Module:
    """A reading of the client module: its layers, and the images that it is given."""

    name: str
    support: str | None
    layers: Autoencoder
    side: int

    @property
    def alone(self) -> Measured:
        """The client module without its decoder."""
        return measure_layers(self.layers.module, self.side)[0]

    @property
    def trained(self) -> Measured:
        """The client module and its decoder."""
        return measure_layers(self.layers.layers, self.side)[0]

    @property
    def representation(self) -> tuple[int, int]:
        """Channels and side of what the module puts out for one image."""
        outputs = [one.outputs for one in self.layers.module if isinstance(one, Convolution)]
        return outputs[-1], measure_layers(self.layers.module, self.side)[1]


@dataclass(frozen=True)
class Network:
    """A reading of the network that a baseline trains end to end."""

    name: str
    support: str | None
    encoder: Encoder
    channels: int
    side: int

    @property
    def measured(self) -> Measured:
        """The network in numbers."""
        return measure(self.encoder, self.channels, self.side)


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

    def modules(self) -> list[Module]:
        """Readings of the client module, the one with the text's size of representations first."""
        listed = client_autoencoder(self.cut_layer, self.channels)
        unpooled = Autoencoder(listed.module[:-1], listed.decoder)
        found = [
            Module(
                "module as listed, before its pooling",
                "Section 5.4: 32 x 32 x 64 values, stride 1",
                unpooled,
                self.side,
            ),
            Module("module as listed", "Tables 9 and 10", listed, self.side),
        ]
        own = self._own(self.encoder)
        if _convolutions(own) == _convolutions(listed):
            return found
        section = f"Section 5.1: the first {self.cut_layer} layers of the network"
        found.append(Module("network's own first layers", section, own, self.side))
        if getattr(self.encoder, "stem", "imagenet") != "imagenet":
            behind = _with(self.encoder, stem="imagenet")
            name = "network's own first layers with the ImageNet stem"
            found.append(
                Module(name, section + "; its stem is unstated", self._own(behind), self.side)
            )
        return found

    def _own(self, encoder: Encoder) -> Autoencoder:
        module = first_layers(encoder, self.channels, self.side, self.cut_layer)
        return Autoencoder(module, mirrored(module))

    def end_to_end(self) -> list[Network]:
        """Readings of the network that is trained end to end, the bound one first."""
        found = [
            Network(self._at(self.side), "Section 5.1", self.encoder, self.channels, self.side)
        ]
        if getattr(self.encoder, "classifier", "none") != "none":
            found[0] = dataclasses.replace(
                found[0], support="Appendix B.2.3: 138 million parameters, ImageNet's dense layers"
            )
            bare = _with(self.encoder, classifier="none")
            larger = self._at(_CLASSIFIER_SIDE)
            support = "Appendix B.2.3: the 138 million belong to the network for such images"
            found += [
                Network(larger, support, self.encoder, self.channels, _CLASSIFIER_SIDE),
                Network(
                    f"convolutions alone, {self._at(self.side)}",
                    None,
                    bare,
                    self.channels,
                    self.side,
                ),
            ]
        return found

    def _at(self, side: int) -> str:
        return f"images of {side} x {side}"


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


def with_code(
    one: Client, equation: str, readings: Sequence[tuple[str, str | None, int, str]]
) -> Iterator[Candidate]:
    """Bits of values that are sent with coding: the first reading times R, then all divided by R.

    readings: name, support, how many values, and how that number comes about.
    """
    _, _, count, text = readings[0]
    text = f"{text} x {one.value_bits} bits"
    bits = count * one.value_bits
    yield Candidate(f"{equation} {PRINTED_RATE}", bits * one.rate, f"{text} x R", equation)
    for name, support, count, text in readings:
        yield Candidate(
            f"{equation} {CODED}, {name}",
            count * one.value_bits / one.rate,
            f"{text} x {one.value_bits} bits / R",
            None if support is None else f"{CODED_SUPPORT}; {support}",
        )
