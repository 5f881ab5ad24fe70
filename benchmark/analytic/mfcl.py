"""Costs of one client of MFCL or of its baselines, and the layers of its module (MFCL, Section 5).

Costs depend on what a client trains: a whole network (FedSimCLR), two of them (FedEMA, Section
5.7), or a client module with its decoder (MFCL). Which module that is, the paper says twice and
differently: Tables 9 and 10 show the first layers of a VGG and a pooling, Section 5.1 takes the
first layers of the network itself. The size of a representation is that before the pooling.
Formulas raise `SpecError` for a missing setting, and `LookupError` for a method whose costs the
paper takes over without an equation (Section 5.2).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ...methods.costs.model_costs import FLOPS_PER_MULTIPLY_ADD
from ...methods.encoders.base import Encoder
from ...methods.nn.mfcl_modules import (
    Autoencoder,
    Convolution,
    Pooling,
    client_autoencoder,
    mirrored,
)
from ..spec.model import Cell
from . import Analytic, Candidate, encoder_of, from_candidates, refused, setting
from .networks import Measured, first_layers, measure, measure_layers

_NETWORKS = {"mfcl": 0, "fedema": 2, "fedsimclr": 1}
_NORMALISATIONS = {"twin": "TN", "group": "GN", "batch": "BN"}
_IMAGE = ("clients.channels", "clients.image_size")
_VIEWS = 2
_PASSES = 3
_SEARCHED = 20  # readings of Eq. 6 among which a search found those that fit a module
_ALONE = "Appendix B.2.3: footprints are those of the client modules"
_OURS = "an interpretation of ours, as the paper has no formula for β"


@dataclass(frozen=True)
class Trained:
    """An interpretation of what a client trains, in numbers, and where the paper says so
    (`source`). `whole`: with the decoder. `alone`: the client module without it; None for a whole
    network. `representation`: channels and side of what a module puts out for one image."""

    name: str
    source: str
    whole: Measured
    alone: Measured | None = None
    representation: tuple[int, int] = (0, 0)


class Client:
    """What a cell says of a client. `networks`: how many it trains end to end, 0 for MFCL."""

    def __init__(self, cell: Cell) -> None:
        method = setting(cell, "method")
        if method not in _NETWORKS:
            raise LookupError(
                f"the paper has no equation for the costs of '{method}' (only for those of "
                f"{', '.join(_NETWORKS)}), and takes some over from other papers (Section 5.2)"
            )
        self.cell, self.networks, self.encoder = cell, _NETWORKS[method], encoder_of(cell)
        self.channels, self.side = (setting(cell, path) for path in _IMAGE)
        self.cut = setting(cell, "training.cut_layer")
        self.images = setting(cell, "costs.images")

    def trained(self) -> list[Trained]:
        """Interpretations of what is trained; first the module with the text's representations."""
        if self.networks:
            source = "Section 5.1"
            if getattr(self.encoder, "classifier", "none") != "none":
                source = "Appendix B.2.3: 138 million parameters, ImageNet's dense layers"
            return [Trained("", source, measure(self.encoder, self.channels, self.side))]
        listed = client_autoencoder(self.cut, self.channels)
        unpooled = Autoencoder(listed.module[:-1], listed.decoder)
        text = "Section 5.4: 32 x 32 x 64 values, stride 1"
        found = [self._module("module as listed, before its pooling", text, unpooled)]
        own = self._own(self.encoder)
        if _convolutions(own) != _convolutions(listed):
            name = "network's own first layers"
            text = f"Section 5.1: the first {self.cut} layers of the network"
            found.append(self._module(name, text, own))
            if getattr(self.encoder, "stem", "imagenet") != "imagenet":
                behind = self._own(replace(self.encoder, stem="imagenet"))  # type: ignore[call-arg]
                name, text = f"{name} with the ImageNet stem", f"{text}; its stem is unstated"
                found.append(self._module(name, text, behind))
        return found

    def times(self) -> str:
        """What an arithmetic begins with where several networks are trained."""
        return f"{self.networks} networks x " if self.networks > 1 else ""

    def sent_in_phase_2(self) -> list[Candidate]:
        """Interpretations of what it sends of representations, as the text's example counts."""
        if self.networks:
            return [Candidate("", 0, "0 values", "Section 5.4: no second phase")]
        found, vectors = [], setting(self.cell, "training.representations")
        for one in self.trained():
            channels, side = one.representation
            values = side**2 * channels * self.images * vectors
            how = f"{side} x {side} x {channels} x {self.images:,} images x {vectors} vectors"
            found.append(Candidate(one.name, values, how, one.source))
        return found

    def with_code(self, equation: str, sent: Sequence[Candidate]) -> Analytic:
        """Bits of values sent with coding: the first interpretation times R, then all divided by R.
        The equations multiply by the code rate R = 1/3; such a code sends three bits for each."""
        rate = Fraction(str(setting(self.cell, "costs.code_rate")))
        each = setting(self.cell, "costs.value_bits")
        found, printed = list[Candidate](), f"{equation} as printed, times R"
        for one in sent:
            bits, how = one.value * each, f"{one.arithmetic} x {each} bits"
            if not found:
                found.append(Candidate(printed, bits * rate, f"{how} x R", equation))
            name = f"{equation} divided by R" + (f", {one.name}" if one.name else "")
            source = f"Section 5.4: a code of rate R sends 1/R bits for each bit; {one.source}"
            found.append(Candidate(name, bits / rate, f"{how} / R", source))
        return from_candidates(self.cell, found)

    def _module(self, name: str, source: str, layers: Autoencoder) -> Trained:
        whole, _ = measure_layers(layers.layers, self.side)
        alone, side = measure_layers(layers.module, self.side)
        return Trained(name, source, whole, alone, (_convolutions(layers)[-1].outputs, side))

    def _own(self, encoder: Encoder) -> Autoencoder:
        module = first_layers(encoder, self.channels, self.side, self.cut)
        return Autoencoder(module, mirrored(module))


