"""How much a trial computes, counted from its config: operators, multiply-adds, bytes, weights.

How often a method passes an image through the encoder, forward or forward and back, and how many
operators it runs in a round, an epoch, a step and for a client is counted (`operations`); networks
and clients' data are counted, too (`facts`). Which clients share steps is what the engine would
choose (`methods/training/steps.py`): its rule is repeated here, since it needs torch.
Evidence: `tests/benchmark/test_work.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..config import RunConfig
from .operations import BATCH, TEST, counted_of, weighed

if TYPE_CHECKING:
    from .facts import Dealt, Facts, Network

PASSES = 3
"""A forward and a backward pass cost about three forward passes."""
_LEAST_STACK = 4
"""Fewer clients than that train one at a time (`steps.fitting`)."""
_FEDAVG_COPIES = 10
"""How often a round copies or adds up the weights of each client (drawn, stacked, averaged)."""
_HEAD_STEP, _NETWORK_STEP = 60, 150
"""Operators of a step that trains a dense layer, and a small network (counted on FedAvg's)."""
_EMBEDDED = 400
"""What t-SNE takes for an image, in operators: found on this project's own runs of 500."""
_FIXED = 3_000
"""Operators of a trial besides: its data, its first weights, its record."""
_COUNTED_WEIGHTS, _COUNTED_IMAGES = 80, 50
"""Counting costs makes ten rounds with two to six images: so often it touches every weight, and so
many images pass (15 images twice, and what checks them). Found on this project's own runs."""


@dataclass(frozen=True)
class Work:
    """What a trial or a step computes.

    operators, stacked_operators: of torch, run one by one; a stack of models is made of more and
    cheaper ones. multiply_adds: of convolutions and dense layers. bytes,
    stacked_bytes: that autograd saves, of single and of stacked models. weights: moved by an
    optimiser, or copied. view_numbers: of drawn views.
    """

    operators: float = 0.0
    stacked_operators: float = 0.0
    multiply_adds: float = 0.0
    bytes: float = 0.0
    stacked_bytes: float = 0.0
    weights: float = 0.0
    view_numbers: float = 0.0

    def __add__(self, other: Work) -> Work:
        names = self.__dataclass_fields__
        return Work(**{name: getattr(self, name) + getattr(other, name) for name in names})


@dataclass(frozen=True)
class Steps:
    """How the clients of a round step through an epoch.

    in_turn: steps that follow each other. of_clients: steps of all clients. stacked: share of the
    images that pass through stacked models. at_once: the most clients of a step.
    """

    in_turn: float
    of_clients: float
    stacked: float
    at_once: int


def step_bytes(device: str) -> int:
    """Bytes that a step should take (`probing.step_bytes`)."""
    import torch

    from ...methods.training import probing

    return probing.step_bytes(torch.device(device))


def steps_of(
    sizes: Sequence[int], batch_size: int, client_bytes: int, alone: bool, device: str
) -> Steps:
    """How clients with so many images train; alone: whether unlike clients may not share steps."""
    at_once = step_bytes(device) // max(1, client_bytes)
    at_once = at_once if at_once >= _LEAST_STACK else 1
    steps = [math.ceil(size / batch_size) for size in sizes]
    if at_once == 1:
        chunks = [[n] for n in sizes]
    elif alone or len(set(sizes)) == 1:
        chunks = [
            [size] * min(at_once, count - first)
            for size, count in Counter(sizes).items()
            for first in range(0, count, at_once)
        ]
    else:
        order = sorted(sizes, reverse=True)
        chunks = [order[i : i + at_once] for i in range(0, len(order), at_once)]
    in_turn = sum(math.ceil(max(chunk) / batch_size) for chunk in chunks)
    together = sum(sum(chunk) for chunk in chunks if len(chunk) > 1)
    return Steps(
        in_turn,
        sum(steps),
        together / max(1, sum(sizes)),
        max((len(chunk) for chunk in chunks), default=1),
    )


def work_of(config: RunConfig, facts: Facts, device: str = "cpu") -> Work:
    """What one trial of `config` computes."""
    fixed = Work(operators=_FIXED)
    if config.stage == "costs":
        return fixed + _counting(facts.network(config))
    if config.stage == "pretraining":
        return fixed + _pretraining(config, facts)
    if config.stage == "federated":
        return fixed + _federated(config, facts, device)
    return fixed + _measurement(config, facts, device)


def _counting(network: Network) -> Work:
    return Work(
        weights=_COUNTED_WEIGHTS * network.weights, bytes=_COUNTED_IMAGES * network.image_bytes
    )


def _pretraining(config: RunConfig, facts: Facts) -> Work:
    options, images = config.options, facts.images(config.data, "part")
    steps = Steps(math.ceil(images / options["batch_size"]), 0, 0.0, 1)
    return _trained(config, facts.network(config), (1, options["epochs"]), 1, [images], steps, None)


def _federated(config: RunConfig, facts: Facts, device: str) -> Work:
    network, dealt = facts.network(config), facts.dealt(config)
    rounds = config.options["rounds"]
    taking_part, sizes = participants(config, dealt)
    steps = round_steps(config, network, sizes, device)
    epochs = config.options["local_epochs"]
    work = _trained(config, network, (rounds, epochs), taking_part, sizes, steps, dealt)
    moved = _FEDAVG_COPIES * rounds * taking_part * network.weights
    return work + Work(weights=moved)


def participants(config: RunConfig, dealt: Dealt) -> tuple[int, list[int]]:
    """How many clients take part in a round, and the images of so many usual ones."""
    training = sorted(dealt.training)
    n = max(1, round(config.options["participation"] * len(training)))
    if config.method.startswith("centralized"):
        return 1, [sum(training)]
    every = len(training) / n
    return n, [training[min(len(training) - 1, int((i + 0.5) * every))] for i in range(n)]


def round_steps(config: RunConfig, network: Network, sizes: Sequence[int], device: str) -> Steps:
    """How the engine would let the clients of a round share steps."""
    views, batch_size = views_of(config), config.options["batch_size"]
    images = min(batch_size, max(sizes, default=1))
    one = images * views * network.image_bytes + 4 * network.bytes
    # Objectives contrast images, and batch statistics mix them: padding is not exact then.
    alone = views > 1 or network.batch_statistics
    return steps_of(sizes, batch_size, one, alone, device)


def views_of(config: RunConfig) -> int:
    """Passes forward and back through the encoder for one image of a step."""
    back = counted_of(config).get("images_back", {})
    most = max((n for term, n in back.items() if term.endswith("SP")), default=BATCH)
    return max(1, round(most / BATCH))


def _trained(
    config: RunConfig,
    network: Network,
    loops: tuple[int, int],
    clients: int,
    sizes: Sequence[int],
    steps: Steps,
    dealt: Dealt | None,
) -> Work:
    """Work of rounds and epochs (`loops`) with the clients' images `sizes`."""
    (rounds, epochs), counted = loops, counted_of(config)
    options, shape = config.options, config.data
    turns = weighed(rounds, epochs, {
        "": 1, "S": steps.in_turn, "P": clients, "SP": steps.of_clients or steps.in_turn,
    })  # fmt: skip
    if dealt is not None:  # once is what all clients do: personal training, the last evaluation
        every = sum(dealt.train) / BATCH
        turns |= {"1S": every / max(1, len(dealt.train)), "1P": len(dealt.train), "1SP": every}
    tested = (dealt.distinct_test, sum(dealt.test)) if dealt is not None else (0, 0)
    usual = sum(sizes) / max(1, len(sizes))
    images = weighed(rounds, epochs, {
        "": tested[0] / TEST, "S": usual / BATCH, "P": tested[1] / TEST,
        "SP": sum(sizes) / BATCH,
    })  # fmt: skip
    operators = _sum(counted.get("operations", {}), turns)
    # A second server takes steps over all images; the tiny versions have one in each epoch.
    server = options.get("server_epochs", 0)
    forward, back = counted.get("images", {}), counted.get("images_back", {})
    if server:
        return _two_servers(config, network, sum(sizes), operators)
    learning = 1.0
    if options.get("encoder_epochs") is not None and epochs:
        learning = min(options["encoder_epochs"], epochs) / epochs
    learning *= 1 - min(1.0, options.get("head_rounds", 0) / rounds)
    through = _sum(forward, images)
    returned = learning * _sum(back, images)
    stepping = rounds * epochs * (steps.of_clients or steps.in_turn)
    drawn = returned if config.augmentation is not None else 0.0
    stacks = config.clients is not None  # the tiny versions of federated runs were stacked
    return Work(
        operators=0.0 if stacks else operators,
        stacked_operators=operators if stacks else 0.0,
        multiply_adds=(through + (PASSES - 1) * returned) * network.multiply_adds,
        # A forward pass without a gradient makes about a third of that traffic.
        bytes=(1 - steps.stacked) * (returned + (through - returned) / PASSES)
        * network.image_bytes,
        stacked_bytes=steps.stacked * (returned + max(0.0, through - returned) / PASSES)
        * network.image_bytes,
        weights=stepping * learning * network.weights,
        view_numbers=drawn * shape["channels"] * shape["image_size"] ** 2,
    )  # fmt: skip


def _two_servers(config: RunConfig, network: Network, images: int, operators: float) -> Work:
    """MFCL: clients train a module and its mirror, a second server the rest on what they send."""
    options, shape = config.options, config.data
    module = network.module_multiply_adds
    rest = network.multiply_adds - module
    share = module / network.multiply_adds
    first = 2.0 * images * options["rounds"] * options["local_epochs"]
    second = 2.0 * images * options["server_epochs"]
    steps = options["server_epochs"] * math.ceil(images / options["server_batch_size"])
    per_epoch = counted_of(config).get("operations", {}).get("R", 0.0)
    return Work(
        stacked_operators=operators + max(0, steps - options["rounds"]) * per_epoch,
        multiply_adds=first * PASSES * 2 * module + second * (module + PASSES * rest),
        bytes=network.image_bytes
        * (first * 2 * share + second * (1 - share * (PASSES - 1) / PASSES)),
        weights=steps * network.weights,
        view_numbers=(first + second) * shape["channels"] * shape["image_size"] ** 2,
    )


def _sum(coefficients: Mapping[str, float], terms: Mapping[str, float]) -> float:
    return sum(n * terms[term] for term, n in coefficients.items())


def _measurement(config: RunConfig, facts: Facts, device: str) -> Work:
    """A protocol: all images once through the encoder, and what its options say it trains."""
    network, options = facts.network(config), config.options
    images = facts.images(config.data, "part") + facts.images(config.data, "test_part")
    once = _passed(images, network)
    share = options.get("label_share", 1.0)
    if "local_epochs" in options and config.clients is not None:
        dealt = facts.dealt(config)
        _, sizes = participants(config, dealt)
        sizes = [max(1, round(share * size)) for size in sizes]
        steps = round_steps(config, network, sizes, device)
        loops = options["rounds"] * options["local_epochs"]
        return once + _network_steps(network, loops, sum(sizes), steps)
    if "perplexity" in options:
        if options["of"] == "clients" and config.clients is not None:
            own = facts.dealt(config).train
            images = round(options["clients"] * sum(own) / max(1, len(own)))
        return once + Work(operators=_EMBEDDED * min(options["images"], images))
    if "epochs" not in options:
        return once + Work(operators=4 * _NETWORK_STEP * options.get("attack_steps", 0))
    if config.clients is not None:
        dealt = facts.dealt(config)
        longest = max(dealt.train, default=1)
        turns = options["epochs"] * math.ceil(longest / options["batch_size"])
        return once + Work(operators=_HEAD_STEP * turns * len(set(dealt.train)))
    trained = share * facts.images(config.data, "part")
    turns = math.ceil(trained / options["batch_size"])
    if "head_widths" not in options:
        return once + Work(operators=_HEAD_STEP * turns * options["epochs"])
    return once + _network_steps(network, options["epochs"], trained, Steps(turns, turns, 0.0, 1))


def _passed(images: float, network: Network) -> Work:
    return Work(
        multiply_adds=images * network.multiply_adds, bytes=images * network.image_bytes / PASSES
    )


def _network_steps(network: Network, epochs: float, images: float, steps: Steps) -> Work:
    saved = epochs * images * network.image_bytes
    return Work(
        operators=_NETWORK_STEP * epochs * steps.in_turn,
        multiply_adds=epochs * images * PASSES * network.multiply_adds,
        bytes=(1 - steps.stacked) * saved,
        stacked_bytes=steps.stacked * saved,
        weights=epochs * steps.of_clients * network.weights,
    )
