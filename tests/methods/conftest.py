import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedrepro.methods.data.federation import Federation, ImageSet
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.federated.base import FederatedMethod, Memory, Message, Round, Server, Task
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.nn.layers import Flatten, Layer, Linear, ReLU, Sequential
from fedrepro.methods.objectives.base import Learner
from fedrepro.methods.protocols.base import Subject
from fedrepro.methods.registry import find
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from fedrepro.methods.training.local import train_clients
from fedrepro.methods.training.local_loss import LocalOptions
from fedrepro.methods.training.steps import Grouping

PLAIN = Augmentation(
    (1.0, 1.0), flip_probability=0, jitter_probability=0, grey_probability=0, blur_probability=0
)
"""Views that are the images."""


def stream(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def cosine(a: Tensor, b: Tensor) -> float:
    """Number by number."""
    a, b = a.detach(), b.detach()
    dot = sum(float(s * t) for s, t in zip(a, b, strict=True))
    return dot / math.sqrt(sum(float(s) ** 2 for s in a)) / math.sqrt(sum(float(t) ** 2 for t in b))


def _portion(sizes: Sequence[int], classes: int, stream: torch.Generator) -> ImageSet:
    total = sum(sizes)
    noise = torch.randint(0, 256, (total, 1, 6, 6), generator=stream).to(torch.uint8)
    return ImageSet(noise, torch.randint(0, classes, (total,), generator=stream))


def make_task(
    sizes: Sequence[int] = (10, 10, 10),
    test_sizes: Sequence[int] | None = None,
    classes: int = 3,
    trial: int = 0,
    clients_at_once: int | None = None,
) -> Task:
    """A task of clients with noise images 1x6x6 and random labels, and a CNN of a few weights."""
    stream = torch.Generator().manual_seed(5)
    held_out = test_sizes or sizes
    federation = Federation(
        _portion(sizes, classes, stream),
        _portion(held_out, classes, stream),
        torch.arange(sum(sizes)).split(list(sizes)),
        torch.arange(sum(held_out)).split(list(held_out)),
        torch.zeros(len(sizes), dtype=torch.int64),
        classes,
    )
    encoder = CNN(widths=(3, 4), dim=5, padding=1)
    model = Classifier(encoder.build(1, 6), encoder.out_dim, dense_head(5, (), classes))
    return Task(
        federation, model, Seeds(trial), torch.device("cpu"), grouping=Grouping(clients_at_once)
    )


def dealt(train: ImageSet, test: ImageSet, clients: int, classes: int, **more: Any) -> Federation:
    """Equal parts of images in their order, to clients of one group."""
    own, tests = (torch.arange(len(one)).split(len(one) // clients) for one in (train, test))
    return Federation(train, test, own, tests, torch.zeros(clients).long(), classes, **more)


def two_rules(per_group: int = 3, images: int = 20, trial: int = 0) -> Task:
    """Two groups of clients that call the same two kinds of image by opposite names. Images are
    bright on the left or on the right; no single model can serve both groups."""
    clients = 2 * per_group
    task = make_task([images] * clients, classes=2, trial=trial)
    federation = task.federation
    group = torch.arange(clients) // per_group
    side = torch.arange(images * clients) % 2
    bright = torch.zeros(len(side), 1, 6, 6)
    bright[side == 0, :, :, :3] = 180.0
    bright[side == 1, :, :, 3:] = 180.0
    noise = torch.rand(bright.shape, generator=torch.Generator().manual_seed(3)) * 70
    labels = (side + group.repeat_interleave(images)) % 2
    portion = ImageSet((bright + noise).to(torch.uint8), labels)
    index = federation.train_of
    return replace(task, federation=Federation(portion, portion, index, index, group, 2))


def small_learner(
    name: str, models: int = 1, batch: int = 7, seed: int = 0, **options: Any
) -> tuple[Learner, State, list[Tensor]]:
    """An objective on a dense encoder of 6 outputs: learner, weights and two views, in float64.
    Every model and every `seed` has weights and views 3x4x4 of its own."""
    encoder = Sequential(Flatten(), Linear("encoder.dense", 48, 6), ReLU())
    learner: Learner = find("objective", name)(**options).build(encoder, 6, 5)
    streams = [torch.Generator().manual_seed(10 * seed + i) for i in range(models)]
    states = [learner.new(stream) for stream in streams]
    state = {key: torch.cat([s[key] for s in states]).double() for key in states[0]}
    shape = (2, batch, 3, 4, 4)
    drawn = [torch.rand(shape, generator=stream, dtype=torch.float64) for stream in streams]
    return learner, state, list(torch.stack(drawn, dim=1))


class Pixels(Layer):
    """The encoder whose representation is the image; its weight scales it."""

    def new(self, generator: torch.Generator) -> State:
        return {"encoder.scale": torch.ones(1, 1)}

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return x.flatten(2) * state["encoder.scale"].unsqueeze(2)


def as_state(module: nn.Module) -> State:
    """The weights of an encoder of torchvision as those of one model of ours."""
    return {
        f"encoder.{name}": value[None].clone()
        for name, value in module.state_dict().items()
        if not name.endswith("num_batches_tracked")
    }


def in_torch_nn(state: State) -> nn.Sequential:
    """A CNN of stride 2 and padding 1 and its head, or a head alone, with a single model's weights;
    the last layer is the head's last."""
    layers: list[nn.Module] = []
    for name in (key.removesuffix(".weight") for key in state if key.endswith(".weight")):
        weight = state[f"{name}.weight"][0].detach()
        outputs, inputs, *kernel = weight.shape
        layer = nn.Conv2d(inputs, outputs, 3, 2, 1) if kernel else nn.Linear(inputs, outputs)
        layer.load_state_dict({"weight": weight, "bias": state[f"{name}.bias"][0].detach()})
        flat = [] if kernel or nn.Flatten in map(type, layers) else [nn.Flatten()]
        layers += [*flat, layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def train_in_torch(
    module: nn.Module, steps: torch.optim.Optimizer, x: Tensor, y: Tensor, size: int,
    epochs: Iterable[object], stream: torch.Generator,
) -> None:  # fmt: skip
    """Cross-entropy in batches of `size` whose order is drawn from the stream, by torch alone."""
    for _ in epochs:
        for batch in torch.randperm(len(x), generator=stream).split(size):
            steps.zero_grad()
            F.cross_entropy(module(x[batch]), y[batch]).backward()
            steps.step()


def learn_in_torch(task: Task, learner: Learner, state: State, own: State, epochs: int) -> None:
    """A client of nine images learns in batches of 4, without the last image, by torch's Adam."""
    for value in state.values():
        value.requires_grad_()
    steps = torch.optim.Adam(list(state.values()), lr=0.01)
    order, looks = (task.seeds.generator(name, 0, 0) for name in ("batches", "views"))
    for _ in range(epochs):
        for batch in torch.randperm(9, generator=order)[:8].split(4):
            views = task.augmentation.views(task.federation.train.images[batch], 2, looks)
            steps.zero_grad()
            learner.loss(state, own, [view[None] for view in views], None).sum().backward()
            steps.step()
            learner.update(state, own)


def one_round(
    method: FederatedMethod, now: Round, server: Server = None, memory: Memory = None
) -> tuple[Message, Message, Server]:
    """What is sent to and by the participants of one round, and the server after it."""
    server = method.start(now.task, 0) if server is None else server
    memory = method.new_memory(now.task) if memory is None else memory
    download = method.broadcast(now, server)
    upload = method.local_update(now, download, memory)
    return download, upload, method.aggregate(now, server, upload)


def after_rounds(method: FederatedMethod, task: Task) -> tuple[Server, Memory]:
    server, memory = method.start(task, 0), method.new_memory(task)
    for t in range(method.rounds):
        now = Round(task, t, method.participants(task, t))
        _, _, server = one_round(method, now, server, memory)
    return server, memory


def subject_of(
    network: Layer, dim: int, n_classes: int, train: ImageSet, test: ImageSet | None, **more: Any
) -> Subject:
    """What a protocol measures, on the processor; weights drawn unless given in `more`."""
    given = {
        "weights": more.get("weights") or network.new(torch.Generator().manual_seed(1)),
        "seeds": Seeds(0),
        "device": torch.device("cpu"),
        "source": lambda: train,
    }
    return Subject(
        network=network, dim=dim, n_classes=n_classes, train=train, test=test, **{**given, **more}
    )


def trained_alone(task: Task, client: int, rounds: int) -> State:
    """One client's model by the engine alone: two epochs a round, batches of 4, a rate of 0.01."""
    state, options = task.new_model("model", 0, 0), LocalOptions(2, 4, 0.01)
    own, first = torch.tensor([client]), torch.zeros(1).long()
    for t in range(rounds):
        state = train_clients(
            task.model, state, first, task.federation, own, options, task.seeds, t
        )
    return state
