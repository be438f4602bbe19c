"""A loop over heads and one batched projection are the same attention, and torch's own."""

import pytest
import torch

from kernels.multihead import AttentionHead, LoopedMultiHeadAttention, MultiHeadAttention
from kernels.reference import attention

BATCH, SEQUENCE, EMBED_DIM, HEADS = 2, 5, 24, 4

CAUSAL = pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])


def random_mask(*shape):
    """Every token sees the first one at least."""
    mask = torch.rand(shape) < 0.6
    mask[..., 0] = True
    return mask


PADDING = torch.arange(SEQUENCE) < torch.tensor([3, 0])[:, None, None, None]  # nothing to see in sequence 1
MASKS = {
    "none": lambda: None,
    "[N, N]": lambda: random_mask(SEQUENCE, SEQUENCE),
    "[N]": lambda: random_mask(SEQUENCE),
    "[heads, N, N]": lambda: random_mask(HEADS, SEQUENCE, SEQUENCE),
    "[1, N, N]": lambda: random_mask(1, SEQUENCE, SEQUENCE),
    "[batch, 1, N, N]": lambda: random_mask(BATCH, 1, SEQUENCE, SEQUENCE),
    "[batch, heads, N, N]": lambda: random_mask(BATCH, HEADS, SEQUENCE, SEQUENCE),
    "[1, heads, 1, N]": lambda: random_mask(1, HEADS, 1, SEQUENCE),
    "padding": lambda: PADDING,
}


@pytest.fixture
def looped():
    return LoopedMultiHeadAttention(EMBED_DIM, HEADS).double()


@pytest.fixture
def x():
    return torch.randn(BATCH, SEQUENCE, EMBED_DIM, dtype=torch.float64)


@CAUSAL
@pytest.mark.parametrize("mask", MASKS)
def test_the_loop_and_the_batched_form_are_equal(mask, is_causal, looped, x):
    mask = MASKS[mask]()
    vectorised = MultiHeadAttention.from_loop(looped)
    expected = looped(x, attn_mask=mask, is_causal=is_causal)
    torch.testing.assert_close(vectorised(x, attn_mask=mask, is_causal=is_causal), expected)
    assert expected.shape == x.shape and expected.dtype == x.dtype


@CAUSAL
def test_it_is_torch_s_own_multihead_attention(is_causal, looped, x):
    torch_module = torch.nn.MultiheadAttention(EMBED_DIM, HEADS, batch_first=True, dtype=torch.float64)
    vectorised = MultiHeadAttention.from_loop(looped)
    inputs = (vectorised.query, vectorised.key, vectorised.value)
    torch_module.in_proj_weight.data = torch.cat([linear.weight for linear in inputs])
    torch_module.in_proj_bias.data = torch.cat([linear.bias for linear in inputs])
    torch_module.out_proj.load_state_dict(vectorised.output.state_dict())
    mask = random_mask(SEQUENCE, SEQUENCE)
    hidden = ~(mask.tril() if is_causal else mask)  # there True does not take part
    expected, _ = torch_module(x, x, x, attn_mask=hidden)
    torch.testing.assert_close(vectorised(x, attn_mask=mask, is_causal=is_causal), expected)


def test_there_and_back_is_the_same(looped, x):
    looped_again = MultiHeadAttention.from_loop(looped).to_loop()
    expected, actual = looped.state_dict(), looped_again.state_dict()
    assert expected.keys() == actual.keys() and all(expected[name].equal(actual[name]) for name in expected)
    assert looped_again(x).equal(looped(x))


