"""FlashAttention is an operator as torch has them, reads any layout, and names bad input."""

import pytest
import torch

from kernels.flash.attention import flash_attention, flash_backward, flash_forward
from kernels.flash.tensors import make_descriptor
from kernels.flash.tiles import TILES
from kernels.flash.tiles import tiles as tiles_of
from tests.kernels.flash.harness import (
    CAUSAL,
    columns_first,
    every_other,
    inputs,
    on_a_gpu,
    sequence_first,
    with_gradients,
)

# A last block of keys that is not full has rows of zeros; what becomes of them may overflow, and is stored nowhere.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")


@CAUSAL
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_torch_s_own_checks_of_an_operator(is_causal, device, tiles):
    q, k, v = (x.requires_grad_() for x in inputs(device, torch.float32, 20, 24, 16))
    lengths = torch.tensor([24, 5], device=device)
    for key_lengths in (None, lengths):
        torch.library.opcheck(flash_forward, (q, k, v, key_lengths, is_causal, 0.3))
    out, lse = flash_forward(q, k, v, lengths, is_causal, 0.3)
    tensors = [x.detach() for x in (out, lse, torch.randn_like(out), torch.randn_like(lse))]
    q, k, v = (x.detach() for x in (q, k, v))
    torch.library.opcheck(flash_backward, (q, k, v, lengths, is_causal, 0.3, *tensors))


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("scale", [None, -0.3])
def test_torch_compile_traces_it_whole(scale, device, tiles):
    backend = "inductor" if torch.cuda.is_available() else "aot_eager"
    tensors = inputs(device, torch.float32, 37, 50, 24)

    def f(q, k, v):
        out, lse = flash_attention(2 * q, k, v, is_causal=True, scale=scale, return_lse=True)
        return out.sin().sum() + lse.sum()

    results = []
    for function in (f, torch.compile(f, fullgraph=True, backend=backend)):
        leaves = [x.detach().requires_grad_() for x in tensors]
        value = function(*leaves)
        results.append((value, *torch.autograd.grad(value, leaves)))
    for eager, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, eager, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("is_causal", [on_a_gpu(False), True], ids=["full", "causal"])  # causal has whole blocks, too
@pytest.mark.parametrize("layout", [every_other, columns_first, sequence_first])
def test_strides_change_nothing(layout, is_causal, device, tiles):
    tensors = inputs(device, torch.float16, 37, 50, 24)
    tensors.append(torch.randn_like(tensors[0]))  # the gradient that arrives has strides, too
    expected = with_gradients(*tensors, is_causal=is_causal)
    for number in range(4):
        laid_out = [layout(x) if i == number else x for i, x in enumerate(tensors)]
        assert not laid_out[number].is_contiguous()
        results = with_gradients(*laid_out, is_causal=is_causal)
        assert all(x.equal(y) for x, y in zip(results, expected, strict=True))


@pytest.mark.parametrize("axis", range(4), ids=["batch", "heads", "sequence", "head_dim"])
def test_stride_0_changes_nothing(axis, device, tiles):
    tensors = inputs(device, torch.float16, 37, 37, 24)
    expanded = [x.narrow(axis, 0, 1).expand_as(x) for x in (*tensors, tensors[0])]
    assert all(x.stride(axis) == 0 for x in expanded)
    copied = [x.clone(memory_format=torch.contiguous_format) for x in expanded]
    results, expected = (with_gradients(*x, is_causal=True) for x in (expanded, copied))
    assert all(x.equal(y) for x, y in zip(results, expected, strict=True))


def test_a_start_that_is_not_aligned_changes_nothing(device, tiles):
    """TMA reads from multiples of 16 bytes; a view may start anywhere."""
    tensors = inputs(device, torch.float16, 37, 37, 24)
    shifted = [torch.cat([x.new_zeros(1), x.flatten()])[1:].view_as(x) for x in tensors]
    assert all(x.data_ptr() % 16 for x in shifted)
    assert flash_attention(*shifted).equal(flash_attention(*tensors))


def test_what_tma_cannot_read_in_place_is_copied(device):
    """Rows apart, columns apart or a start between multiples of 16 bytes; all else is read where it is."""
    x = torch.randn(2, 3, 5, 24, device=device, dtype=torch.float16)
    assert make_descriptor(x, 16).base.data_ptr() == x.data_ptr()
    odd_rows = torch.cat([x, x[..., :1]], -1)[..., :-1]
    shifted = torch.cat([x.new_zeros(1), x.flatten()])[1:].view_as(x)
    for other in (columns_first(x), odd_rows, shifted):
        copy = make_descriptor(other, 16).base
        assert copy.equal(x) and copy.data_ptr() % 16 == 0
        assert copy.stride(-1) == 1 and all(stride % 8 == 0 for stride in copy.stride()[:-1])


