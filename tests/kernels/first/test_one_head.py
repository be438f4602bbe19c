"""Attention of one head, a program for each query, by the error budget."""

import pytest
import torch

from kernels.first.one_head import one_head_attention
from kernels.first.one_key import one_key_attention
from tests.kernels.error_budget import attention_budget_used
from tests.kernels.first.harness import tensors_on
from tests.kernels.prefilled import prefilled_with_nan

on_a_gpu = pytest.mark.gpu


def one_head(q, k, v, **options):
    """For a judge of four dimensions."""
    heads = [one_head_attention(*head, **options) for head in zip(*(x.flatten(0, 1) for x in (q, k, v)), strict=True)]
    return torch.stack(heads).view(q.shape)


@pytest.mark.parametrize("seq_q, seq_k", [(1, 1), (3, 5), (4, 32), (2, 33), (0, 3)])
@pytest.mark.parametrize("head_dim", [1, 16, 64, pytest.param(256, marks=on_a_gpu)])
def test_one_head_is_attention(seq_q, seq_k, head_dim, device):
    q = torch.randn(1, 4, seq_q, head_dim, device=device)
    k, v = torch.randn(2, 1, 4, seq_k, head_dim, device=device)
    with prefilled_with_nan():
        assert attention_budget_used(one_head, q, k, v) <= 1
        assert attention_budget_used(one_head, q, k, v, scale=-2.0) <= 1


def test_one_head_does_what_the_library_s_kernel_does(device):
    q, k, v = torch.randn(3, 5, 16, device=device)
    expected = one_key_attention(*(x[None, None] for x in (q, k, v)))[0, 0]
    assert one_head_attention(q, k, v).equal(expected)


def test_large_scores_do_not_overflow(device):
    q, k, v = 30 * torch.randn(3, 1, 4, 5, 16, device=device)
    assert attention_budget_used(one_head, q, k, v) <= 1


@on_a_gpu
def test_the_longest_row(device):
    q = torch.randn(1, 1, 3, 64, device=device)
    k, v = torch.randn(2, 1, 1, 16384, 64, device=device)
    assert attention_budget_used(one_head, q, k, v) <= 1


TABLE = torch.ones(3, 4)


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        ((TABLE[None],) * 3, ValueError, "query has 3 dimensions"),
        ((TABLE.half(),) * 3, TypeError, r"query is torch\.float16, float32 is wanted"),
        ((TABLE, torch.ones(4, 3).T, TABLE), ValueError, "key is not contiguous"),
        ((torch.ones(3, 6),) * 3, ValueError, "query has head_dim 6, a power of two"),
        ((torch.ones(3, 512),) * 3, ValueError, "query has head_dim 512"),
        ((torch.ones(3, 0),) * 3, ValueError, "query has head_dim 0"),
        ((TABLE, TABLE, torch.ones(3, 8)), ValueError, "value has head_dim 8, query has 4"),
        ((TABLE, TABLE[:0], TABLE[:0]), ValueError, "key has sequence length 0"),
        ((torch.ones(1, 1), *torch.ones(2, 16385, 1)), ValueError, "key has sequence length 16385"),
        ((TABLE.clone().requires_grad_(), TABLE, TABLE), ValueError, "query requires a gradient"),
        ((torch.empty(2**29 + 1, 4, device="meta"), *[TABLE.to("meta")] * 2), ValueError, r"2\*\*31 are wanted"),
    ],
)
def test_one_head_refuses(arguments, error, words, device):
    with pytest.raises(error, match=words):
        one_head_attention(*tensors_on(device, arguments))
