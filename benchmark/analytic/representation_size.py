"""Values of all representations that a client sends in training phase 2 (MFCL, Section 5.4).

|z| is the module's output for one image times the client's images, sent in `rho` vectors. Each
vector holds two views of each image (16 for rho = 8), which the text's own example, 32 x 32 x 64 x
|D|, does not count: a reading does. Methods without a second phase send none.
Evidence: `tests/benchmark/test_analytic_mfcl.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...methods.nn.mfcl_modules import Autoencoder, client_autoencoder
from ..spec.model import Cell
from ._mfcl import VIEWS, Client, Module, client
from .base import Analytic, Candidate, from_candidates

NO_SECOND_PHASE = Candidate("no second phase", 0, "nothing is sent", "Section 5.4")
_EXAMPLE_CUT, _EXAMPLE_SIDE = 2, 32


@dataclass(frozen=True)
class Size:
    """A reading of the size: how many values, and which module is trained for them."""

    name: str
    values: int
    arithmetic: str
    support: str | None
    module: Module


def recompute(cell: Cell) -> Analytic:
    """Values that one client sends; raises as `client` does."""
    one = client(cell)
    if one.networks:
        return from_candidates(cell, [NO_SECOND_PHASE])
    candidates = [Candidate(s.name, s.values, s.arithmetic, s.support) for s in sizes(one)]
    return from_candidates(cell, candidates)


def sizes(one: Client) -> Iterator[Size]:
    """Readings of the size, the one that the text states first."""
    modules = one.modules()
    example = client_autoencoder(_EXAMPLE_CUT, one.channels)
    of_text = Module(
        "output of ResNet-18's module on images of 32 x 32",
        None,
        Autoencoder(example.module[:-1], example.decoder),
        _EXAMPLE_SIDE,
    )
    sent = [(module, module) for module in modules] + [(of_text, modules[0])]
    for views in (1, VIEWS):
        for module, trained in sent:
            outputs, side = module.representation
            counted = f"{side} x {side} x {outputs} x {one.images:,} images x {one.vectors} vectors"
            both = f" x {views} views" if views > 1 else ""
            support = module.support
            if support is not None and both:
                support += "; each vector contains two views"
            yield Size(
                module.name + (", both views counted" if both else ""),
                side**2 * outputs * one.images * one.vectors * views,
                counted + both,
                support,
                trained,
            )