def test_each_head_dim_has_its_tiles():
    for head_dim, number in ((1, 0), (64, 0), (65, 1), (128, 1), (129, 2), (256, 2)):
        for kernel in ("forward", "dq", "dkdv"):
            assert tiles_of(kernel, head_dim, torch.float16) == TILES[kernel, 2][number]
            assert tiles_of(kernel, head_dim, torch.float32) == TILES[kernel, 4][number]


# Bad input is named.

GOOD = dict.fromkeys("qkv", torch.zeros(2, 4, 8, 16))


@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"k": torch.zeros(2, 4, 8, 12)}, ValueError, "key has head_dim 12, query has 16: they must match"),
        ({"v": torch.zeros(2, 4, 8, 12)}, ValueError, "value has head_dim 12, query has 16: they must match"),
        ({"v": torch.zeros(2, 4, 9, 16)}, ValueError, "value has sequence length 9, key has 8: they must match"),
        ({"v": torch.zeros(2, 2, 8, 16)}, ValueError, "value has leading dimensions"),
        ({"k": torch.zeros(3, 4, 8, 16)}, ValueError, "(key|value) has leading dimensions"),
        (dict.fromkeys("kv", torch.zeros(2, 2, 8, 16)), ValueError, "key has 2 heads, query has 4: .* enable_gqa"),
        ({**dict.fromkeys("kv", torch.zeros(2, 3, 8, 16)), "enable_gqa": True}, ValueError, "has 3 heads, query has 4"),
        ({**dict.fromkeys("kv", torch.zeros(2, 0, 8, 16)), "enable_gqa": True}, ValueError, "has 0 heads, query has 4"),
        (dict.fromkeys("qkv", torch.zeros(4, 8, 16)), ValueError, "query has 3 dimensions"),
        ({"q": torch.zeros(16)}, ValueError, "query has 1 dimensions"),
        ({"k": torch.zeros(8, 16)}, ValueError, "key has 2 dimensions, query has 4"),
        (dict.fromkeys("qkv", torch.zeros(2, 4, 8, 257)), ValueError, "query has head_dim 257, at most 256"),
        (dict.fromkeys("qkv", torch.zeros(2, 4, 8, 0)), ValueError, "query has head_dim 0"),
        ({"k": torch.zeros(2, 4, 8, 16).half()}, TypeError, "key is torch.float16, query is torch.float32"),
        (dict.fromkeys("qkv", torch.zeros(2, 4, 8, 16).double()), TypeError, "query is torch.float64"),
        ({"q": torch.zeros(2, 4, 8, 16).int()}, TypeError, "query is torch.int32"),
        ({"q": [[1.0]]}, TypeError, "query is list"),
        ({"v": torch.zeros(2, 4, 8, 16, device="meta")}, ValueError, "value is on meta, query is on"),
        ({"scale": torch.tensor(1.0)}, TypeError, "scale is Tensor"),
        ({"is_causal": "no"}, TypeError, "is_causal is str, True or False is wanted"),
        ({"key_lengths": [8, 8]}, TypeError, "key_lengths is list"),
        ({"key_lengths": torch.tensor([8.0, 8.0])}, TypeError, "key_lengths is torch.float32, int32 or int64"),
        ({"key_lengths": torch.tensor([8])}, ValueError, r"key_lengths has shape \[1\], query has 2 sequences: \[2\]"),
        ({"key_lengths": torch.zeros(2, device="meta").long()}, ValueError, "key_lengths is on meta, query is on"),
    ],
)  # fmt: skip
def test_bad_input_is_named(change, error, words, device):
    arguments = {
        name: x.to(device) if isinstance(x, torch.Tensor) and not x.is_meta and x.ndim else x
        for name, x in {**GOOD, **change}.items()
    }
    with pytest.raises(error, match=words):
        flash_attention(**arguments)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the interpreter runs only where there is no GPU")
def test_bf16_is_refused_by_the_interpreter():
    q = torch.zeros(1, 1, 8, 16, dtype=torch.bfloat16)
    with pytest.raises(TypeError, match=r"query is torch\.bfloat16, which"):
        flash_attention(q, q, q)
