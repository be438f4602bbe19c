"""Every branch of every kernel is entered, and no loop could stop after its first round.

A branch that no input can reach is dead code, and one that no test reaches is untested; blocks are made small here, so
that small inputs have many.
"""

import functools
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from tests.kernels.branches import kernels_of, loop_stopped_after_one_round, loops_of, untaken_branches

KERNELS = Path(__file__).parents[2] / "kernels"
pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="kernels are observed in the interpreter")


def drive_softmax():
    from kernels.softmax import softmax

    yield softmax(torch.randn(2, 10), block=4)


def drive_merge_rows():
    from kernels.parallel.merge_rows import launch

    (out, part), (lse, part_lse) = torch.randn(2, 1, 2, 20, 8), torch.randn(2, 1, 2, 20)
    launch(out, lse, part, part_lse, 0)
    yield from (out, lse)


def drive_ablation():
    from kernels.bench.microbenchmarks.ablation import BY_LEFT_OUT

    for form in BY_LEFT_OUT.values():
        yield form(*torch.randn(3, 1, 2, 5, 16))


def drive_strided_read():
    from kernels.bench.microbenchmarks.strided_read import strided_read

    yield strided_read(torch.randn(4096), 2)


def drive_repeated_read():
    from kernels.bench.microbenchmarks.repeated_read import repeated_read

    yield repeated_read(torch.randn(8192), 2)


def drive_first(attention, length):
    """Causal, and not.  ``length`` is more than a block, and no whole number of blocks."""
    for is_causal in (False, True):
        yield attention(*torch.randn(3, 2, 2, length, 40), is_causal=is_causal)


def drive_attention(attention, length, gradient=False):
    """Causal and padded, and neither; heads grouped. ``length`` is more than a block, and no whole number of blocks."""
    for is_causal, key_lengths in ((False, None), (True, torch.tensor([length - 2, 0]))):
        q = torch.randn(2, 2, length, 40, requires_grad=gradient)
        k, v = (torch.randn(2, 1, length, 40, requires_grad=gradient) for _ in range(2))
        yield (out := attention(q, k, v, is_causal=is_causal, enable_gqa=True, key_lengths=key_lengths))
        if gradient:
            out.sum().backward()
            yield from (q.grad, k.grad, v.grad)


def drive_add():
    from kernels.first.add import add

    yield add(*torch.randn(2, 1500))


def drive_one_head():
    from kernels.first.one_head import one_head_attention

    yield one_head_attention(*torch.randn(3, 5, 8))


def drive_one_key():
    from kernels.first.one_key import one_key_attention

    yield from drive_first(one_key_attention, 5)


def drive_key_blocks():
    from kernels.first import key_blocks

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_blocks, "BLOCK_K", 8)
        yield from drive_first(key_blocks.key_blocks_attention, 10)


def drive_three_kernels():
    from kernels.first import three_kernels

    with pytest.MonkeyPatch.context() as patch:
        for name in ("BLOCK_Q", "BLOCK_K", "BLOCK_D"):
            patch.setattr(three_kernels, name, 16)
        yield from drive_first(three_kernels.three_kernel_attention, 20)


def drive_flash():
    from kernels.flash.attention import flash_attention
    from kernels.flash.tiles import Tiles
    from tests.kernels.flash.test_schedule import scheduled_blocks

    def tiles(kernel, *_):  # two blocks at the diagonal
        return Tiles(16, 32, 4, 1) if kernel == "dkdv" else Tiles(32, 16, 4, 1)

    with pytest.MonkeyPatch.context() as patch:
        for module in ("forward", "backward"):
            patch.setattr(f"kernels.flash.{module}.tiles", tiles)
        yield from drive_attention(flash_attention, 40, gradient=True)
        yield scheduled_blocks(5, 3, 2**14, True, "cpu")  # some pairs in order, some that take turns
        q, k, v = (torch.randn(1, 1, 20, 16, requires_grad=True) for _ in range(3))
        _, lse = flash_attention(q, k, v, return_lse=True)
        lse.sum().backward()
        yield from (q.grad, k.grad)