def test_weights_are_copied_and_not_shared(looped, x):
    vectorised = MultiHeadAttention.from_loop(looped)
    looped_again = vectorised.to_loop()
    expected = vectorised(x)
    for module in (looped, looped_again):
        for parameter in module.parameters():
            parameter.data.zero_()
    assert vectorised(x).equal(expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_copy_keeps_the_dtype(dtype):
    vectorised = MultiHeadAttention.from_loop(LoopedMultiHeadAttention(EMBED_DIM, HEADS).to(dtype))
    assert {parameter.dtype for parameter in vectorised.parameters()} == {dtype}
    assert {parameter.dtype for parameter in vectorised.to_loop().parameters()} == {dtype}


@CAUSAL
def test_gradients_are_equal(is_causal, looped, x):
    vectorised = MultiHeadAttention.from_loop(looped)
    dout = torch.randn_like(x)
    dx = []
    for module in (looped, vectorised):
        leaf = x.clone().requires_grad_()
        module(leaf, is_causal=is_causal).backward(dout)
        dx.append(leaf.grad)
    torch.testing.assert_close(dx[0], dx[1])
    for name in ("query", "key", "value"):
        heads = torch.cat([getattr(head, name).weight.grad for head in looped.heads])
        torch.testing.assert_close(heads, getattr(vectorised, name).weight.grad)
    torch.testing.assert_close(looped.output.weight.grad, vectorised.output.weight.grad)


def test_one_head_is_attention_of_three_projections(x):
    head = AttentionHead(EMBED_DIM, 7).double()
    mask = random_mask(BATCH, 1, SEQUENCE)
    expected = attention(head.query(x), head.key(x), head.value(x), attn_mask=mask, is_causal=True)
    assert head(x, attn_mask=mask, is_causal=True).equal(expected) and expected.shape == (BATCH, SEQUENCE, 7)


def test_causal_tokens_do_not_see_what_follows(looped, x):
    vectorised = MultiHeadAttention.from_loop(looped)
    later = x.clone()
    later[:, 3:] += 1
    for module in (looped, vectorised):
        torch.testing.assert_close(module(later, is_causal=True)[:, :3], module(x, is_causal=True)[:, :3])
        assert not torch.allclose(module(later)[:, :3], module(x)[:, :3])


def test_a_token_that_sees_nothing_gets_0_before_the_output_projection(looped, x):
    """So the bias of that projection is all that it gets, and the gradient is no NaN."""
    for module in (looped, MultiHeadAttention.from_loop(looped)):
        out = module(x, attn_mask=PADDING)
        assert out[1].equal(module.output.bias.expand_as(out[1])) and not out[0].equal(out[1])
        out.sum().backward()
        assert all(parameter.grad.isfinite().all() for parameter in module.parameters())


@pytest.mark.parametrize("form", [LoopedMultiHeadAttention, MultiHeadAttention])
@pytest.mark.parametrize("embed_dim, heads", [(10, 3), (4, 8), (8, 0), (8, -2), (0, 2)])
def test_an_embed_dim_that_heads_do_not_divide_is_named(form, embed_dim, heads):
    with pytest.raises(ValueError, match=f"embed_dim is {embed_dim}, a multiple of heads = {heads} is wanted"):
        form(embed_dim, heads)


@pytest.mark.parametrize("form", [LoopedMultiHeadAttention, MultiHeadAttention, AttentionHead])
@pytest.mark.parametrize(
    "x, error, words",
    [
        (torch.zeros(2, 5, 23), ValueError, r"x has shape \[2, 5, 23\], \[batch, sequence, 24\] is wanted"),
        (torch.zeros(5, 24), ValueError, r"x has shape \[5, 24\]"),
        ([[1.0]], TypeError, "x is list"),
    ],
)
def test_bad_tokens_are_named(form, x, error, words):
    with pytest.raises(error, match=words):
        form(EMBED_DIM, HEADS)(x)


@pytest.mark.parametrize("form", [LoopedMultiHeadAttention, MultiHeadAttention])
@pytest.mark.parametrize(
    "mask, error, words",
    [
        (torch.zeros(5, 5), TypeError, r"attn_mask is torch\.float32, a bool tensor is wanted"),
        ([[True]], TypeError, "attn_mask is list"),
        (random_mask(5, 4), ValueError, r"attn_mask has shape \[5, 4\], one that broadcasts to"),
        (random_mask(2, 3, 5, 5), ValueError, r"attn_mask has shape \[2, 3, 5, 5\], one that broadcasts to"),
        (random_mask(3, 5, 5), ValueError, r"attn_mask has shape \[3, 5, 5\], one that broadcasts to"),
        (random_mask(1, 2, 4, 5, 5), ValueError, "attn_mask has shape"),
    ],
)
def test_a_bad_mask_is_named(form, mask, error, words):
    with pytest.raises(error, match=words):
        form(EMBED_DIM, HEADS)(torch.zeros(2, 5, 24), attn_mask=mask)