def round_bits(cell: Cell) -> Analytic:
    """Bits of one round of phase 1 (Eq. 4 for T = 1); the decoder goes both ways (Algorithm 1)."""
    one = Client(cell)
    weights = ((trained, trained.whole.weights) for trained in one.trained())
    sent = [Candidate(of.name, 2 * n, f"2 x {n:,} weights", of.source) for of, n in weights]
    return one.with_code("Eq. 4", sent)


def representation_size(cell: Cell) -> Analytic:
    """Values of all representations that a client sends in phase 2 (Section 5.4).
    |z| is the module's output for one image times the client's images, sent in `rho` vectors. Each
    vector holds two views of each image (16 for rho = 8), which the text's own example, 32 x 32 x
    64 x |D|, does not count. Methods without a second phase send none."""
    return from_candidates(cell, Client(cell).sent_in_phase_2())


def representation_bits(cell: Cell) -> Analytic:
    """Bits that a client sends in phase 2 (Eq. 5)."""
    one = Client(cell)
    return one.with_code("Eq. 5", one.sent_in_phase_2())


def communication_bits(cell: Cell) -> Analytic:
    """Bits of the whole training (Section 5.4: Eq. 4 plus Eq. 5), of one module in both phases."""
    one, sent = Client(cell), []
    rounds = setting(cell, "training.rounds")
    for trained, second in zip(one.trained(), one.sent_in_phase_2(), strict=True):
        weights = trained.whole.weights
        how = f"(2 x {weights:,} weights x {rounds} rounds + {second.value:,} values)"
        values = 2 * weights * rounds + second.value
        sent.append(Candidate(trained.name, values, how, trained.source))
    return one.with_code("Eqs. 4 and 5", sent)


def client_memory(cell: Cell) -> Analytic:
    """Bytes that a client needs in training: weights, gradients and feature maps (Eq. 6).

    Eq. 6 multiplies all three by the size 2K of a mini-batch and by four bytes. Feature maps are
    taken to be those of convolutions and dense layers. It leaves open whether the client's weights
    include the decoder. That they do not was found by a search for what gives the published value,
    so a fit is weak evidence. What fits ResNet-18's 11e7 does not fit ResNet-50's 23e7."""
    one, found = Client(cell), []
    views, each = _VIEWS * setting(cell, "training.batch_size"), setting(cell, "costs.value_bytes")
    for trained in one.trained():
        read = [(f"{trained.name} with decoder", trained.whole, trained.source)]
        if trained.alone is None:
            read = [("the whole network", trained.whole, trained.source)]
        else:
            source = f"{trained.source}; {_ALONE}"
            read.append((f"{trained.name} without decoder", trained.alone, source))
        for name, of, source in read:
            value = max(one.networks, 1) * (2 * of.weights + of.convolved) * views * each
            counted = f"(2 x {of.weights:,} + {of.convolved:,}) x {views} x {each} bytes"
            found.append(Candidate(name, value, one.times() + counted, f"{source}; Eq. 6"))
    return from_candidates(cell, found, searched=0 if one.networks else _SEARCHED)


