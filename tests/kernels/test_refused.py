"""What a kernel would read or differentiate wrongly without a word is refused by name, and what is right is not."""

from functools import partial

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.func import grad, jvp, vmap

from kernels import dispatch, reference
from kernels.first.key_blocks import key_blocks_attention
from kernels.first.one_key import one_key_attention
from kernels.first.three_kernels import three_kernel_attention
from kernels.flash.attention import flash_attention
from kernels.formats.block import FP8
from kernels.formats.block_triton import quantize_blocks
from kernels.hopper.attention import hopper_attention
from kernels.serving.cache import KVCache
from kernels.serving.decode import decode_attention
from kernels.softmax import softmax
from tests.kernels.flash import harness

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
CALLS = {
    "reference": reference.attention,
    "dispatch": dispatch.attention,
    "one_key": one_key_attention,
    "key_blocks": key_blocks_attention,
    "three_kernels": three_kernel_attention,
    "flash": flash_attention,
}
RUNGS = ["one_key", "key_blocks", "three_kernels"]
BY_TORCH_S_RULES = ["reference", "dispatch"]  # of FP32, the dispatcher takes the reference on a GPU, too


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    if not torch.cuda.is_available():
        harness.small_tiles(monkeypatch)


def each_attention(*names):
    return pytest.mark.parametrize("attention", [pytest.param(CALLS[name], id=name) for name in names])


def qkv(device, dtype=torch.float32):
    return torch.randn(3, 2, 2, 5, 16, device=device).to(dtype)


def cache_on(device):
    cache = KVCache(torch.tensor([[0], [1]]), kv_heads=2, head_dim=16, format="fp16", device=device)
    cache.append(*torch.randn(2, 2, 2, 9, 16, device=device))
    return cache


def decode_on(device):
    return partial(decode_attention, cache=cache_on(device))


def append_on(device):
    """How a cache takes a key, as a function of it."""
    cache, v = cache_on(device), torch.zeros(2, 2, 1, 16, device=device)
    return lambda k: cache.append(k, v.to(k.dtype))


# Every kernel that is no rung, with the input that it reads and what that is called.
def kernels_on(device):
    yield decode_on(device), torch.randn(2, 2, 1, 16, device=device).half(), "query"
    yield append_on(device), torch.randn(2, 2, 1, 16, device=device).half(), "key"
    yield append_on(device), torch.randn(2, 2, 1, 16, device=device).bfloat16(), "key"
    yield softmax, torch.randn(3, 7, device=device), "scores"
    yield lambda x: quantize_blocks(x, FP8, tensor_scale=1.0), torch.randn(3, 7, device=device), "x"


# Derivatives that no kernel has: forward mode, and those of torch.func.


def gradients_of(function, *tensors):
    leaves = [x.detach().requires_grad_() for x in tensors]
    return torch.autograd.grad(function(*leaves).square().sum(), leaves)


def torch_func_gradients(function, *tensors):
    return grad(lambda *x: function(*x).square().sum(), argnums=tuple(range(len(tensors))))(*tensors)


@each_attention("flash", *RUNGS)
@pytest.mark.parametrize("number, name", [*enumerate(["query", "key", "value"])])
def test_a_tangent_is_refused_and_not_lost(attention, number, name, device):
    tensors = list(qkv(device))
    with forward_ad.dual_level(), torch.no_grad(), pytest.raises(TypeError, match=f"{name} is .* in forward mode"):
        tensors[number] = forward_ad.make_dual(tensors[number], torch.ones_like(tensors[number]))
        attention(*tensors)


def test_a_tangent_is_refused_by_the_other_kernels(device):
    for function, x, name in kernels_on(device):
        with forward_ad.dual_level(), pytest.raises(TypeError, match=f"{name} is differentiated in forward mode"):
            function(forward_ad.make_dual(x, x))


@pytest.mark.parametrize("compiled", [False, True])
def test_jvp_of_flash_is_refused_and_not_0(compiled, device):
    q, k, v = qkv(device)

    def tangent(q, t):
        return jvp(lambda q: flash_attention(q, k, v), (q,), (t,))[1]

    if compiled:
        tangent = torch.compile(tangent, fullgraph=True, backend="eager")
    with pytest.raises(Exception, match="query is differentiated in forward mode"):
        tangent(q, q)


