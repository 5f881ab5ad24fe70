from collections.abc import Callable

import pytest
import torch

from fedrepro.methods.clusters.balanced_clustering import balanced_centroids
from fedrepro.methods.clusters.kmeans import plus_plus
from fedrepro.methods.data.partitions.class_groups import ClassGroups
from fedrepro.methods.data.partitions.counted import Counted
from fedrepro.methods.data.partitions.dirichlet import Dirichlet
from fedrepro.methods.data.partitions.dirichlet_samples import DirichletSamples
from fedrepro.methods.data.partitions.quantity import Quantity
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.encoders.vgg import VGG
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.personalized.scaffold_ft import ScaffoldFT
from fedrepro.methods.federated.self_supervised.featarc import FeatARC
from fedrepro.methods.federated.split.fsl import FSL
from fedrepro.methods.federated.split.mfcl import MFCL
from fedrepro.methods.federated.supervised.heterofl import HeteroFL
from fedrepro.methods.federated.supervised.split_mix import SplitMix
from fedrepro.methods.nn.mfcl_modules import client_autoencoder
from fedrepro.methods.nn.normalisation import GroupNorm, TwinNorm, normalisation
from fedrepro.methods.optim.optimizers import make_optimizer
from fedrepro.methods.privacy.instahide import instahide
from fedrepro.methods.protocols.embedding import Embedding
from fedrepro.methods.protocols.saliency import Saliency
from fedrepro.methods.state import weighted_average
from fedrepro.methods.training.representations import drawn_pairs
from tests.methods.conftest import make_task

ONES, ONE_EMPTY_ROW = torch.ones(2, 2), torch.tensor([[1.0, 1.0], [0.0, 0.0]])
NOBODY, STREAM = torch.arange(0), torch.Generator()
IMAGES = torch.zeros(3, 1, 2, 2, dtype=torch.uint8)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ResNet(depth=20), "depth = 20"),
        (lambda: ResNet(version="v2"), "'v2'"),
        (lambda: ResNet(stem="x"), "'x'"),
        (lambda: ResNet(18, client_norm="layer"), "client_norm = 'layer'"),
        (lambda: ResNet(18, projector_widths=(4,)), "modular network"),
        (lambda: ResNet(18, client_layers=8, modular=True).build(3, 32), "cut_layer = 8"),
        (lambda: CNN().build(3, 8), "images of 8x8 are too small"),
        (lambda: client_autoencoder(0), "1 to 7"),
        (lambda: client_autoencoder(8), "1 to 7"),
        (lambda: TwinNorm("n", 2, 2, "literal"), "neither"),  # type: ignore[arg-type]
        (lambda: GroupNorm("n", 2, 0), "groups of 0"),
        (lambda: normalisation("layer", "n", 2, 2), "known: batch, group, twin"),  # type: ignore[arg-type]
        (lambda: make_optimizer("adma", [ONES], 0.1), "known: adam, adamw, lars, sgd"),
        (lambda: VGG(depth=18), "depth = 18"),
        (lambda: VGG(classifier="big"), "'big'"),
        (lambda: Augmentation(crop_padding=-1), "crop_padding = -1 is negative"),
        (
            lambda: Augmentation(crop_padding=8, crop_border="reflect").draw(1, 8, 9, STREAM),
            "border of 8 cannot reflect images 8 x 9",
        ),
        (lambda: drawn_pairs(IMAGES[:0], [NOBODY], 3, Augmentation(), [STREAM]), "no images"),
        (lambda: instahide(IMAGES / 255, 4, STREAM), "4 images cannot be mixed: there are 3"),
        (lambda: plus_plus(torch.rand(1, 3, 3), 4, [STREAM]), "3 points cannot make 4 clusters"),
        (lambda: balanced_centroids(torch.empty(0, 4), 2, STREAM), "nothing"),
        (lambda: weighted_average({"w": ONES}, ONE_EMPTY_ROW), "positive weight"),
        (lambda: MFCL(client_dropout=1.0), "client_dropout = 1"),
        (lambda: MFCL(representations=0), "at least 1"),
        (lambda: MFCL().start(make_task(), 0), "two modules"),
        (lambda: FSL(form="splitfed-v2").start(make_task(), 0), "two modules"),
        (lambda: HeteroFL(levels=(1.5,)), "not shares"),
        (lambda: run(HeteroFL(levels=(1.0, 0.5)), make_task()), "other widths"),
        (lambda: SplitMix(base_width=0.0), "shares"),
        (lambda: FeatARC(n_models=0), "n_models = 0"),
        (lambda: ScaffoldFT(optimizer="adam"), "control variates are gradients"),
        (lambda: ClassGroups(count=2), "count = 2"),
        (lambda: ClassGroups(groups=()), "at least one group"),
        (lambda: ClassGroups(groups=((0, 0),)), r"\[0, 0\]"),
        (lambda: ClassGroups(groups=((0, -1),)), r"\[0, -1\]"),
        (lambda: ClassGroups(n_major=5), "n_major = 5"),
        (lambda: ClassGroups(major=5, minor=6), "minor = 6"),
        (lambda: ClassGroups(test_size=0), "test_size = 0"),
        (lambda: Dirichlet(5, alpha=0.0), "need alpha > 0"),
        (lambda: Counted(1, counts=((1,), (1,))), "counts"),
        (lambda: Counted(2, counts=((1,), (0, 0))), "counts"),
        (lambda: Counted(1, counts=((3, -1),)), "counts"),
        (lambda: Counted(1, counts=((),)), "counts"),
        (lambda: Quantity(classes=0), "classes = 0"),
        (lambda: Quantity(classes=9, samples=8), "classes = 9"),
        (lambda: Quantity(novel=-1), "novel = -1"),
        (lambda: Quantity(samples=0), "samples = 0"),
        (lambda: DirichletSamples(alpha=0.0), "alpha = 0.0"),
        (lambda: Embedding(clients=0), "an embedding needs"),
        (lambda: Embedding(images=9), "an embedding needs"),
        (lambda: Embedding(perplexity=0.0), "an embedding needs"),
        (lambda: Saliency(client=-1), "left"),
        (lambda: Saliency(left=2, right=2), "left"),
        (lambda: Saliency(images=0), "left"),
    ],
)
def test_options_that_cannot_be_are_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()