def client_flops(cell: Cell) -> Analytic:
    """Floating-point operations of a client (Tables 3, 4 and 15; Section 5.4 has no formula).

    Taken here: two for each multiply-add, and twice the forward pass for the backward one. Counted
    are both views of all images in the local epochs of one round, for the module as listed with its
    decoder. A search over other spans, layers and counts of a multiply-add never gave more than one
    of the seven distinct values. So a cell that does not fit is `INCONCLUSIVE`: only a formula of
    the paper shows a misprint."""
    one, epochs = Client(cell), setting(cell, "training.local_epochs")
    if one.networks:
        adds = measure(one.encoder, one.channels, one.side).multiply_adds
    else:
        listed = client_autoencoder(one.cut, one.channels).layers
        adds = measure_layers(listed, one.side)[0].multiply_adds
    passes = _PASSES * _VIEWS * one.images * epochs
    each = f"{one.times()}{FLOPS_PER_MULTIPLY_ADD} x {adds:,} multiply-adds x {_PASSES} passes"
    arithmetic = f"{each} x {_VIEWS} views x {one.images:,} images x {epochs} local epochs"
    value = max(one.networks, 1) * FLOPS_PER_MULTIPLY_ADD * adds * passes
    stated = Candidate("all local epochs of one round", value, arithmetic, "β has no formula")
    return from_candidates(cell, [stated], ours=_OURS)


def module_layer(cell: Cell) -> Analytic:
    """The row of Tables 9 and 10 that the cell's row label counts to, from 1.
    Recomputed from the rule of `methods.nn.mfcl_modules`, which knows the cut and neither table.
    The working names the network's own layer where it differs (Section 5.1 takes the module from
    the network; Table 10's is in no ResNet-50). Raises `SpecError` where there is no such row."""
    channels, side = (setting(cell, path) for path in _IMAGE)
    encoder, cut = encoder_of(cell), setting(cell, "training.cut_layer")
    norm = setting(cell, "training.client_norm")
    network = client_autoencoder(cut, channels)
    rows = list(_rows(network, _NORMALISATIONS.get(norm, norm)))
    label = cell.row[-1]
    if not label.isdecimal() or not 1 <= int(label) <= len(rows):
        raise refused(cell, f"the module has rows 1 to {len(rows)}")
    text, upto = rows[int(label) - 1]
    measured, after = measure_layers(network.layers[:upto], side)
    alone, whole = (measure_layers(one, side)[0] for one in (network.module, network.layers))
    working = [
        f"cut after layer {cut}, row {label}: {text}",
        f"up to this row: {measured.weights:,} weights (biases, scales and shifts included), "
        f"{measured.multiply_adds:,} multiply-adds, images of side {after}",
        f"client module {alone.weights:,} weights, with decoder {whole.weights:,}",
    ]
    own = first_layers(encoder, channels, side, cut)
    theirs = [layer for layer in own if isinstance(layer, Convolution)]
    if upto <= len(theirs) and network.layers[upto - 1] != (has := theirs[upto - 1]):
        working.append(
            f"{encoder} has there a convolution of {has.inputs} to {has.outputs} channels, "
            f"{has.kernel} x {has.kernel}, stride {has.stride}"
        )
    return Analytic(text=text, working=tuple(working))


def _rows(network: Autoencoder, norm: str) -> Iterator[tuple[str, int]]:
    """Each row as the tables print it, and how many layers there are up to it."""
    layers = network.layers
    for at, layer in enumerate(layers, 1):
        if isinstance(layer, Pooling):
            continue
        numbers = (layer.inputs, layer.outputs, layer.kernel, layer.stride, layer.padding)
        kind = "Conv2DTranspose" if layer.transposed else "Conv2D"
        yield f"{kind}({', '.join(map(str, numbers))})", at
        behind = layers[at] if at < len(layers) else None
        if layer.normalised and isinstance(behind, Pooling):
            yield f"{norm}, ReLU, MaxPool2D({behind.kernel}, {behind.stride})", at + 1
        elif layer.normalised:
            yield f"{norm}, ReLU", at


def _convolutions(network: Autoencoder) -> list[Convolution]:
    return [layer for layer in network.module if isinstance(layer, Convolution)]
