"""The three lines are attention: by hand, against torch in FP64, and with every option."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from kernels.reference import attention, oracle, weights


def inputs(seq_q=7, seq_k=11, head_dim=5, *, batch=2, heads=4, key_heads=4, dtype=torch.float64):
    q = torch.randn(batch, heads, seq_q, head_dim, dtype=dtype)
    return q, *torch.randn(2, batch, key_heads, seq_k, head_dim, dtype=dtype)


def test_by_hand():
    """q₁ = [1, 0] meets the keys [1, 0], [0, 1], [1, 1]: scores 1, 0, 1, divided by √2."""
    q = torch.tensor([[1.0, 0.0]])
    k = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    v = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert (q @ k.T).tolist() == [[1, 0, 1]]
    assert [round(share, 3) for share in weights(q, k)[0].tolist()] == [0.401, 0.198, 0.401]
    assert [round(share, 3) for share in weights(q, k, scale=1)[0].tolist()] == [0.422, 0.155, 0.422]
    assert [round(number, 3) for number in attention(q, k, v)[0].tolist()] == [0.401, 0.198]


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.7, 0, -2])
@pytest.mark.parametrize("seq_q, seq_k", [(1, 1), (7, 11), (11, 7), (1, 9), (9, 1)])
def test_it_is_what_torch_computes(seq_q, seq_k, scale, is_causal):
    q, k, v = inputs(seq_q, seq_k)
    options = {"is_causal": is_causal, "scale": scale}
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        expected = scaled_dot_product_attention(q, k, v, **options)
    torch.testing.assert_close(attention(q, k, v, **options), expected)


@pytest.mark.parametrize("key_heads", [1, 2, 4])
def test_grouped_queries_share_their_neighbours_keys(key_heads):
    q, k, v = inputs(key_heads=key_heads)
    expected = scaled_dot_product_attention(q, k, v, enable_gqa=True)
    torch.testing.assert_close(attention(q, k, v, enable_gqa=True), expected)
    torch.testing.assert_close(weights(q, k, enable_gqa=True) @ v.repeat_interleave(4 // key_heads, 1), expected)


@pytest.mark.parametrize("shape", [(2, 4, 7, 11), (2, 1, 1, 11), (7, 11), (11,), (1, 4, 7, 1)])
def test_a_mask_says_who_takes_part(shape):
    q, k, v = inputs()
    mask = torch.rand(shape) < 0.7
    mask[..., 0] = True
    expected = scaled_dot_product_attention(q, k, v, attn_mask=mask.expand(2, 4, 7, 11))
    torch.testing.assert_close(attention(q, k, v, attn_mask=mask), expected)
    assert weights(q, k, attn_mask=mask).masked_select(~mask.expand(2, 4, 7, 11)).eq(0).all()


def test_mask_and_causal_combine():
    q, k, v = inputs()
    mask = torch.rand(7, 11) < 0.7
    both = attention(q, k, v, attn_mask=mask, is_causal=True)
    torch.testing.assert_close(both, attention(q, k, v, attn_mask=mask & torch.ones(7, 11).tril().bool()))


def test_a_query_that_may_see_nothing_gets_0():
    q, k, v = inputs()
    mask = torch.ones(7, 11, dtype=torch.bool)
    mask[3] = False
    out = attention(q, k, v, attn_mask=mask)
    assert out[:, :, 3].eq(0).all() and out.isfinite().all()
    assert attention(q, k[:, :, :0], v[:, :, :0]).eq(0).all()


def test_a_nan_is_not_hidden_by_a_mask_nor_made_by_one():
    """NaN in a score that is seen reaches its row; a query that sees nothing gets 0 · v, so NaN where v has it."""
    q, k, v = inputs()
    mask = torch.ones(7, 11, dtype=torch.bool)
    mask[3], mask[:, 10] = False, False
    k[..., 10, :] = torch.nan  # seen by nobody
    assert attention(q, k, v, attn_mask=mask).isfinite().all()
    q[..., 5, :] = torch.nan
    out = attention(q, k, v, attn_mask=mask)
    assert out[..., 5, :].isnan().all() and weights(q, k, attn_mask=mask)[..., 5, :10].isnan().all()
    assert out.isnan().any(-1).sum(-1).eq(1).all() and out[..., 3, :].eq(0).all()
    v[..., 0, 2] = torch.nan
    assert attention(q, k, v, attn_mask=mask)[..., 3, :].isnan().equal(v[..., 0, :].isnan())


@pytest.mark.parametrize("leading", [(), (3,), (2, 3, 4)])
def test_any_leading_dimensions(leading):
    q, k, v = torch.randn(3, *leading, 6, 5, dtype=torch.float64)
    expected = scaled_dot_product_attention(*(x.reshape(-1, 1, 6, 5) for x in (q, k, v)), is_causal=True)
    torch.testing.assert_close(attention(q, k, v, is_causal=True), expected.reshape(*leading, 6, 5))


def test_values_may_be_of_another_width():
    q, k, v = inputs()
    assert attention(q, k, v[..., :2]).equal(attention(q, k, v)[..., :2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_oracle_is_fp64_and_the_reference_keeps_its_dtype(dtype):
    q, k, v = inputs(dtype=dtype)
    assert attention(q, k, v).dtype == dtype
    truth = oracle(q, k, v, is_causal=True)
    assert truth.equal(attention(q.double(), k.double(), v.double(), is_causal=True))


@pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])
@pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("seq_q, seq_k, key_heads", [(4, 4, 2), (3, 5, 2), (5, 3, 1), (1, 3, 1)])
@pytest.mark.parametrize("scale", [None, -0.7, 0])
def test_gradients_are_those_of_finite_differences(scale, seq_q, seq_k, key_heads, is_causal, masked):
    """Through a query that sees no key, too: there they are 0 and not NaN."""
    q, k, v = (x.requires_grad_() for x in inputs(seq_q, seq_k, 3, batch=1, heads=2, key_heads=key_heads))
    mask = torch.rand(seq_q, seq_k) < 0.7
    mask[-1] = False
    options = {"attn_mask": mask if masked else None, "is_causal": is_causal, "scale": scale, "enable_gqa": True}
    torch.autograd.gradcheck(lambda *x: attention(*x, **options), (q, k, v))
    if masked:
        (dq,) = torch.autograd.grad(attention(q, k, v, **options).sum(), q)
        assert dq[..., -1, :].eq(0).all()


@pytest.mark.parametrize(
    "mask, error, words",
    [
        (torch.zeros(7, 11), TypeError, r"attn_mask is torch\.float32, a bool tensor is wanted"),
        ([[True]], TypeError, "attn_mask is list"),
        (torch.ones(7, 10, dtype=torch.bool), ValueError, r"attn_mask has shape \[7, 10\], one that broadcasts to"),
        (torch.ones(1, 2, 4, 7, 11, dtype=torch.bool), ValueError, "attn_mask has shape"),
        (torch.ones(7, 11, dtype=torch.bool, device="meta"), ValueError, "attn_mask is on meta"),
    ],
)
def test_a_bad_mask_is_named(mask, error, words):
    with pytest.raises(error, match=words):
        attention(*inputs(), attn_mask=mask)


@pytest.mark.parametrize("function", [weights, lambda q, k: oracle(q, k, k)])
def test_bad_input_is_named_before_anything_else(function):
    q, k, _ = inputs()
    with pytest.raises(ValueError, match="key has head_dim 3, query has 5: they must match"):
        function(q, k[..., :3])
    with pytest.raises(TypeError, match="key is list"):
        function(q, [1.0])
    with pytest.raises(ValueError, match="enable_gqa=True"):
        function(q, k[:, :2])
