"""What partitions share: random draws without replacement from piles of images, and federations.
Evidence: `tests/methods/test_partitions.py`."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..seeds import Seeds
from .federation import Federation, ImageSet


def proportional(counts: dict[int, int], total: int) -> dict[int, int]:
    """`total` split in the proportions of `counts` by largest remainders, larger counts first."""
    whole = sum(counts.values())
    parts = {c: total * n // whole for c, n in counts.items()}
    left = total - sum(parts.values())
    order = sorted(counts, key=lambda c: (-(total * counts[c] % whole), -counts[c]))
    for c in order[:left]:
        parts[c] += 1
    return parts


def deal_by_class(
    wanted: Sequence[dict[int, int]], labels: Tensor | None, portion: str, seeds: Seeds
) -> tuple[Tensor, ...]:
    """Per client the sorted images that it receives; `wanted` holds its images by class. `portion`:
    `training` or `test`, which names the streams. Raises `ValueError` without labels and where a
    client needs more images of a class than exist."""
    if labels is None:
        raise ValueError(f"dealing by class needs labels, but the {portion} images have none")
    piles: dict[int, Pile] = {}
    hands = []
    for counts in wanted:
        hand: list[int] = []
        for c, n in counts.items():
            if c not in piles:
                images = torch.nonzero(labels.cpu() == c).flatten()
                piles[c] = Pile(images, seeds.generator("partition", portion, c))
            if n > len(piles[c]):
                raise ValueError(
                    f"class {c} has {len(piles[c])} {portion} images, but one client needs {n}"
                )
            hand += piles[c].draw(n)
        hands.append(torch.tensor(sorted(hand), dtype=torch.int64))
    return tuple(hands)


class Pile:
    """Numbers (images of a class, classes) to draw at random, without replacement. An empty pile is
    shuffled again, so uses differ by one at most; no client draws a number twice."""

    def __init__(self, cards: Tensor, stream: torch.Generator) -> None:
        self._cards, self._stream = cards, stream
        self._left: list[int] = []

    def __len__(self) -> int:
        return len(self._cards)

    def draw(self, n: int) -> list[int]:
        """The next `n` different numbers, at most as many as there are."""
        hand, self._left = self._left[:n], self._left[n:]
        if len(hand) < n:
            order = torch.randperm(len(self._cards), generator=self._stream)
            again = self._cards[order].tolist()
            held = set(hand)
            more = [card for card in again if card not in held][: n - len(hand)]
            # What the hand holds already stays in the new pile, for the next clients.
            hand, taken = hand + more, set(more)
            self._left = [card for card in again if card not in taken]
        return hand


def federation_of(
    train: ImageSet, test: ImageSet, hands: Sequence[Tensor], n_classes: int
) -> Federation:
    """Clients with training images `hands`, measured on all test images; `ValueError` for none."""
    empty = sum(len(hand) == 0 for hand in hands)
    if empty:
        raise ValueError(f"{empty} of {len(hands)} clients would hold no image")
    everything = torch.arange(len(test))
    group = torch.zeros(len(hands), dtype=torch.int64)
    return Federation(train, test, tuple(hands), (everything,) * len(hands), group, n_classes)


def counted_out(
    train: ImageSet, test: ImageSet, wanted: Sequence[dict[int, int]], test_size: int, seeds: Seeds
) -> tuple[ImageSet, ImageSet, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The first four fields of a `Federation`: clients hold `wanted`, test images in proportion."""
    tested = [proportional(counts, test_size) for counts in wanted]
    train_of = deal_by_class(wanted, train.labels, "training", seeds)
    return train, test, train_of, deal_by_class(tested, test.labels, "test", seeds)
