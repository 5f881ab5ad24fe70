from collections.abc import Callable

import pytest
import torch

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec.settings import build
from fedrepro.methods.clusters.balanced_clustering import balanced_centroids
from fedrepro.methods.clusters.kmeans import plus_plus
from fedrepro.methods.data.partitions.class_groups import ClassGroups
from fedrepro.methods.data.partitions.counted import Counted
from fedrepro.methods.data.partitions.quantity import Quantity
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.personalized.scaffold_ft import ScaffoldFT
from fedrepro.methods.federated.split.fsl import FSL
from fedrepro.methods.federated.split.mfcl import MFCL
from fedrepro.methods.federated.supervised.heterofl import HeteroFL
from fedrepro.methods.nn.mfcl_modules import client_autoencoder
from fedrepro.methods.optim.optimizers import make_optimizer
from fedrepro.methods.privacy.instahide import instahide
from fedrepro.methods.protocols.saliency import Saliency
from fedrepro.methods.state import weighted_average
from fedrepro.methods.training.representations import drawn_pairs
from tests.methods.conftest import make_task

ONES, ONE_EMPTY_ROW = torch.ones(2, 2), torch.tensor([[1.0, 1.0], [0.0, 0.0]])
NOBODY, STREAM = torch.arange(0), torch.Generator()
IMAGES = torch.zeros(3, 1, 2, 2, dtype=torch.uint8)


@pytest.mark.parametrize(
    ("kind", "name", "refused"),
    [
        ("encoder", "resnet", {"depth": [20], "version": ["v2"], "stem": ["x"], "width": [0]}),
        ("encoder", "resnet", {"blocks": [[], [2, -1]], "client_norm": ["layer"]}),
        ("encoder", "vgg", {"depth": [18], "classifier": ["big"], "width": [-2]}),
        ("encoder", "vgg", {"projector_widths": [[8, 0]]}),
        ("encoder", "cnn", {"widths": [[4, 0]], "stride": [0], "padding": [-1]}),
        ("federated", "mfcl", {"client_dropout": [1.0], "representations": [0]}),
        ("federated", "heterofl", {"levels": [[1.5], []]}),
        ("federated", "split-mix", {"base_width": [0.0]}),
        ("federated", "featarc", {"n_models": [0]}),
        ("partition", "iid", {"count": [0]}),
        ("partition", "class-groups", {"test_size": [0]}),
        ("partition", "dirichlet", {"alpha": [0.0]}),
        ("partition", "dirichlet-samples", {"alpha": [0.0]}),
        ("partition", "quantity", {"novel": [-1]}),
        ("protocol", "embedding", {"images": [9], "perplexity": [0.0]}),
        ("protocol", "saliency", {"client": [-1]}),
    ],
)
def test_values_that_an_option_cannot_have_are_refused_by_its_name(
    kind: str, name: str, refused: dict[str, list[object]]
) -> None:
    for option, values in refused.items():
        for value in values:
            with pytest.raises(SpecError, match=rf"{name}': .*{option}"):
                build(kind, name, {option: value})


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ResNet(18, projector_widths=(4,)), "modular network"),
        (lambda: ResNet(18, client_layers=8, modular=True).build(3, 32), "cut_layer = 8"),
        (lambda: CNN().build(3, 8), "images of 8x8 are too small"),
        (lambda: client_autoencoder(0), "1 to 7"),
        (lambda: client_autoencoder(8), "1 to 7"),
        (lambda: make_optimizer("adma", [ONES], 0.1), "known: adam, adamw, lars, sgd"),
        (
            lambda: Augmentation(crop_padding=8, crop_border="reflect").draw(1, 8, 9, STREAM),
            "border of 8 cannot reflect images 8 x 9",
        ),
        (lambda: drawn_pairs(IMAGES[:0], [NOBODY], 3, Augmentation(), [STREAM]), "no images"),
        (lambda: instahide(IMAGES / 255, 4, STREAM), "4 images cannot be mixed: there are 3"),
        (lambda: plus_plus(torch.rand(1, 3, 3), 4, [STREAM]), "3 points cannot make 4 clusters"),
        (lambda: balanced_centroids(torch.empty(0, 4), 2, STREAM), "nothing"),
        (lambda: weighted_average({"w": ONES}, ONE_EMPTY_ROW), "positive weight"),
        (lambda: MFCL().start(make_task(), 0), "two modules"),
        (lambda: FSL(form="splitfed-v2").start(make_task(), 0), "two modules"),
        (lambda: run(HeteroFL(levels=(1.0, 0.5)), make_task()), "other widths"),
        (lambda: ScaffoldFT(optimizer="adam"), "control variates are gradients"),
        (lambda: ClassGroups(count=2), "count = 2"),
        (lambda: ClassGroups(groups=()), "at least one group"),
        (lambda: ClassGroups(groups=((0, 0),)), r"\[0, 0\]"),
        (lambda: ClassGroups(groups=((0, -1),)), r"\[0, -1\]"),
        (lambda: ClassGroups(n_major=5), "n_major = 5"),
        (lambda: ClassGroups(major=5, minor=6), "minor = 6"),
        (lambda: Counted(1, counts=((1,), (1,))), "counts"),
        (lambda: Counted(2, counts=((1,), (0, 0))), "counts"),
        (lambda: Counted(1, counts=((3, -1),)), "counts"),
        (lambda: Counted(1, counts=((),)), "counts"),
        (lambda: Quantity(classes=9, samples=8), "classes = 9"),
        (lambda: Saliency(left=2, right=2), "left"),
    ],
)
def test_options_that_cannot_be_are_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()
