"""How much memory a trial needs at its peak, as a sum of parts that are counted from its config.

The parts are those that grow: what Python and torch take themselves is measured (`_PROCESS`).
Evidence: `tests/benchmark/test_work.py`; measured peaks are in `docs/estimates.md`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ..config import RunConfig
from .facts import Facts
from .work import participants, round_steps, step_bytes, views_of

_PROCESS = 330 << 20
"""A worker after its imports, resident (torch 2.13, CPU)."""
_FLOAT = 4
_STATES = 4
"""Of each participant at once: what it starts from, what it trained, what is averaged, a spare."""
_ONCE = 0.5
"""Two layers save most tensors, as output and as input: such a one is held once."""
_STEP_STATES = 4
"""Weights, gradients and two moments."""


@dataclass(frozen=True)
class Memory:
    """Bytes of a trial at its peak.

    process: the interpreter and torch. data: images. weights: of the participants' models. step:
    the activations, gradients and moments of a training step.
    """

    process: int
    data: int
    weights: int
    step: int

    @property
    def total(self) -> int:
        """All parts together."""
        return sum(asdict(self).values())


def memory_of(config: RunConfig, facts: Facts, device: str = "cpu") -> Memory:
    """What a trial of `config` needs."""
    network, data, options = facts.network(config), config.data, config.options
    pixels = data["channels"] * data["image_size"] ** 2
    if config.stage == "costs":
        return Memory(_PROCESS, 0, 10 * network.bytes, 10 * network.image_bytes)
    images = facts.images(data, "part") + facts.images(data, "test_part")
    # Images as bytes, and once more where they are brought to size.
    stored = 2 * images * pixels
    if config.stage != "federated":
        batch = min(options.get("batch_size", 500), max(1, facts.images(data, "part")))
        views = views_of(config) if config.stage == "pretraining" else 1
        step = round(_ONCE * views * batch * network.image_bytes) + _STEP_STATES * network.bytes
        return Memory(_PROCESS, stored, network.bytes, step)
    dealt = facts.dealt(config)
    n, sizes = participants(config, dealt)
    views = views_of(config)
    steps = round_steps(config, network, sizes, device)
    batch = min(options["batch_size"], max(sizes, default=1))
    saved_once = round(_ONCE * network.image_bytes)
    one = views * batch * saved_once + _STEP_STATES * network.bytes
    step = max(one * steps.at_once, min(step_bytes(device), images * network.image_bytes))
    if "server_epochs" in options:
        every = sum(dealt.training)
        batch = min(options["server_batch_size"], every)
        share = network.module_multiply_adds / network.multiply_adds
        saved = round(network.image_bytes * _ONCE * (1 - share))
        # The clients' module is only run, and keeps nothing for a backward pass.
        step = max(step, 2 * batch * saved + _STEP_STATES * network.bytes)
        n = 1  # clients have modules only
    return Memory(_PROCESS, stored, _STATES * n * network.bytes, step)
