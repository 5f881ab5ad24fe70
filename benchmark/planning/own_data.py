"""A profile on data of one's own, for which a paper declares no changes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..data.own import Content
from ..data_names import images_in
from ..spec.model import Override, Paper, Profile
from ..spec.names import NONE
from ..spec.settings import get

_WHY = "data of one's own"


def put_on(paper: Paper, profile: str, data: Content) -> Paper:
    """The paper with changes under `on` that put a profile on these data.

    Clients hold these data. Encoders pre-trained on the clients' data set are pre-trained on these,
    too: on the unlabelled images, or on the half of the training images that no client holds. No
    more images are taken than the profile's set has. They are brought to its size where that is
    smaller, or the paper's own."""
    chosen = paper.profiles[profile]
    # What the profile changes for its own set holds for these, too.
    base = chosen.on.get(chosen.data or "", ())
    changes = *base, *_changes(paper, replace(chosen, overrides=chosen.overrides + base), data)
    here = replace(chosen, on={**chosen.on, data.name: changes})
    return replace(paper, profiles={**paper.profiles, profile: here})


def _changes(paper: Paper, profile: Profile, data: Content) -> Iterator[Override]:
    cells = [cell for table in paper.tables for cell in (*table.cells, *table.drawn)]
    own = (one for cell in cells for one in cell.overrides.get(profile.source, ()))
    held = {get(cell.experiment, "clients.data"): data.name for cell in cells}
    for one in (*profile.overrides, *own):
        if one.path == "clients.data":
            held |= dict.fromkeys((one.value, *(one.replace or {}).values()), data.name)
    held = {str(name): to for name, to in held.items() if name is not None}

    def asked(path: str) -> list[Any]:
        return [one.value for one in profile.overrides if one.path == path and one.value][-1:]

    def fewer(path: str, here: int, part: str, where: Any = None) -> Iterator[Override]:
        known = (images_in(one, part) for one in asked("clients.data"))
        if most := [*asked(path), *filter(None, known)]:
            why = f"{_WHY}, as many as the profile takes"
            yield Override(path, why, min(here, *most), where=where)

    _, channels, height, width = data.parts["train"].images.shape
    trained, unlabeled = len(data.parts["train"].images), data.parts.get("unlabeled")
    side, why = max(height, width), f"{_WHY}, of {width}x{height} pixels"
    yield Override("clients.data", _WHY, data.name)
    yield Override("clients.channels", f"{_WHY}, with {channels} channels", channels)
    if most := asked("clients.image_size"):
        yield Override("clients.image_size", why, min(side, *most))
    else:  # the paper's own size, to which it brings smaller images, too
        sizes = {get(cell.experiment, "clients.image_size") for cell in cells} - {None}
        larger = {str(size): max(size, side) for size in sizes}
        yield Override("clients.image_size", why, replace=larger)
    none, experiments = (None, NONE), [cell.experiment for cell in cells]
    starts = [one for one in experiments if get(one, "pretraining.method") not in none]
    pretrained = asked("pretraining.data") or [get(one, "pretraining.data") for one in starts]
    if starts and not held.keys().isdisjoint(pretrained):
        yield Override("pretraining.data", _WHY, replace=held)
        part, images = "unlabeled", 0 if unlabeled is None else len(unlabeled.images)
        if unlabeled is None:
            part, images, trained = "train-b", trained // 2, (trained + 1) // 2
            half = {"train": "train-a"}
            yield Override("clients.part", "pre-training has the other half", replace=half)
        unheld = {"train": part, "unlabeled": part}
        here, why = ("pretraining.data", data.name), "images that no client holds"
        yield Override("pretraining.part", why, replace=unheld, where=here)
        yield from fewer("pretraining.images", images, "unlabeled", here)
    yield from fewer("clients.images", trained, "train")
    yield Override("evaluation.data", _WHY, replace=held)