def test_hopper_refuses_a_tangent():
    with FakeTensorMode(), forward_ad.dual_level():
        q = torch.empty(1, 1, 8, 16, device="cuda", dtype=torch.float16)
        with pytest.raises(TypeError, match="value is differentiated in forward mode"):
            hopper_attention(q, q, forward_ad.make_dual(q, q))


@each_attention(*BY_TORCH_S_RULES)
def test_torch_s_own_operators_have_every_derivative(attention, device):
    q, k, v = qkv(device)
    expected = gradients_of(attention, q, k, v)
    torch.testing.assert_close(torch_func_gradients(attention, q, k, v), expected)
    _, along = jvp(lambda *x: attention(*x).square().sum(), (q, k, v), (v, q, k))
    inner = sum((x * t).sum() for x, t in zip(expected, (v, q, k), strict=True))
    torch.testing.assert_close(along, inner, rtol=1e-4, atol=1e-4)


@each_attention("flash", *RUNGS)
def test_torch_func_grad_is_refused(attention, device):
    q, k, v = qkv(device)
    words = "query is .*torch.func"
    with pytest.raises(TypeError, match=words):
        torch_func_gradients(attention, q, k, v)
    with pytest.raises(TypeError, match=words):
        grad(lambda x: vmap(lambda q: attention(q, k, v))(x).sum())(q[None])
    with pytest.raises(TypeError, match=r"key is .*torch\.func"):
        vmap(grad(lambda k: attention(q, k, v).sum()))(k[None])


def test_torch_func_is_refused_by_the_other_kernels(device):
    for function, x, name in kernels_on(device):
        for transformed, argument in ((vmap(function), x[None]), (grad(function), x)):
            with pytest.raises(TypeError, match=f"{name} is .*torch.func"):
                transformed(argument)


@each_attention(*BY_TORCH_S_RULES, "flash")
def test_vmap_is_one_call_after_the_other(attention, device):
    """Also of the lengths alone, and under torch.autograd."""
    q, k, v = torch.randn(3, 3, 1, 2, 5, 16, device=device)

    def each_alone(q, k, v):
        return torch.stack([attention(*x) for x in zip(q, k, v, strict=True)])

    mapped = vmap(attention)
    torch.testing.assert_close(mapped(q, k, v), each_alone(q, k, v))
    torch.testing.assert_close(gradients_of(mapped, q, k, v), gradients_of(each_alone, q, k, v))


def test_vmap_of_lengths(device):
    q, k, v = qkv(device)
    lengths = torch.tensor([[3, 5], [0, 1]], device=device)
    results = vmap(lambda lengths: flash_attention(q, k, v, key_lengths=lengths))(lengths)
    for result, length in zip(results, lengths, strict=True):
        assert result.equal(flash_attention(q, k, v, key_lengths=length))


@each_attention(*RUNGS)
def test_vmap_of_a_rung_is_refused(attention, device):
    with pytest.raises(TypeError, match=r"query is inside of torch\.func"):
        vmap(attention)(*qkv(device)[:, None])


def test_what_torch_func_does_not_differentiate_by_is_no_matter(device):
    q, k, v = qkv(device)
    gate = grad(lambda x: (x * flash_attention(x.detach(), k, v)).sum())(q)
    torch.testing.assert_close(gate, flash_attention(q, k, v))


# A sign that memory does not have.


def lazily_negated(x):
    """-x, as the imaginary part of a conjugate is: a view of x with a mark."""
    view = torch.complex(torch.zeros_like(x), x).conj().imag if x.dtype == torch.float32 else torch._neg_view(x)
    assert view.is_neg()
    return view


@each_attention(*RUNGS)
def test_a_lazy_sign_is_refused(attention, device):
    for number, name in enumerate(["query", "key", "value"]):
        tensors = list(qkv(device))
        tensors[number] = lazily_negated(tensors[number])
        with pytest.raises(TypeError, match=rf"{name} is negated lazily: call .resolve_neg\(\) first"):
            attention(*tensors)


def test_a_lazy_sign_is_refused_by_the_other_kernels(device):
    for function, x, name in kernels_on(device):
        with pytest.raises(TypeError, match=f"{name} is negated lazily"):
            function(lazily_negated(x))
    with pytest.raises(TypeError, match="tensor_scale is negated lazily"):
        quantize_blocks(torch.ones(3, device=device), FP8, tensor_scale=lazily_negated(-torch.ones((), device=device)))