def drive_backward_rows():
    from kernels.hopper.backward.rows import backward_postprocess_kernel, backward_preprocess_kernel

    constants = {"HEAD_DIM": 40, "COLUMNS": 64, "BLOCK": 64, "num_warps": 4}
    for dlse, accum in ((None, None), (torch.randn(1, 2, 70), torch.randn(2 * 128 * 64))):
        out, dout = torch.randn(2, 1, 2, 70, 40).half()
        lse, (lse_log2, delta) = torch.randn(1, 2, 70), torch.empty(2, 2 * 128)
        strides = (x // 8 for x in dout.stride()[:-1])
        numbers = (out, dout, lse, dlse, lse_log2, delta, accum)
        backward_preprocess_kernel[(4,)](*numbers, 2, 70, 128, *strides, **constants)
        yield from (x for x in (lse_log2, delta, accum) if x is not None)
    dq = torch.zeros(2, 70, 40)
    backward_postprocess_kernel[(4,)](torch.randn(2 * 128 * 64), dq, 0.3, 70, 128, **constants)
    yield dq


def drive_formats():
    from tests.kernels.formats.test_value_triton import apply_on_device, decoder_of, encoder_of
    from tests.kernels.formats.value_oracle import FORMATS, codes_of

    for format in FORMATS:
        yield apply_on_device(torch.device("cpu"), encoder_of(format), torch.randn(5))
        yield apply_on_device(torch.device("cpu"), decoder_of(format), codes_of(format))


def drive_block_scaling():
    from kernels.formats.block import FP8, FP8_BLOCKS, MXFP4, MXFP8, NVFP4
    from kernels.formats.block_triton import dequantize_blocks, quantize_blocks
    from kernels.serving.cache import KVCache

    for scheme in (NVFP4, MXFP4, MXFP8, FP8, FP8_BLOCKS):
        yield dequantize_blocks(quantize_blocks(torch.randn(2, 33), scheme))
    cache = KVCache(torch.tensor([[0]]), kv_heads=1, head_dim=16, page_size=16, format="nvfp4")
    cache.append(*torch.randn(2, 1, 1, 3, 16))  # loads by load_blocks
    yield from cache.gather(0)


def drive_kv_cache():
    from kernels.serving.cache import KVCache

    for format in ("bf16", "fp16", "fp8", "nvfp4"):
        for dtype in (torch.float16, torch.bfloat16):
            cache = KVCache(torch.arange(2)[:, None], kv_heads=1, head_dim=16, format=format)
            cache.append(*torch.randn(2, 2, 1, 3, 16).to(dtype))
            cache.append(*torch.randn(2, 1, 1, 3, 16).to(dtype), [1])
            yield from cache.gather(1)


def drive_decode():
    from kernels.serving.cache import KVCache
    from kernels.serving.decode import decode_attention

    pages = torch.tensor([[0, 1, 2, 3], [4, -1, -1, -1], [5, 6, 7, -1]])
    for format in ("fp16", "fp8", "nvfp4"):
        cache = KVCache(pages, kv_heads=2, head_dim=16, format=format)
        cache.append(*torch.randn(2, 1, 2, 200, 16), [0])
        cache.append(*torch.randn(2, 1, 2, 130, 16), [2])  # a share goes from 0 over 1 to 2
        yield decode_attention(torch.randn(3, 4, 5, 16).half(), cache)
    cache = KVCache(torch.tensor([[0]]), kv_heads=1, head_dim=16, format="fp16")
    cache.append(*torch.randn(2, 1, 1, 3, 16))
    yield decode_attention(torch.randn(1, 1, 1, 16).half(), cache)  # one program has it all
    with pytest.MonkeyPatch.context() as patch:  # more parts than are merged at a time
        patch.setattr("kernels.serving.decode.program_count", lambda q: 17)
        cache = KVCache(torch.arange(17)[None], kv_heads=1, head_dim=16, format="fp16")
        cache.append(*torch.randn(2, 1, 1, 17 * 64, 16))
        yield decode_attention(torch.randn(1, 1, 1, 16).half(), cache)


DRIVERS = {
    drive_softmax: ["softmax.py"],
    drive_add: ["first/add.py"],
    drive_one_head: ["first/one_head.py"],
    drive_one_key: ["first/one_key.py"],
    drive_key_blocks: ["first/key_blocks.py"],
    drive_three_kernels: ["first/three_kernels.py"],
    drive_flash: ["flash/schedule.py", "flash/forward.py", "flash/backward.py"],
    drive_backward_rows: ["hopper/backward/rows.py"],
    drive_formats: ["formats/value_triton.py"],
    drive_block_scaling: ["formats/block_triton.py"],
    drive_kv_cache: ["serving/append.py"],
    drive_decode: ["serving/decode_kernel.py"],
    drive_merge_rows: ["parallel/merge_rows.py"],
    drive_ablation: ["bench/microbenchmarks/ablation.py"],
    drive_strided_read: ["bench/microbenchmarks/strided_read.py"],
    drive_repeated_read: ["bench/microbenchmarks/repeated_read.py"],
}
LOOPS = [
    pytest.param(driver, name, line, id=f"{name}-{line}")
    for driver, names in DRIVERS.items()
    for name in names
    for line in loops_of(KERNELS / name)
]


def results_of(driver) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return list(driver())


whole_results_of = functools.cache(results_of)


def results_differ(results: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    pairs = zip(results, others, strict=True)
    return not all(torch.allclose(a.float(), b.float(), rtol=0, atol=0, equal_nan=True) for a, b in pairs)


def test_every_file_of_kernels_is_driven():
    with_kernels = {path.relative_to(KERNELS).as_posix() for path in KERNELS.rglob("*.py") if kernels_of(path)}
    assert with_kernels == {name for names in DRIVERS.values() for name in names}


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.__name__)
def test_every_branch_is_entered(driver, tmp_path):
    paths = [KERNELS / name for name in DRIVERS[driver]]
    assert untaken_branches(paths, lambda: results_of(driver), tmp_path / "report.json") == []


@pytest.mark.parametrize("driver, name, line", LOOPS)
def test_a_loop_that_stops_after_its_first_round_gives_other_results(driver, name, line):
    whole = whole_results_of(driver)
    with loop_stopped_after_one_round(KERNELS / name, line):
        torch.manual_seed(0)
        assert any(results_differ([one], [other]) for one, other in zip(whole, driver(), strict=True))


# That a branch never taken is reported, and that a loop of one round gives the same results.


@triton.jit
def helper(value, DOUBLE: tl.constexpr):
    if DOUBLE:
        value = value * 2
    return value


@triton.jit(do_not_specialize=["rounds"])
def toy_kernel(out, rounds, DOUBLE: tl.constexpr):
    total = 0
    for number in range(0, rounds):
        total += number + 1
    tl.store(out, helper(total, DOUBLE))
    if rounds > 2:
        tl.store(out, 0)


HERE = Path(__file__)
(TOY_LOOP,) = loops_of(HERE)


def toy(*arguments):
    for rounds, double in arguments:
        out = torch.zeros(1, dtype=torch.int64)
        toy_kernel[(1,)](out, rounds, DOUBLE=double)
        yield out


@pytest.mark.parametrize(
    "arguments, missing",
    [
        ([(3, True), (0, False)], []),
        ([(3, True), (0, True)], [("helper", "if DOUBLE:", "return value")]),
        (
            [(3, False), (0, False)],
            [("helper", "value = value * 2", None), ("helper", "if DOUBLE:", "value = value * 2")],
        ),
        (
            [(2, True), (2, False)],
            [("toy_kernel", "tl.store(out, 0)", None), ("toy_kernel", "if rounds > 2:", "tl.store(out, 0)")],
        ),
        ([(3, True), (3, False)], [("toy_kernel", "if rounds > 2:", "its end")]),
    ],
)
def test_a_branch_that_is_not_taken_is_reported(arguments, missing, tmp_path):
    lines = HERE.read_text().splitlines()

    def text(line):
        return line and (lines[line - 1].strip() if line > 0 else "its end")

    found = untaken_branches([HERE], lambda: results_of(lambda: toy(*arguments)), tmp_path / "report.json")
    assert [(name, text(line), text(target)) for name, line, target in found] == missing


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_a_loop_of_one_round_gives_the_same_results_when_it_is_stopped(rounds):
    whole = list(toy((rounds, True)))
    with loop_stopped_after_one_round(HERE, TOY_LOOP):
        assert results_differ(whole, list(toy((rounds, True)))) == (rounds > 1)
    assert not results_differ(whole, list(toy((rounds, True))))
