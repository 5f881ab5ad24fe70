import torch

from fedrepro.methods.data.federation import labelled


def stream(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_every_class_keeps_its_share_and_at_least_one_image() -> None:
    labels = torch.tensor([0] * 40 + [1] * 20 + [2] * 3 + [3] * 37)
    own = torch.arange(5, 63)  # 35 of class 0, 20 of class 1, 3 of class 2, none of class 3
    for share, expected in [(0.1, [4, 2, 1]), (0.01, [1, 1, 1]), (1.0, [35, 20, 3])]:
        kept = labelled(own, labels, share, stream())
        assert torch.bincount(labels[kept]).tolist() == expected
        assert set(kept.tolist()) <= set(own.tolist())
        assert kept.tolist() == sorted(set(kept.tolist()))


def test_the_same_stream_keeps_the_same_images_and_larger_shares_more_of_them() -> None:
    labels, own = torch.arange(50) % 5, torch.arange(50)
    few, again, other = (labelled(own, labels, 0.2, stream(s)) for s in (0, 0, 1))
    assert torch.equal(few, again)
    assert not torch.equal(few, other)
    assert set(few.tolist()) < set(labelled(own, labels, 0.5, stream()).tolist())
