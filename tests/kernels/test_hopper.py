"""FlashAttention for Hopper is attention: within the error budget on ugly shapes and values, whatever the plan."""

import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention
from triton import AsyncCompileMode

from kernels import hopper
from kernels.bench.hardware import H100
from kernels.bench.profiler import launches
from kernels.flash.call import flash_attention
from kernels.hopper.call import hopper_attention
from kernels.hopper.plan import PLANS, Plan, plan_for
from tests.budget import attention_budget_used, lse_budget_used
from tests.kernels.prefilled import prefilled_with_nan
from tests.kernels.test_flash import CAUSAL, UGLY, VALUES, columns_first, every_other, inputs, sequence_first

ROOT = Path(__file__).resolve().parents[2]
FP16, BF16 = torch.float16, torch.bfloat16
DTYPES = pytest.mark.parametrize("dtype", [FP16, BF16], ids=["fp16", "bf16"])
HEAD_DIMS = pytest.mark.parametrize("head_dim", [64, 128, 256])  # what the kernel is compiled for
REGISTERS = H100["registers per SM"].value // 4
SHARED_MEMORY = H100["shared memory per block"].value

# One short of, and one past, a tile of 64 rows, of 128, and the queries of two and of three warpgroups.
NEAR_A_TILE = [(63, 65), (65, 63), (127, 129), (129, 127), (191, 193), (193, 191), (192, 192), (256, 384), (1023, 1024)]

# Plans that are not the default one of head_dim 64, but can be asked for.
OTHER_PLANS = {
    "two consumers": (False, Plan(2, 128, 2, 3, 240)),
    "three consumers, causal": (True, Plan(3, 128, 2, 3, 160)),
    "turns": (True, Plan(2, 128, 2, 3, 240, turns=True)),
    "turns of three": (False, Plan(3, 128, 2, 3, 160, turns=True)),
    "no overlap": (True, Plan(2, 128, 2, 3, 240, overlap=False)),
    "few keys a tile": (True, Plan(2, 64, 2, 3, 240)),
    "three consumers, few keys a tile": (True, Plan(3, 64, 2, 3, 160)),
    "nothing fetched ahead": (True, Plan(2, 128, 1, 1, 240)),
    "not paired": (True, PLANS[64, True]._replace(paired=False)),
    "not persistent": (True, PLANS[64, True]._replace(persistent=False)),
    "not persistent, not causal": (False, PLANS[64, False]._replace(persistent=False)),
}


# Wrong versions of the file, each by one mistake that is easily made.  None changes how often a barrier is waited for
# on one side alone: a kernel that hangs is rejected by nobody.


class Mistake(NamedTuple):
    """What stands in kernels/hopper.py, what stands there instead, and where it shows."""

    right: str
    wrong: str
    is_causal: bool = False
    plan: Plan | None = None


TEXT = Path(hopper.__file__).read_text()
NO_MISTAKE = Mistake("", "")
MISTAKES = {
    "last block not masked": Mistake(
        "gl.full([ROWS], seq_k - 1 - first_key,", "gl.full([ROWS], seq_k + 127 - first_key,"
    ),
    "causal mask off by one": Mistake(
        "gl.arange(0, ROWS, BY_ROW) + (first_query - first_key)",
        "gl.arange(0, ROWS, BY_ROW) + (first_query - first_key + 1)",
        is_causal=True,
    ),
    "diagonal masked in its last block alone": Mistake(
        "CAUSAL and BLOCK_K % BLOCK_Q != 0", "False", is_causal=True, plan=OTHER_PLANS["few keys a tile"][1]
    ),
    "blocks of keys at the diagonal left out": Mistake(
        "gl.minimum(seq_k, first_query + BLOCK_Q)",
        "gl.minimum(seq_k, first_query + 1)",
        is_causal=True,
        plan=OTHER_PLANS["few keys a tile"][1],
    ),
    "accumulator not rescaled": Mistake(
        "accumulator * gl.convert_layout(rescale, gl.SliceLayout(1, OUTPUT))[:, None]", "accumulator * 1.0"
    ),
    "sum not rescaled": Mistake("running_sum * rescale + gl.sum", "running_sum + gl.sum"),
    "maximum not kept": Mistake("return weights, new_max, running_sum", "return weights, running_max, running_sum"),
    "weights of the block before": Mistake(
        "weights = gl.convert_layout(new_weights.to(queries.dtype), weights.type.layout)", "pass"
    ),
    "every consumer has the first queries": Mistake("batch, head, first_query + i * ROWS", "batch, head, first_query"),
    "heads grouped wrongly": Mistake("batch, head // group, row", "batch, head % (heads // group), row"),
    "one block of a pair twice": Mistake(
        "gl.where(which == 0, block, unit % units)", "gl.where(which == 0, block, block)", is_causal=True
    ),
    "last unit left out": Mistake("LOG2_E.value, units, heads", "LOG2_E.value, units - 1, heads"),
    "not scaled": Mistake("lse, scale * LOG2_E.value", "lse, LOG2_E.value"),
    "lse in units of log 2": Mistake("gl.log2(total)) * LN_2", "gl.log2(total))"),
}


