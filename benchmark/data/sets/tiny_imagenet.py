"""Tiny-ImageNet: 100,000 and 10,000 photographs of 200 classes, 64x64 colour (Stanford CS231n).

Read from an image folder only: the release's validation images (its test images have no labels)
must be in class folders as the training images do. No checksum holds such a folder to the release,
so that its numbers are shown and never judged.
"""

from pathlib import Path

from ...errors import MissingDataError
from ..base import DataSet, Part, Stored
from ..folder import read_folder


class TinyImagenet(DataSet):
    """`tiny-imagenet/{train,test}/<class>/*`, the release's validation part being `test`."""

    n_classes = 200

    def how_to_get(self) -> str:
        return "unpack tiny-imagenet-200, its validation images into class folders of 'test'"

    def read(self, part: Part, folder: Path, download: bool) -> Stored:
        if not (folder / self.name / part).is_dir():
            raise MissingDataError(
                f"{self.name}: there is no {self.name}/{part}/<class>/ in {folder.absolute()}; "
                f"{self.how_to_get()} (it is not fetched by --download)"
            )
        where, n_classes = folder / self.name / part, None if part == "unlabeled" else 200
        images, labels, passed = read_folder(where, 3, n_classes)
        note = f"{self.name} was read from a folder that no checksum holds to the release"
        return Stored(images, labels, False, str(where), "; ".join(filter(None, (note, passed))))
