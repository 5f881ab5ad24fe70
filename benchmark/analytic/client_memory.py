"""Bytes that a client needs in training: weights, gradients and feature maps (MFCL, Eq. 6).

Eq. 6 multiplies all three by the size 2K of a mini-batch and by four bytes. It leaves open which
layers have feature maps, whether the decoder belongs to the client's weights, and the batch of the
baselines. Weights and gradients do not depend on the batch, so a reading counts them once.
The readings without the decoder and without the factor of bytes come from a blind search over
thousands of combinations (maps, their gradients, optimiser state, batches, image sizes, bytes or
values) that hit the print with them; support was looked for afterwards. A fit is weak evidence, and
the reading that fits ResNet-18's 11e7 does not fit ResNet-50's 23e7.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from ..spec.model import Cell
from ._mfcl import VIEWS, Client, client
from ._network import Measured
from .base import Analytic, Candidate, from_candidates

_EQUATION = "Eq. 6"
_ONCE = "Section 5.4: memory for parameters, gradients and feature maps, of which only maps repeat"
_ALONE = "Appendix B.2.3: footprints are those of the client modules"
_BATCH = "the batch of the baselines is unstated"
Maps = tuple[str, int]
"""A reading of which feature maps there are: its name, and values for one image."""


def recompute(cell: Cell) -> Analytic:
    """Bytes of one client; raises as `client` does."""
    one = client(cell)
    return from_candidates(cell, list(_end_to_end(one) if one.networks else _modular(one)))


def _end_to_end(one: Client) -> Iterator[Candidate]:
    batches = ((VIEWS * one.batch, None), (one.batch, _BATCH))
    for network in one.end_to_end():
        if network.support is None:
            continue
        for maps in _maps(network.measured):
            for (views, batch), once in product(batches, (False, True)):
                sources = (network.support, batch)
                yield _candidate(one, network.name, network.measured, maps, views, once, sources)
            yield _in_values(one, network.name, network.measured, maps)


def _modular(one: Client) -> Iterator[Candidate]:
    views, image = VIEWS * one.batch, one.channels * one.side**2
    for once, module, decoder in product((False, True), one.modules(), (True, False)):
        measured = module.trained if decoder else module.alone
        name = f"{module.name} {'with' if decoder else 'without'} decoder"
        with_image = ("image and maps of convolutions", image + measured.convolved)
        for maps in (*_maps(measured), with_image):
            sources = (module.support, None if decoder else _ALONE)
            yield _candidate(one, name, measured, maps, views, once, sources)


def _maps(measured: Measured) -> tuple[Maps, Maps]:
    return ("maps of convolutions", measured.convolved), ("maps of all layers", measured.mapped)


def _candidate(
    one: Client,
    name: str,
    measured: Measured,
    maps: Maps,
    views: int,
    once: bool,
    sources: Sequence[str | None],
) -> Candidate:
    """Eq. 6; `once`: with weights and gradients counted once, not for each view."""
    which, mapped = maps
    weights, networks = 2 * measured.weights, max(one.networks, 1)
    values = weights + mapped * views if once else (weights + mapped) * views
    counted = f"(2 x {measured.weights:,} + {mapped:,}) x {views}"
    if once:
        counted = f"(2 x {measured.weights:,} + {mapped:,} x {views})"
    return Candidate(
        f"{name}, {which}, weights {'once' if once else 'times 2K'}, 2K = {views}",
        networks * values * one.value_bytes,
        f"{_times(networks)}{counted} x {one.value_bytes} bytes",
        "; ".join(filter(None, (*sources, _ONCE if once else _EQUATION))),
    )


def _in_values(one: Client, name: str, measured: Measured, maps: Maps) -> Candidate:
    """Eq. 6 without its last factor, which the weights of three networks suggest."""
    which, mapped = maps
    return Candidate(
        f"{name}, {which}, weights times 2K, 2K = {one.batch}, without the factor of "
        f"{one.value_bytes} bytes",
        one.networks * (2 * measured.weights + mapped) * one.batch,
        f"{_times(one.networks)}(2 x {measured.weights:,} + {mapped:,}) x {one.batch}",
        None,
    )


def _times(networks: int) -> str:
    return f"{networks} networks x " if networks > 1 else ""