# The GPU, and what is compiled for it.


def on_hopper(test):
    """Marks what only a Hopper GPU can run."""
    return pytest.mark.gpu(pytest.mark.usefixtures("compiled")(test))


def sms(device):
    return torch.cuda.get_device_properties(device).multi_processor_count


@pytest.fixture(scope="module")
def hopper_gpu():
    """The device, if it is a Hopper GPU."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip(f"needs a Hopper GPU, here is {torch.cuda.get_device_name()}")
    return torch.device("cuda")


@pytest.fixture(scope="module")
def compiled(hopper_gpu):
    """Every kernel that these tests launch often, compiled side by side: one after the other would take minutes."""
    few, many = 1, sms(hopper_gpu) + 1  # pairs of batch and head; causal, many make pairs of blocks
    with compiling(hopper):
        for head_dim, is_causal, pairs in product((64, 128, 256), (False, True), (few, many)):
            q = torch.zeros(1, pairs, 1, head_dim, device=hopper_gpu, dtype=BF16)
            hopper_attention(q, q, q, is_causal=is_causal)
            hopper_attention(q, q, q, is_causal=is_causal, return_lse=True)
            if pairs == few:
                hopper_attention(*[q.half()] * 3, is_causal=is_causal, return_lse=True)
        q = torch.zeros(1, many, 1, 64, device=hopper_gpu, dtype=BF16)
        for is_causal, plan in OTHER_PLANS.values():
            hopper_attention(q, q, q, is_causal=is_causal, plan=plan, return_lse=True)


@pytest.fixture(scope="module")
def wrong_modules(compiled, hopper_gpu, tmp_path_factory):
    """kernels/hopper.py as it is, and with each mistake, each as a module."""
    folder = tmp_path_factory.mktemp("wrong")
    modules = {name: changed(x, folder / f"{number}.py") for number, (name, x) in enumerate(all_versions().items())}
    q = torch.zeros(1, sms(hopper_gpu) + 1, 1, 64, device=hopper_gpu, dtype=BF16)
    with compiling(*modules.values()):
        for name, mistake in all_versions().items():
            options = {"is_causal": mistake.is_causal, "plan": mistake.plan}
            modules[name].hopper_attention(q, q, q, return_lse=True, **options)
    return modules


def all_versions():
    return {"none": NO_MISTAKE, **MISTAKES}


def changed(mistake, path):
    """kernels/hopper.py with this mistake, as a module that is written to this path."""
    text = TEXT.replace(mistake.right, mistake.wrong) if mistake.right else TEXT
    own = f"mistake_{path.stem}_{abs(hash(mistake))}::"  # for an operator cannot be there twice
    path.write_text(text.replace("attention_handbook::", own))
    spec = spec_from_file_location(f"wrong_{path.stem}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Unlaunched(NamedTuple):
    """A kernel that is compiled where it would be launched."""

    kernel: object

    def __getitem__(self, grid):
        return partial(self.kernel.warmup, grid=grid)


@contextmanager
def compiling(*modules):
    """Launches of these modules' hopper_kernel only compile it, all at the same time, until the end of the block."""
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor() as pool, AsyncCompileMode(pool):
        for module in modules:
            patch.setattr(module, "hopper_kernel", Unlaunched(module.hopper_kernel))
        yield


# The budget.


def used(attention, q, k, v, **options):
    """The larger share of the budget: of the output's or of the log-sum-exp's.  What is not written is NaN."""

    def both(*tensors, return_lse=True, **options):
        with prefilled_with_nan():
            return attention(*tensors, return_lse=True, **options)

    def output(*tensors, **options):
        return both(*tensors, **options)[0]

    of_output = attention_budget_used(output, q, k, v, **options)
    return max(of_output, lse_budget_used(both, q, k, v, **options))


def same(results, expected):
    """Bit for bit."""
    return all(x.equal(y) for x, y in zip(results, expected, strict=True))


with_lse = partial(hopper_attention, return_lse=True)


# Shapes.


@on_hopper
@CAUSAL
@HEAD_DIMS
@pytest.mark.parametrize("seq_q, seq_k", UGLY + NEAR_A_TILE)
def test_any_lengths(seq_q, seq_k, head_dim, is_causal, device):
    q, k, v = inputs(device, BF16, seq_q, seq_k, head_dim)
    assert used(hopper_attention, q, k, v, is_causal=is_causal) <= 1


