"""Chapter 11: the four tokens of the board, by the library."""

import pytest
import torch

from kernels.reference import attention


def test_the_four_tokens_give_5_and_4_and_the_first_alone_9_and_0():
    query, keys, values = [[1, 1]], [[0, 0], [1, 0], [1, 1], [0, 1]], [[9, 0], [0, 9], [9, 0], [0, 9]]
    q, k, v = (torch.tensor(x, dtype=torch.float64) for x in (query, keys, values))
    powers_of_2 = torch.log(torch.tensor(2.0)).item()
    assert attention(q, k, v, scale=powers_of_2)[0].tolist() == pytest.approx([5, 4], rel=1e-6)
    assert attention(q, k, v, is_causal=True, scale=powers_of_2).tolist() == [[9, 0]]
