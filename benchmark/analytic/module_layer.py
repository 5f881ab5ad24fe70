"""Rows of MFCL's Tables 9 and 10: layers of the client module and its decoder.

Recomputed from the rule that `methods.nn.mfcl_modules` states, which knows the cut and neither
table: a VGG's first convolutions, one pooling, and their mirror image. The working counts weights,
outputs and multiply-adds, and names the network's own layer where it differs (Section 5.1 takes the
module from the network; Table 10's is in no ResNet-50).
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...methods.nn.mfcl_modules import (
    Autoencoder,
    Convolution,
    Pooling,
    client_autoencoder,
)
from ..errors import SpecError
from ..spec.model import Cell
from ._network import first_layers, measure_layers
from .base import Analytic, encoder_of, setting

_NORMALISATIONS = {"twin": "TN", "group": "GN", "batch": "BN"}


def recompute(cell: Cell) -> Analytic:
    """The row that the cell's row label counts to, from 1.

    Raises `SpecError` if the experiment lacks a setting or the module has no such row.
    """
    encoder = encoder_of(cell)
    channels, side = setting(cell, "clients.channels"), setting(cell, "clients.image_size")
    cut, norm = setting(cell, "training.cut_layer"), setting(cell, "training.client_norm")
    network = client_autoencoder(cut, channels)
    rows = list(_rows(network, _NORMALISATIONS.get(norm, norm)))
    label = cell.row[-1]
    if not label.isdecimal() or not 1 <= int(label) <= len(rows):
        raise SpecError(
            f"{cell.paper}, table {cell.table}, {cell.label}: the module has rows 1 to {len(rows)}"
        )
    text, upto = rows[int(label) - 1]
    measured, after = measure_layers(network.layers[:upto], side)
    alone, whole = (measure_layers(one, side)[0] for one in (network.module, network.layers))
    working = [
        f"cut after layer {cut}, row {label}: {text}",
        f"up to this row: {measured.weights:,} weights (biases, scales and shifts included), "
        f"{measured.multiply_adds:,} multiply-adds, images of side {after}",
        f"client module {alone.weights:,} weights, with decoder {whole.weights:,}",
    ]
    working += _own(network, first_layers(encoder, channels, side, cut), upto, str(encoder))
    return Analytic(text=text, working=tuple(working))


def _rows(network: Autoencoder, norm: str) -> Iterator[tuple[str, int]]:
    """Each row as the tables print it, and how many layers there are up to it."""
    layers = network.layers
    for at, layer in enumerate(layers):
        if isinstance(layer, Pooling):
            continue
        numbers = (layer.inputs, layer.outputs, layer.kernel, layer.stride, layer.padding)
        kind = "Conv2DTranspose" if layer.transposed else "Conv2D"
        yield f"{kind}({', '.join(map(str, numbers))})", at + 1
        if layer.normalised:
            behind = layers[at + 1]
            if isinstance(behind, Pooling):
                yield f"{norm}, ReLU, MaxPool2D({behind.kernel}, {behind.stride})", at + 2
            else:
                yield f"{norm}, ReLU", at + 1


def _own(
    network: Autoencoder, own: tuple[Convolution | Pooling, ...], upto: int, encoder: str
) -> Iterator[str]:
    """The layer that the network itself has where the module has another convolution."""
    layer = network.layers[upto - 1]
    theirs = [one for one in own if isinstance(one, Convolution)]
    if upto <= len(theirs) and layer != theirs[upto - 1]:
        has = theirs[upto - 1]
        yield (
            f"{encoder} has there a convolution of {has.inputs} to {has.outputs} channels, "
            f"{has.kernel} x {has.kernel}, stride {has.stride}"
        )