@on_hopper
@CAUSAL
@HEAD_DIMS
@pytest.mark.parametrize("seq_q, seq_k", [(113, 203), (193, 191), (1023, 1024)])
def test_any_lengths_in_fp16(seq_q, seq_k, head_dim, is_causal, device):
    q, k, v = inputs(device, FP16, seq_q, seq_k, head_dim)
    assert used(hopper_attention, q, k, v, is_causal=is_causal) <= 1


@on_hopper
@CAUSAL
@DTYPES
@pytest.mark.parametrize("head_dim", [8, 24, 72, 96, 136, 248])
def test_any_head_dim(head_dim, dtype, is_causal, device):
    q, k, v = inputs(device, dtype, 113, 203, head_dim)
    assert used(hopper_attention, q, k, v, is_causal=is_causal) <= 1


@on_hopper
@CAUSAL
@pytest.mark.parametrize("key_heads", [1, 2, 3, 6])
def test_grouped_queries(key_heads, is_causal, device):
    """In a batch of 3, whose heads of keys are not one sequence's alone."""
    q, k, v = inputs(device, BF16, 150, 200, 64, batch=3, heads=6, key_heads=key_heads)
    assert used(hopper_attention, q, k, v, is_causal=is_causal, enable_gqa=True) <= 1


@on_hopper
@CAUSAL
@HEAD_DIMS
@pytest.mark.parametrize("seq_q, seq_k", [(100, 120), (250, 130), (300, 400), (500, 300)])
def test_more_work_than_sms(seq_q, seq_k, head_dim, is_causal, device):
    """Every program goes on to other units; causal, 1, 2, 3 or 4 blocks of queries of a head are paired."""
    heads = 4 * (sms(device) // 12 + 1)
    q, k, v = inputs(device, BF16, seq_q, seq_k, head_dim, batch=3, heads=heads, key_heads=heads // 4)
    assert 3 * heads > sms(device)
    assert used(hopper_attention, q, k, v, is_causal=is_causal, enable_gqa=True) <= 1


@on_hopper
@CAUSAL
def test_few_heads_and_more_blocks_than_sms(is_causal, device):
    """An odd number of blocks each, paired."""
    blocks = sms(device) // 4 // 2 * 2 + 7
    assert 4 * blocks > sms(device) and blocks % 2
    q, k, v = inputs(device, BF16, 128 * blocks - 1, 128 * blocks + 1, 128, batch=1, heads=4, key_heads=2)
    assert used(hopper_attention, q, k, v, is_causal=is_causal, enable_gqa=True) <= 1


@on_hopper
@settings(deadline=None, derandomize=True, max_examples=15)
@given(st.data())
def test_any_shape_whatever(data):
    size = partial(st.integers, 1)
    key_heads, group = data.draw(size(2)), data.draw(size(3))
    tensors = inputs(
        torch.device("cuda"), data.draw(st.sampled_from([FP16, BF16])),
        data.draw(size(700)), data.draw(size(700)), 8 * data.draw(size(32)),
        batch=data.draw(size(3)), heads=key_heads * group, key_heads=key_heads,
    )  # fmt: skip
    assert used(hopper_attention, *tensors, is_causal=data.draw(st.booleans()), enable_gqa=True) <= 1


@on_hopper
@CAUSAL
@HEAD_DIMS
def test_long_sequences(head_dim, is_causal, device):
    """16384 queries and keys; some rows, each as a sequence of its own that has as many keys as the row sees."""
    length = 16384
    q, k, v = torch.randn(3, 1, 1, length, head_dim, device=device, dtype=BF16)
    rows = torch.tensor([0, 1, 127, 128, 5000, 8191, 8192, 12345, length - 64, length - 1], device=device)
    out, lse = with_lse(q, k, v, is_causal=is_causal)

    def of_rows(*_, return_lse=False, **__):
        picked = out[0, 0, rows, None, None], lse[0, 0, rows, None, None]
        return picked if return_lse else picked[0]

    tensors = q[0, 0, rows, None, None], *(x.expand(len(rows), -1, -1, -1) for x in (k, v))
    options = {"key_lengths": rows + 1 if is_causal else torch.full_like(rows, length)}
    assert attention_budget_used(of_rows, *tensors, **options) <= 1
    assert lse_budget_used(of_rows, *tensors, **options) <= 1


# Plans.


@on_hopper
@pytest.mark.parametrize("plan", OTHER_PLANS)
def test_other_plans(plan, device):
    """Of one block of queries, and of some, with more pairs than SMs and fewer keys than queries."""
    is_causal, plan = OTHER_PLANS[plan]
    heads = 4 * (sms(device) // 8 + 1)
    for seq_q, seq_k in ((50, 120), (600, 500)):
        q, k, v = inputs(device, BF16, seq_q, seq_k, 64, batch=2, heads=heads, key_heads=heads // 4)
        attention = partial(hopper_attention, plan=plan)
        assert used(attention, q, k, v, is_causal=is_causal, enable_gqa=True) <= 1


@on_hopper
def test_more_programs_than_a_grid_axis_of_65535(device):
    q, k, v = torch.randn(3, 35000, 2, 4, 64, device=device, dtype=BF16)
    expected = hopper_attention(*(x[-100:] for x in (q, k, v)))
    for plan in (PLANS[64, False], PLANS[64, False]._replace(persistent=False)):
        with prefilled_with_nan():
            out = hopper_attention(q, k, v, plan=plan)
        assert out.isfinite().all() and out[-100:].equal(expected)


class Observed:
    """A kernel, and what was compiled for each of its launches."""

    def __init__(self, kernel):
        self.kernel, self.made = kernel, []

    def __getitem__(self, grid):
        return lambda *arguments, **options: self.made.append(self.kernel[grid](*arguments, **options))


@on_hopper
@pytest.mark.parametrize("return_lse", [False, True], ids=["out", "out and lse"])
@pytest.mark.parametrize("pairs", ["few", "many"])
@pytest.mark.parametrize("head_dim, is_causal, seq_q", [*[(*x, 200) for x in PLANS], (64, True, hopper.LONG)])
def test_what_the_compiler_says(head_dim, is_causal, seq_q, pairs, return_lse, device, monkeypatch):
    """Nothing is spilled, consumers get the registers of the plan, the rings take what they should."""
    observed = Observed(hopper.hopper_kernel)
    monkeypatch.setattr(hopper, "hopper_kernel", observed)
    shape = (1, 1 if pairs == "few" else sms(device) + 1, seq_q, head_dim)
    q = torch.randn(shape, device=device, dtype=BF16)
    hopper_attention(q, q, q, is_causal=is_causal, return_lse=return_lse)
    (made,) = observed.made
    assert made.n_spills == 0
    plan = plan_for(head_dim, is_causal, seq_q)
    assert re.search(rf"setmaxnreg\.inc\S+\s+{plan.registers};", made.asm["ptx"])
    rows = plan.q_stages * plan.block_q + 2 * plan.stages * plan.block_k
    assert 2 * rows * head_dim < made.metadata.shared < 2 * rows * head_dim + 1024


@pytest.mark.parametrize("head_dim, is_causal", PLANS)
def test_a_plan_fits_on_an_sm(head_dim, is_causal):
    """Its tiles of 2 bytes a number in shared memory, where barriers need some room; its warps' registers."""
    plan = PLANS[head_dim, is_causal]
    rows = plan.q_stages * plan.block_q + 2 * plan.stages * plan.block_k
    assert 2 * rows * head_dim + 1024 <= SHARED_MEMORY
    assert 128 * (plan.consumers * plan.registers + 24) <= REGISTERS  # the producer's warp is counted as four


def test_a_head_dim_between_has_the_plan_of_the_next():
    for is_causal in (False, True):
        for head_dim in range(8, 257, 8):
            next_size = min(x for x in (64, 128, 256) if x >= head_dim)
            assert plan_for(head_dim, is_causal, 1) == PLANS[next_size, is_causal]


def test_long_causal_heads_of_64_have_three_consumers():
    assert plan_for(64, True, hopper.LONG - 1).consumers == 2
    assert plan_for(64, True, hopper.LONG) == PLANS[64, False]
    for head_dim in (72, 256):
        assert plan_for(head_dim, True, hopper.LONG) == PLANS[128 if head_dim == 72 else 256, True]


IN_PYTHON = SimpleNamespace(
    to_tensor=torch.tensor, int32=torch.int32, minimum=min, cdiv=lambda x, y: -(-x // y),
    where=lambda condition, x, y: x if condition else y,
)  # fmt: skip


@pytest.mark.parametrize("is_causal, paired", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("block_q, block_k", [(128, 128), (128, 64), (192, 128)])
@pytest.mark.parametrize("seq_q", [1, 128, 129, 300, 385, 1000])
@pytest.mark.parametrize("seq_k", [1, 200, 1000])
def test_the_work_is_shared_out(seq_q, seq_k, block_q, block_k, is_causal, paired, monkeypatch):
    """Each block of queries is in one unit, with all the keys that it sees and no block more; pairs are equally long.

    The kernel's own functions, run in Python.
    """
    monkeypatch.setattr(hopper, "gl", IN_PYTHON)
    blocks, pairs, done = -(-seq_q // block_q), 3, Counter()
    for unit in range(pairs * (-(-blocks // 2) if paired else blocks)):
        number = int(hopper.blocks_in.fn(torch.tensor(unit), seq_q, block_q, paired))
        lengths = []
        for which in range(number):
            pair, first_query, length = hopper.block_of.fn(
                unit, which, seq_q, seq_k, block_q, block_k, is_causal, paired
            )
            seen = min(seq_k, first_query + block_q) if is_causal else seq_k
            assert (length - 1) * block_k < seen <= length * block_k
            done[pair, first_query] += 1
            lengths.append(length)
        if number == 2 and seq_k >= seq_q:
            assert abs(sum(lengths) - (blocks + 1) * block_q / block_k) < 2
    assert done == Counter(product(range(pairs), range(0, seq_q, block_q)))


# Wrong versions.


def worst(module, mistake, device):
    """The share of the budget that a version of the file uses, where this mistake shows."""
    heads = 2 * (sms(device) // 4 + 1)  # so that a batch of 2 has more pairs than there are SMs
    q, k, v = inputs(device, BF16, 300, 400, 64, heads=heads, key_heads=heads // 2)
    attention = partial(module.hopper_attention, plan=mistake.plan)
    return used(attention, q, k, v + 1, is_causal=mistake.is_causal, enable_gqa=True)


@on_hopper
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_version_is_rejected(mistake, wrong_modules, device):
    assert worst(wrong_modules[mistake], MISTAKES[mistake], device) > 1


@on_hopper
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_right_one_is_accepted_in_its_place(mistake, wrong_modules, device):
    assert worst(wrong_modules["none"], MISTAKES[mistake], device) <= 1


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_version_is_another(mistake, tmp_path):
    """What is to be changed stands there; what stands in its place is Python."""
    assert TEXT.count(MISTAKES[mistake].right) == (2 if mistake == "heads grouped wrongly" else 1)
    assert MISTAKES[mistake].wrong in Path(changed(MISTAKES[mistake], tmp_path / "wrong.py").__file__).read_text()


# Numbers.


@on_hopper
@CAUSAL
@DTYPES
@pytest.mark.parametrize("scale", [-1.5, -1e-3, 1e-20, 0.3, 2, 30])
def test_any_scale(scale, dtype, is_causal, device):
    q, k, v = inputs(device, dtype, 150, 300, 64)
    assert used(hopper_attention, q, k, v, is_causal=is_causal, scale=scale) <= 1


@on_hopper
@CAUSAL
def test_a_scale_of_0_or_below(is_causal, device):
    q, k, v = inputs(device, FP16, 150, 300, 64)
    below = with_lse(q, k, v, is_causal=is_causal, scale=-1.5)
    assert same(below, with_lse(-q, k, v, is_causal=is_causal, scale=1.5))
    for scale in (0, 1e-46, -1e-46):  # which FP32 cannot tell apart
        flat = with_lse(q, k, v, is_causal=is_causal, scale=scale)
        assert same(flat, with_lse(0 * q, k, v, is_causal=is_causal))
        mean = (v[..., :150, :] if is_causal else v).float().mean(-2)
        torch.testing.assert_close(flat[0][..., -1, :].float(), mean, rtol=2e-3, atol=2e-3)


@on_hopper
@DTYPES
def test_a_huge_scale_leaves_one_key(dtype, device):
    q, k, v = (x.to(dtype) for x in torch.randn(3, 1, 2, 150, 64, device=device))
    best = (q.double() @ k.double().mT).argmax(-1)
    expected = v.gather(-2, best[..., None].expand_as(v))
    out = with_lse(q, k, v, scale=1e5)[0]
    torch.testing.assert_close(out, expected, rtol=2 * torch.finfo(dtype).eps, atol=0)


@on_hopper
@CAUSAL
@DTYPES
@pytest.mark.parametrize("values", VALUES)
def test_adversarial_values(values, dtype, is_causal, device):
    q, k, v = (x.float() for x in inputs(device, dtype, 150, 300, 64))
    assert used(hopper_attention, *(x.to(dtype) for x in values(q, k, v)), is_causal=is_causal) <= 1


@on_hopper
@CAUSAL
@HEAD_DIMS
def test_a_row_of_nothing_but_minus_infinity_gives_0(head_dim, is_causal, device):
    """The last block of keys is not full: zeros there make NaN of -inf, which the mask must hide."""
    q, k, v = inputs(device, BF16, 150, 300, head_dim)
    q[:, :, [7, 140]] = -torch.inf
    out, lse = with_lse(q, k.abs() + 0.1, v, is_causal=is_causal)
    nothing = torch.zeros(150, dtype=torch.bool, device=device)
    nothing[[7, 140]] = True
    assert out[:, :, nothing].eq(0).all() and lse[:, :, nothing].eq(-torch.inf).all()
    assert out.isfinite().all() and lse[:, :, ~nothing].isfinite().all()


@on_hopper
@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan])
@pytest.mark.parametrize("where", range(3), ids=["query", "key", "value"])
def test_inf_and_nan_spread_as_in_torch(where, value, device):
    tensors = list(torch.randn(3, 2, 2, 150, 64, device=device).half())
    tensors[where][0, 0, 100, 3] = value
    with sdpa_kernel(SDPBackend.MATH):
        expected = scaled_dot_product_attention(*(x.float() for x in tensors))
    out = with_lse(*tensors)[0].float()
    torch.testing.assert_close(out, expected, equal_nan=True, rtol=1e-2, atol=1e-2)


@on_hopper
@HEAD_DIMS
def test_a_key_that_a_query_may_not_see_cannot_reach_it(head_dim, device):
    q, k, v = inputs(device, BF16, 400, 400, head_dim)
    expected = with_lse(q, k, v, is_causal=True)
    k[:, :, 150:] = torch.nan  # 150 is inside a block: the mask must hide it, and not the loop
    results = with_lse(q, k, v, is_causal=True)
    assert same((x[:, :, :150] for x in results), (x[:, :, :150] for x in expected))
    assert all(x[:, :, 150:].isnan().all() for x in results)


@on_hopper
@HEAD_DIMS
@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_a_value_reaches_only_blocks_that_read_it(value, head_dim, device):
    """In one column of one head, every query that sees it, and none of an earlier block."""
    plan = plan_for(head_dim, True, 600)
    q, k, v = inputs(device, BF16, 600, 600, head_dim)
    expected = hopper_attention(q, k, v, is_causal=True)
    v[0, 1, 350, 3] = value
    out = hopper_attention(q, k, v, is_causal=True)
    not_read = 350 // plan.block_k * plan.block_k // plan.block_q * plan.block_q
    assert 0 < not_read < 350
    may_differ = torch.zeros_like(out, dtype=torch.bool)
    may_differ[0, 1, not_read:, 3] = True
    assert out[~may_differ].equal(expected[~may_differ])
    assert not out[0, 1, 350:, 3].isfinite().any()


@on_hopper
@CAUSAL
@pytest.mark.parametrize("shape", [(0, 2, 5, 5), (2, 0, 5, 5), (2, 2, 0, 5), (2, 2, 5, 0)])
def test_empty_gives_zeros(shape, is_causal, device):
    batch, heads, seq_q, seq_k = shape
    q = torch.randn(batch, heads, seq_q, 64, device=device, dtype=BF16)
    k, v = torch.randn(2, batch, heads, seq_k, 64, device=device, dtype=BF16)
    with prefilled_with_nan():
        out, lse = with_lse(q, k, v, is_causal=is_causal)
        alone = hopper_attention(q, k, v, is_causal=is_causal)
    assert out.shape == q.shape and out.eq(0).all() and out.equal(alone)
    assert lse.shape == out.shape[:-1] and lse.eq(-torch.inf).all()


# The same again.


@on_hopper
@CAUSAL
@HEAD_DIMS
@pytest.mark.parametrize("pairs", ["few", "many"])
def test_without_lse_the_same_bits(pairs, head_dim, is_causal, device):
    heads = 2 if pairs == "few" else sms(device) // 2 + 1
    q, k, v = inputs(device, BF16, 300, 400, head_dim, heads=heads)
    with prefilled_with_nan():
        out = hopper_attention(q, k, v, is_causal=is_causal)
    assert out.equal(with_lse(q, k, v, is_causal=is_causal)[0])


@on_hopper
@CAUSAL
@HEAD_DIMS
def test_the_same_again_bit_for_bit(head_dim, is_causal, device):
    """Twenty times: what is read before it has come, or overwritten before it was read, differs now and then."""
    q, k, v = torch.randn(3, 2, 40, 2000, head_dim, device=device, dtype=BF16)
    first = with_lse(q, k, v, is_causal=is_causal)
    for _ in range(20):
        with prefilled_with_nan():
            again = with_lse(q, k, v, is_causal=is_causal)
        assert same(again, first)


@on_hopper
@CAUSAL
@pytest.mark.parametrize("seq_q, seq_k", [(113, 203), (600, 500)])
def test_the_log_sum_exp_of_flash_attention(seq_q, seq_k, is_causal, device):
    """Of scores that are the same, summed in another order."""
    q, k, v = inputs(device, BF16, seq_q, seq_k, 64, heads=4, key_heads=2)
    options = {"is_causal": is_causal, "enable_gqa": True, "return_lse": True}
    lse, expected = (attention(q, k, v, **options)[1] for attention in (hopper_attention, flash_attention))
    torch.testing.assert_close(lse, expected, rtol=1e-5, atol=1e-5)


@on_hopper
def test_nothing_else_runs(device):
    """Neither torch's attention nor a copy."""
    q, k, v = inputs(device, BF16, 300, 400, 64, heads=4, key_heads=2)
    assert launches(partial(hopper_attention, q, k, v, is_causal=True, enable_gqa=True)) == ["hopper_kernel"]


# Layouts: the same numbers, however they lie in memory.


def shifted(x):
    """TMA reads from multiples of 16 bytes; a view may start anywhere."""
    return torch.cat([x.new_zeros(1), x.flatten()])[1:].view_as(x)


def wider(x):
    """Rows with 4 numbers between them, 8 bytes: not where TMA reads from."""
    return torch.cat([x, x[..., :4]], -1)[..., : x.shape[-1]]


def apart(x):
    """Rows with 8 numbers between them."""
    return torch.cat([x, x[..., :8]], -1)[..., : x.shape[-1]]


READ_IN_PLACE, COPIED = (every_other, sequence_first, apart), (columns_first, shifted, wider)


@on_hopper
@CAUSAL
@pytest.mark.parametrize("layout", READ_IN_PLACE + COPIED)
def test_where_numbers_lie_changes_nothing(layout, is_causal, device):
    tensors = inputs(device, BF16, 137, 250, 72)
    expected = hopper_attention(*tensors, is_causal=is_causal)
    for number in range(3):
        laid_out = [layout(x) if i == number else x for i, x in enumerate(tensors)]
        assert hopper_attention(*laid_out, is_causal=is_causal).equal(expected)


@pytest.mark.parametrize("layout", READ_IN_PLACE + COPIED)
def test_only_what_tma_cannot_read_is_copied(layout):
    x = layout(torch.randn(2, 3, 20, 72).half())
    tensor = hopper.described(x, 64, 128)
    assert (tensor.base.data_ptr() == x.data_ptr()) == (layout in READ_IN_PLACE)
    assert tensor.base.equal(x) and tensor.base.data_ptr() % 16 == 0
    assert all(stride % 8 == 0 for stride in tensor.strides[:-1]) and tensor.strides[-1] == 1


@on_hopper
@pytest.mark.parametrize("axis", range(4), ids=["batch", "heads", "sequence", "head_dim"])
def test_stride_0_changes_nothing(axis, device):
    expanded = [x.narrow(axis, 0, 1).expand_as(x) for x in inputs(device, BF16, 150, 150, 72)]
    assert all(x.stride(axis) == 0 for x in expanded)
    copied = [x.clone(memory_format=torch.contiguous_format) for x in expanded]
    assert hopper_attention(*expanded, is_causal=True).equal(hopper_attention(*copied, is_causal=True))


@on_hopper
@pytest.mark.parametrize("large", ["queries", "keys"])
def test_offsets_beyond_2_to_the_31_elements(large, device):
    """2.18e9 elements, 4.4 GB."""
    long, short = (torch.empty(1, 520, n, 128, device=device, dtype=BF16).normal_() for n in (32768, 130))
    assert long.numel() > 2**31
    q, k = (long, short) if large == "queries" else (short, long)
    results = [x[:, -2:] for x in with_lse(q, k, k)]
    assert same(results, with_lse(q[:, -2:].clone(), *[k[:, -2:].clone()] * 2))


@on_hopper
def test_rows_further_apart_than_2_to_the_31_elements(device):
    rows = 20
    storage = torch.empty((rows - 1) * 2**27 + 64, device=device, dtype=BF16)
    x = storage.as_strided((1, 1, rows, 64), (0, 0, 2**27, 1))
    x.copy_(torch.randn(1, 1, rows, 64))
    assert (rows - 1) * x.stride(-2) > 2**31
    assert hopper.described(x, 64, 64).base.data_ptr() == x.data_ptr()
    assert hopper_attention(x, x, x).equal(hopper_attention(*[x.contiguous()] * 3))


# Bad input is named, and with it what does the same work.


def fake(*shape, dtype=FP16, device="cuda", **options):
    """A tensor that says that it is on a GPU, also where there is none, and has no numbers."""
    with FakeTensorMode():
        return torch.empty(*(shape or (2, 4, 8, 16)), dtype=dtype, device=device, **options)


INSTEAD = "use (torch.no_grad.. or )?flash_attention$"
CHOOSE = "use kernels.dispatch.attention$"


@pytest.mark.parametrize(
    "change, error, words",
    [
        (dict.fromkeys("qkv", fake(device="cpu")), ValueError, f"query is on cpu, where .* cannot run: {CHOOSE}"),
        (dict.fromkeys("qkv", fake(dtype=torch.float32)), TypeError, f"query is torch.float32, float16 or .*{CHOOSE}"),
        (dict.fromkeys("qkv", fake(dtype=torch.float64)), TypeError, f"query is torch.float64, float16 or .*{CHOOSE}"),
        (dict.fromkeys("qkv", fake(2, 4, 8, 12)), ValueError, f"query has head_dim 12, a multiple of 8 .*{INSTEAD}"),
        (dict.fromkeys("qkv", fake(2, 4, 8, 264)), ValueError, "query has head_dim 264, at most 256 is wanted"),
        ({"q": fake(requires_grad=True)}, ValueError, f"query requires a gradient, .*{INSTEAD}"),
        ({"k": fake(requires_grad=True)}, ValueError, f"key requires a gradient, .*{INSTEAD}"),
        ({"v": fake(requires_grad=True)}, ValueError, f"value requires a gradient, .*{INSTEAD}"),
        ({"k": fake(dtype=BF16)}, TypeError, "key is torch.bfloat16, query is torch.float16: they must match"),
        ({"v": fake(device="cpu")}, ValueError, "value is on cpu, query is on cuda:0: they must match"),
        ({"k": fake(2, 4, 8, 24)}, ValueError, "key has head_dim 24, query has 16: they must match"),
        (dict.fromkeys("kv", fake(2, 2, 8, 16)), ValueError, "key has 2 heads, query has 4: .* enable_gqa"),
        (dict.fromkeys("qkv", fake(4, 8, 16)), ValueError, "query has 3 dimensions"),
        ({"is_causal": 1}, TypeError, "is_causal is int, True or False is wanted"),
        ({"scale": "1"}, TypeError, "scale is str"),
        ({"plan": PLANS[64, True]._replace(consumers=1)}, ValueError, "plan has 1 consumers, 2 or 3 are wanted"),
        ({"plan": PLANS[64, True]._replace(consumers=4)}, ValueError, "plan has 4 consumers, 2 or 3 are wanted"),
    ],
)  # fmt: skip
def test_bad_input_is_named(change, error, words, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    with pytest.raises(error, match=words):
        hopper_attention(**dict.fromkeys("qkv", fake()) | change)


@pytest.mark.parametrize("capability", [(8, 0), (8, 9), (9, 1), (10, 0), (12, 0)])
def test_another_gpu_is_refused(capability, monkeypatch):
    """By its name: a later one has no wgmma either."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA Something")
    words = "query is on NVIDIA Something, and .* needs a Hopper GPU, of compute capability 9.0: use flash_attention$"
    with pytest.raises(RuntimeError, match=words):
        hopper_attention(*[fake()] * 3)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.version, "hip", "6.4")  # AMD's numbers mean something else
    with pytest.raises(RuntimeError, match=words):
        hopper_attention(*[fake()] * 3)


WITHOUT_GLUON = """
import sys
sys.modules["triton.experimental.gluon"] = None
import kernels, kernels.flash
assert kernels.flash_attention is kernels.flash.call.flash_attention
kernels.hopper_attention
"""


def test_a_triton_without_gluon_is_told_what_to_do():
    run = subprocess.run([sys.executable, "-c", WITHOUT_GLUON], cwd=ROOT, capture_output=True, text=True)
    assert run.stderr.splitlines()[-1].startswith("ImportError: hopper_attention needs Gluon for Hopper, as triton ")
    assert run.stderr.endswith(": use flash_attention\n")


# What torch has to know of the kernel.


def test_tensors_without_numbers_give_shapes(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    with FakeTensorMode():
        q, k = (torch.empty(2, 4, n, 16, dtype=BF16, device="cuda") for n in (8, 9))
        out, lse = hopper_attention(q, k, k, return_lse=True)
    assert out.shape == q.shape and out.dtype == BF16
    assert lse.shape == q.shape[:-1] and lse.dtype == torch.float32


@on_hopper
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_torch_compile_traces_it_whole(device):
    q, k, v = inputs(device, BF16, 137, 150, 64)

    def f(q, k, v):
        out, lse = hopper_attention(q, k, v, is_causal=True, scale=-0.3, return_lse=True)
        return 2 * out, lse + 1

    with torch.no_grad():
        for eager, compiled in zip(f(q, k, v), torch.compile(f, fullgraph=True)(q, k, v), strict=True):
            torch.testing.assert_close(compiled, eager)


@on_hopper
def test_it_is_an_operator_as_torch_has_them(device):
    q, k, v = inputs(device, BF16, 70, 90, 64)
    for with_lse in (False, True):
        plan = [int(x) for x in PLANS[64, True]]
        torch.library.opcheck(hopper.hopper_forward, (q, k, v, True, 0.3, with_lse, plan))


@on_hopper
def test_neither_autocast_nor_a_graph_changes_a_bit(device):
    q, k, v = inputs(device, BF16, 137, 150, 64)
    expected = hopper_attention(q, k, v)
    with torch.autocast("cuda", dtype=FP16):
        assert hopper_attention(q, k, v).equal(expected)
    with torch.inference_mode():
        assert hopper_attention(q, k, v).equal(expected)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = hopper_attention(q, k, v)
    out.zero_()
    graph.replay()
    assert out.equal(expected)
