"""What the engine chooses for a card depends on nothing but that it is one."""

from unittest import mock

import pytest
import torch

from fedrepro.methods.nn.precision import computing_in
from fedrepro.methods.training.probing import step_bytes


@pytest.mark.parametrize("free", [0, 200_000_000, 78_000_000_000])
def test_a_step_takes_the_same_memory_whatever_is_free(free: int) -> None:
    with mock.patch("torch.cuda.mem_get_info", return_value=(free, 80 << 30)):
        assert step_bytes(torch.device("cuda")) == 2 * 2**30
    assert step_bytes(torch.device("cpu")) == 32 * 2**20


def test_float32_means_float32_on_a_card_whatever_was_set_before() -> None:
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    before = cudnn.allow_tf32, matmul.allow_tf32
    try:
        cudnn.allow_tf32 = matmul.allow_tf32 = True
        with computing_in("float32", "cuda"):
            assert not cudnn.allow_tf32
            assert not matmul.allow_tf32
        assert cudnn.allow_tf32
        assert matmul.allow_tf32
    finally:
        cudnn.allow_tf32, matmul.allow_tf32 = before
