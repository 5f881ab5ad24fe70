import torch

from fedrepro.methods.transfer import all_to


def test_what_lies_there_is_given_back() -> None:
    given = [torch.zeros(2), torch.ones(3, 1)]
    assert all(a is b for a, b in zip(all_to(torch.device("cpu"), given), given, strict=True))
    assert all_to(torch.device("cpu"), []) == []