@each_attention(*BY_TORCH_S_RULES, "flash")
def test_operators_of_torch_s_see_a_lazy_sign(attention, device):
    tensors = qkv(device)
    torch.testing.assert_close(attention(*(lazily_negated(x) for x in tensors)), attention(*(-x for x in tensors)))


@pytest.mark.gpu
def test_hopper_sees_a_lazy_sign(device):
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs a Hopper GPU")
    tensors = torch.randn(3, 1, 2, 70, 64, device=device).half()
    assert hopper_attention(*(lazily_negated(x) for x in tensors)).equal(hopper_attention(*(-x for x in tensors)))


# What is no tensor of numbers in memory.


class Wrapper(torch.Tensor):
    """A subclass such as DTensor: its numbers are those of another tensor."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    def __init__(self, inner):
        self.inner = inner

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(inner, *_):
        return Wrapper(**inner)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise NotImplementedError


def nested(x):
    return torch.nested.nested_tensor([x[0], x[0][:-1]])


LAYOUTS = [(nested, "nested"), (torch.Tensor.to_sparse, r"torch\.sparse_coo")]


@pytest.mark.parametrize("convert, kind", LAYOUTS)
@each_attention(*CALLS)
def test_a_tensor_that_is_not_dense_is_named(attention, convert, kind, device):
    for number, name in enumerate(["query", "key", "value"]):
        tensors = list(qkv(device))
        tensors[number] = convert(tensors[number])
        with pytest.raises(TypeError, match=f"{name} is {kind}, a dense tensor is wanted"):
            attention(*tensors)


@pytest.mark.parametrize("convert, kind", LAYOUTS)
def test_what_is_not_dense_is_named_by_the_other_kernels(convert, kind, device):
    for function, x, name in kernels_on(device):
        with pytest.raises(TypeError, match=f"{name} is {kind}, a dense tensor is wanted"):
            function(convert(x))
    with pytest.raises(TypeError, match=f"attn_mask is {kind}"):
        q, k, v = qkv(device)
        reference.attention(q, k, v, attn_mask=convert(torch.ones(2, 2, 5, 5, device=device)).bool())
    with pytest.raises(TypeError, match=f"page_table is {kind}"):
        KVCache(convert(torch.tensor([[0], [1]])).long(), kv_heads=1, head_dim=16)


@each_attention(*RUNGS)
def test_a_tensor_without_numbers_is_named(attention, device):
    with FakeTensorMode():
        fake = torch.empty(2, 2, 5, 16, device=device)
        with pytest.raises(TypeError, match="query is FakeTensor, which has no numbers of its own"):
            attention(fake, fake, fake)
    q, k, v = qkv(device)
    with pytest.raises(TypeError, match="value is Wrapper, which has no numbers of its own"):
        attention(q, k, Wrapper(v))
    meta = q.to("meta")
    with pytest.raises(ValueError, match="query is on meta"):
        attention(meta, meta, meta)


@each_attention(*BY_TORCH_S_RULES, "flash")
def test_shapes_alone_give_a_shape(attention):
    q, k, v = torch.empty(3, 2, 2, 5, 16, device="meta")
    assert attention(q, k, v).shape == q.shape
    with FakeTensorMode():
        q = torch.empty(2, 2, 5, 16)
        assert attention(q, q, q).shape == q.shape


def test_a_cache_on_meta_is_refused(device):
    with pytest.raises(TypeError, match="page_table is on meta, a tensor with numbers is wanted"):
        KVCache(torch.zeros(1, 1, dtype=torch.int32, device="meta"), kv_heads=1, head_dim=16)
    cache = KVCache(torch.tensor([[0]]), kv_heads=1, head_dim=16, device="meta")
    with pytest.raises(ValueError, match="key is on meta"):
        cache.append(*torch.zeros(2, 1, 1, 3, 16, device="meta"))


@each_attention("key_blocks")
def test_torch_compile_of_a_rung_is_refused_in_words(attention, device):
    """As a whole graph on any machine; in parts a GPU runs it, and the interpreter cannot."""
    tensors = qkv(device)
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"query is traced by torch\.compile"):
        torch.compile(attention, fullgraph=True, backend="eager")(*tensors)


@each_attention("one_key")
def test_torch_compile_in_parts(attention, device):
    tensors = qkv(device)
    compiled = torch.compile(lambda *x: attention(*x) + 1, backend="eager")
    if torch.cuda.is_available():
        torch.testing.assert_close(compiled(*tensors), attention(*tensors) + 1)
    else:
        with pytest.raises(TypeError, match=r"query is traced by torch\.compile"):
            compiled(*tensors)
    apart = torch.compile(lambda *x: torch.compiler.disable(attention)(*x) + 1, backend="eager")
    torch.testing.assert_close(apart(*tensors), attention(*tensors) + 1)


# Options.


@each_attention(*CALLS)
@pytest.mark.parametrize(
    "options, error, words",
    [
        ({"scale": 10**400}, ValueError, r"scale is 10+\.\.\.0+, at most 1\.7e\+38 is wanted"),
        ({"scale": -(10**400)}, ValueError, r"scale is -10+\.\.\.0+, at most"),
        ({"scale": float("inf")}, ValueError, "scale is inf, at most"),
        ({"scale": float("nan")}, ValueError, "scale is nan, at most"),
        ({"scale": 3e38}, ValueError, r"scale is 3e\+38, at most"),
        ({"scale": True}, TypeError, "scale is bool, a Python number is wanted"),
        ({"is_causal": "yes"}, TypeError, "is_causal is str, True or False is wanted"),
    ],
)
def test_an_option_is_named(attention, options, error, words, device):
    with pytest.raises(error, match=words):
        attention(*qkv(device), **options)


@each_attention(*BY_TORCH_S_RULES, "flash")
def test_enable_gqa_is_true_or_false(attention, device):
    with pytest.raises(TypeError, match="enable_gqa is str, True or False is wanted"):
        attention(*qkv(device), enable_gqa="yes")


@pytest.mark.parametrize("attention", [*CALLS.values()], ids=CALLS)
def test_the_largest_scale_is_a_number(attention, device):
    q, k, v = qkv(device)
    tiny = 2.0**-126  # scores of some 10
    torch.testing.assert_close(
        attention(q * tiny, k, v, scale=2.0**127), reference.attention(q * 2, k, v, scale=1.0), rtol=1e-3, atol=1e-3
    )


def test_fp64_takes_a_larger_scale():
    q, k, v = qkv("cpu", torch.float64)
    torch.testing.assert_close(
        reference.attention(q * 1e-300, k, v, scale=1e300), reference.attention(q, k, v, scale=1)
    )
    with pytest.raises(ValueError, match=r"scale is inf, at most 1\.8e\+308 is wanted"):
        reference.attention(q, k, v, scale=float("inf"))


def test_scale_times_key_scale_is_a_number(device):
    cache = KVCache(torch.tensor([[0]]), kv_heads=1, head_dim=16, format="fp8", key_scale=2.0**117, device=device)
    q = torch.zeros(1, 1, 1, 16, device=device).half()
    assert decode_attention(q, cache, scale=-(2.0**10)).eq(0).all()
    for scale in (2.0**11, float("nan"), 10**400):
        with pytest.raises(ValueError, match=r"scale is .*, the cache has key_scale 1\.66.*e\+35: at most 1e\+03"):
            decode_attention(q, cache, scale=scale)
    with pytest.raises(TypeError, match="scale is bool"):
        decode_attention(q, cache, scale=True)


def test_fp8_is_for_the_dispatcher_alone(device):
    tensors = [x.to(torch.float8_e4m3fn) for x in qkv(device)]
    with pytest.raises(TypeError, match=r"query is torch\.float8_e4m3fn, float64, .*: use kernels.dispatch.attention"):
        reference.attention(*tensors)
    assert dispatch.attention(*tensors).dtype == torch.float8_e4m3fn


@pytest.mark.parametrize("block", [2.0, True, "8"])
def test_softmax_s_block_is_an_int(block, device):
    with pytest.raises(TypeError, match=f"block is {type(block).__name__}, an int is wanted"):
        softmax(torch.zeros(2, 3, device=device), block=block)


@pytest.mark.parametrize("table, pages", [([[2**31]], None), ([[2**31]], 2**31 + 1), ([[0]], 2**31 + 1)])
def test_a_page_that_int32_does_not_hold_is_refused(table, pages):
    words = rf"pages is 2147483649, page_table has page {table[0][0]}: .* at most 2\^31 pages are wanted"
    with pytest.raises(TypeError, match=words):
        KVCache(torch.tensor(table), kv_heads=1, head_dim=16, pages=pages, device="meta")
