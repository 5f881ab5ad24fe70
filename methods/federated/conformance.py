"""Whether a federated method keeps what the loop, the engine of steps and the store rely on.

Every check trains the method for a few rounds on a made-up task. Its clients are four with unlike
numbers of noise images and one more that never trains; its network has some hundred weights.
Evidence: `tests/methods/test_conformance.py` (every method here; a planted error for each check).
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.testing import assert_close

from .. import registry
from ..checkpoint import Checkpoint
from ..checkpoint_tree import Bytes, put_together, taken_apart
from ..data.federation import Federation, ImageSet
from ..data.views.augment import Augmentation
from ..encoders.cnn import CNN
from ..encoders.resnet import ResNet
from ..nn.classifier import ENCODER, Classifier, dense_head
from ..seeds import Seeds
from ..state import part
from ..training.steps import Grouping
from .base import FederatedMethod, Round, Task, all_rounds
from .loop import run
from .with_labels import WithLabels

SIZES = (12, 6, 9, 6, 7)
"""Training images of the clients; the last one never trains."""
SMALL: Mapping[str, Any] = {
    "rounds": 2, "local_epochs": 2, "batch_size": 6, "learning_rate": 0.02, "optimizer": "sgd",
    "participation": 0.75, "projector_widths": (8, 6), "projector_width": 6, "queue_size": 8,
    "memory_size": 8, "prototypes": 3, "n_groups": 3, "predictor_width": 32, "n_prototypes": 2,
    "n_global_clusters": 4, "n_local_clusters": 2, "server_epochs": 2, "server_batch_size": 8,
    "representations": 2, "personal_epochs": 2, "head_rounds": 1,
}  # fmt: skip
"""Options that a method given as a class, and its objective, are made with where they have them."""
_CLASSES, _SIDE = 3, 8
_ROUNDING = 1e-10  # in float64; methods here differ by up to 3e-13
_VIEWS = Augmentation(crop_scale=(0.5, 1.0))
_MIRRORED = Augmentation(
    crop_scale=(1.0, 1.0), flip_probability=1.0, jitter_probability=0.0, grey_probability=0.0,
    blur_probability=0.0,
)  # fmt: skip


class NonConformingError(AssertionError):
    """A method that fails checks; the message names each, what differs, and what to do."""


def check_method(
    method: FederatedMethod | type[FederatedMethod],
    same_as: tuple[Mapping[str, Any], FederatedMethod | type[FederatedMethod]] | None = None,
) -> None:
    """Trains `method` on a small made-up task and checks what every method must keep.

    * The seed decides every number, and another seed gives others.
    * Clients that share steps end as each of them alone.
    * A training that is saved after a round and goes on from there ends as one that was not.
    * Steps of the server change nothing in place, and evaluation changes no training.
    * Messages and personal models have a slice, or a number, for each client.
    * A method trains on augmented views where it says so, and nowhere else.

    `method`: a class, made with the options of `SMALL` that it has, or an instance. `same_as`:
    options, and a method that `method` becomes with them (`{"weight": 0.0}, FedAvg`). Raises
    `NonConformingError` with every check that failed."""
    made = _made(method)
    module = [type(made).__module__]
    try:
        checks = _Checks(made)
    except Exception as error:
        raise _failed(made, [f"training stops by {registry.told(error, module)}"]) from error
    failures = []
    for name in _NAMES:
        try:
            failures += getattr(checks, name)()
        except Exception as error:
            failures.append(f"{name.replace('_', ' ')}: {registry.told(error, module)}")
    if same_as is not None:
        options, other = same_as[0], _made(same_as[1])
        mine, theirs = run(replace(made, **options), checks.task), run(other, small_task(other))
        found = _first((mine.metrics, mine.encoder), (theirs.metrics, theirs.encoder), _ROUNDING)
        if found:
            name = type(other).__name__
            failures.append(f"with {dict(options)} it is not {name}: {found}")
    if failures:
        raise _failed(made, failures)


def _failed(method: FederatedMethod, failures: list[str]) -> NonConformingError:
    return NonConformingError("\n- ".join([f"{type(method).__name__} fails:", *failures]))


def small_task(method: FederatedMethod, seed: int = 0) -> Task:
    """The task of the checks, with what `method` asks for: objective, kind of encoder, views."""
    stream = torch.Generator().manual_seed(5)

    def portion() -> ImageSet:
        # Blocks: of noise by pixel, networks see hardly any difference.
        blocks = torch.randint(0, 256, (sum(SIZES), 1, 2, 2), generator=stream).to(torch.uint8)
        images = blocks.repeat_interleave(_SIDE // 2, 2).repeat_interleave(_SIDE // 2, 3)
        return ImageSet(images, torch.arange(sum(SIZES)) % _CLASSES)

    index = torch.split(torch.arange(sum(SIZES)), list(SIZES))
    group = torch.arange(len(SIZES)) % 2
    public = portion()
    federation = Federation(portion(), portion(), index, index, group, _CLASSES, novel=1)
    wanted = dict(method.encoder_options())
    encoder = ResNet(10, stem="cifar", width=4, **wanted) if wanted else CNN((4, 4), 5, padding=1)

    def at_width(share: float) -> Classifier:
        narrow = encoder.narrowed(share)
        head = dense_head(narrow.out_dim, (), _CLASSES)
        return Classifier(narrow.build(1, _SIDE), narrow.out_dim, head)

    model, name = at_width(1.0), method.objective_name()
    own = {field.name: getattr(method, field.name) for field in fields(method)}
    return Task(
        federation,
        model,
        Seeds(seed),
        torch.device("cpu"),
        encoder=part(model.new(torch.Generator().manual_seed(seed)), ENCODER),
        objective=None if name is None else registry.make("objective", name, {**SMALL, **own}),
        augmentation=_VIEWS if method.draws_views else None,
        source=lambda: public,
        at_width=at_width,
    )


def _made(method: FederatedMethod | type[FederatedMethod]) -> FederatedMethod:
    if isinstance(method, FederatedMethod):
        return method
    made: FederatedMethod = registry.with_options(method, SMALL)
    return made


class _Checks:
    """The checks of one method, which share the trainings that they compare."""

    def __init__(self, method: FederatedMethod) -> None:
        self.method, self.task = method, small_task(method)
        self.saved: list[tuple[Any, list[Bytes]]] = []
        # Asked before and after each save, which takes no time: 0, 1, 1, 2, 2, ...
        ticks = count(1)
        checkpoint = Checkpoint(self._save, 0.1, clock=lambda: float(next(ticks) // 2))
        torch.manual_seed(1)
        self.trained = run(method, self.task)
        torch.manual_seed(2)
        self.again = run(method, self.task, checkpoint=checkpoint)

    def _save(self, tree: Mapping[str, Any]) -> None:
        plain, flat = taken_apart(dict(tree))
        self.saved.append((deepcopy(plain), [numbers.copy() for numbers in flat]))

    def _other(self, method: FederatedMethod, task: Task) -> str | None:
        """What another option or task changes in the first round, or in the end."""

        def first_round(method: FederatedMethod, task: Task) -> Any:
            task = _prepared(method, task)
            memory = method.new_memory(task)
            _, _, _, sent = next(all_rounds(method, task, memory, method.start(task, 0)))
            return sent.per_client, memory

        found = _first(first_round(self.method, self.task), first_round(method, task))
        return found or _first(self.trained, run(method, task))

    def the_seed_decides_every_number(self) -> Iterator[str]:
        if found := _first(self.trained, self.again):
            yield (
                f"one seed gives two results: {found}. Draw from `now.stream` or `now.streams`, "
                "and keep nothing outside of server and memory"
            )
        if not self._other(self.method, small_task(self.method, seed=1)):
            yield "two seeds give one result: draw from `task.seeds`"

    def a_saved_training_goes_on(self) -> Iterator[str]:
        packages = sorted({"fedrepro", type(self.method).__module__.partition(".")[0]})
        for plain, flat in self.saved[1:]:
            tree = put_together(plain, flat, packages, torch.device("cpu"))
            resumed = run(self.method, self.task, checkpoint=Checkpoint(saved=tree))
            if found := _first(resumed, self.again):
                yield (
                    f"a training that was saved and goes on ends otherwise: {found}. What outlives "
                    "a round belongs into the server or a `ClientMemory`"
                )
                return

    def _apart(self) -> str | None:
        """What differs first between clients that train together and each of them alone."""
        # All take part: of some of them, no two may have batches that can be stacked or padded.
        method, found = replace(self.method, participation=1.0), None
        task = _prepared(method, replace(small_task(method), grouping=Grouping(1)))
        together = replace(task, grouping=Grouping(len(SIZES), padded=True))
        memory, server = method.new_memory(task), method.start(task, 0)
        for t in range(method.exchanges):
            # Both begin a round with the same numbers, so that rounding does not add up.
            own, now = deepcopy(memory), Round(task, t, method.participants(task, t))
            download = method.broadcast(now, server)
            upload = method.local_update(now, download, memory)
            other = method.local_update(replace(now, task=together), download, own)
            found = found or _first(
                (upload.per_client, upload.log, memory),
                (other.per_client, other.log, own),
                _ROUNDING,
            )
            server = method.aggregate(now, server, upload)
        return found

    def clients_share_steps_as_they_train_alone(self) -> Iterator[str]:
        with ExitStack() as afterwards:
            afterwards.callback(torch.set_default_dtype, torch.get_default_dtype())
            # Single precision would hide a small fault in rounding.
            torch.set_default_dtype(torch.float64)
            found = self._apart()
        if found:
            yield (
                f"what clients send depends on who trains with them: {found}. A loss gives one "
                "number for each model, from that model's own slice alone"
            )

    def each_step_gives_what_the_loop_takes(self) -> Iterator[str]:
        method, task = self.method, _prepared(self.method, self.task)
        memory, server = method.new_memory(task), method.start(task, 0)
        for now, before, _, upload in all_rounds(method, task, memory, server):
            given = deepcopy(_numbers((before, upload)))
            method.broadcast(now, before)
            server = method.aggregate(now, before, upload)
            if found := _first(given, (before, upload)):
                yield f"a step of the server changes in place what it is given: {found}"
                return
            weights = upload.per_client.get("weights", {})
            for name, value in {**upload.log, **weights}.items():
                if len(value) != len(now):
                    yield f"upload: {name} has {len(value)} entries for {len(now)} participants"
                    return
        pool, choice = method.personal_models(task, method.finish(task, server, memory), memory)
        clients = task.federation.n_clients
        if choice.dtype != torch.int64 or choice.shape != (clients,):
            yield (
                f"`personal_models` numbers models by {choice.dtype} of shape "
                f"{tuple(choice.shape)}; int64 of shape ({clients},) is needed"
            )
        elif int(choice.min()) < 0 or int(choice.max()) >= len(next(iter(pool.values()))):
            yield "`personal_models` names a model that its pool does not have"

    def evaluation_changes_no_training(self) -> Iterator[str]:
        last = run(self.method, self.task, evaluate_every=0)
        each, once = ({n: c.values[-1] for n, c in o.metrics.items()} for o in (self.trained, last))
        found = _first(each, once) or _first(self.trained.encoder, last.encoder)
        if found:
            yield (
                f"the result depends on how often it is evaluated: {found}. `evaluate` and "
                "`personal_models` must leave server and memory as they are"
            )

    def views_are_drawn_where_it_says_so(self) -> Iterator[str]:
        mirrored = replace(self.task, augmentation=_MIRRORED)
        differ = self._other(self.method, mirrored)
        objective = self.task.objective
        asked = self.method.draws_views and (objective is None or objective.draws_views)
        if asked and not differ:
            yield "`draws_views` is true, and another augmentation changes nothing"
        if not self.method.draws_views and differ:
            yield f"it trains on augmented views ({differ}), and `draws_views` denies it"
        if not isinstance(self.method, WithLabels) or self.method.augments:
            return
        if not self._other(replace(self.method, augments=True), mirrored):
            yield "`augments` changes nothing: local losses must see `Supervised.images`"


_NAMES = [name for name in vars(_Checks) if not name.startswith("_")]


def _prepared(method: FederatedMethod, task: Task) -> Task:
    unlabelled = replace(task.federation, test=ImageSet(task.federation.test.images))
    return replace(task, federation=method.prepare(unlabelled))


def _numbers(tree: Any) -> Any:
    """Dataclasses as dictionaries, so that they can be compared; what else there is, left out."""
    if isinstance(tree, np.ndarray):
        return torch.from_numpy(tree)
    if isinstance(tree, Mapping):
        return {str(name): _numbers(value) for name, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_numbers(value) for value in tree]
    if is_dataclass(tree):
        return {field.name: _numbers(getattr(tree, field.name)) for field in fields(tree)}
    return tree if isinstance(tree, Tensor | bool | int | float) else None


def _first(one: Any, other: Any, rounding: float = 0.0) -> str | None:
    """Where numbers of two trees differ first: to the last bit, or by more than `rounding`."""
    one, other = _numbers(one), _numbers(other)
    try:
        assert_close(one, other, rtol=rounding, atol=rounding, equal_nan=True)
    except AssertionError as error:
        return " ".join(str(error).split())
    return None
