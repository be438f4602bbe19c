"""The short kernel, a producer and two consumers, is attention: run in Python, in any order, and on a GPU."""

from functools import partial
from importlib import import_module

import pytest
import torch

from kernels.hopper import warp_specialized
from kernels.hopper.warp_specialized import warp_specialized_attention
from tests.kernels.error_budget import attention_budget_used
from tests.kernels.flash.harness import inputs
from tests.kernels.hopper import simulator
from tests.kernels.hopper.harness import BF16, DTYPES, FP16
from tests.kernels.hopper.wrong import NO_MISTAKE, Mistake, mutated_module
from tests.kernels.prefilled import prefilled_with_nan

HEAD_DIMS = pytest.mark.parametrize("head_dim", [64, 128])
LENGTHS = pytest.mark.parametrize("seq_q, seq_k", [(128, 128), (256, 128), (128, 640), (384, 512)])


class InPython:
    """A kernel whose launches run in Python."""

    def __init__(self, kernel, seed):
        self.kernel, self.fn, self.seed = kernel, kernel.fn, seed

    def __getitem__(self, grid):
        def start(*arguments, **options):
            prepare = lambda: (grid, arguments, options)  # noqa: E731
            simulator.launch_simulated(self.kernel, None, None, None, prepare, seed=self.seed)

        return start


def attention(module, q, k, v, *, is_causal=False, seed=0):
    out = torch.full_like(q, torch.nan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "warp_specialized_kernel", InPython(module.warp_specialized_kernel, seed))
        module.launch(q, k, v, out, q.shape[-1] ** -0.5)
    return out


def simulated_budget_used(module, q, k, v, **options):
    """What fraction of the budget is used."""
    return attention_budget_used(lambda *x, **y: attention(module, *x, **y, **options), q, k, v)


@DTYPES
@HEAD_DIMS
@LENGTHS
def test_it_is_attention(seq_q, seq_k, head_dim, dtype):
    q, k, v = inputs("cpu", dtype, seq_q, seq_k, head_dim, batch=2, heads=2)
    assert simulated_budget_used(warp_specialized, q, k, v + 1) <= 1


def test_scores_that_rise():
    """The maximum moves with every block of keys."""
    q, k, v = inputs("cpu", BF16, 128, 512, 64, batch=1, heads=1)
    q[..., 0], k[..., 0] = 8, torch.arange(512) / 64
    assert simulated_budget_used(warp_specialized, q, k, v + 1) <= 1


def test_every_order_gives_the_same():
    q, k, v = inputs("cpu", BF16, 256, 640, 64, batch=1, heads=2)
    first, *others = (attention(warp_specialized, q, k, v, seed=seed) for seed in range(6))
    assert all(first.equal(other) for other in others)


MISTAKES = {
    "sum not rescaled": ("        running_sum = running_sum * rescale +", "        running_sum = running_sum +"),
    "accumulator not rescaled": ("accumulator * factor[:, None]\n        weights", "accumulator\n        weights"),
    "not scaled": ("gl.exp2(scores * scale_log2 - new_max", "gl.exp2(scores - new_max"),
    "every consumer has the first queries": ("first_query + i * WGMMA_M)", "first_query)"),
    "output of the first queries": ("row = first_query + CONSUMER * WGMMA_M", "row = first_query"),
    "first block of keys only": ("k_ring, block, batch, head, block * BLOCK_K)", "k_ring, block, batch, head, 0)"),
    "keys released before they are read": (
        "        scores = warpgroup_mma_wait(0, deps=(scores,))\n        release(k_ring, block)",
        "        release(k_ring, block)\n        scores = warpgroup_mma_wait(0, deps=(scores,))",
    ),
    "values released before they are read": (
        "        accumulator = warpgroup_mma_wait(0, deps=(accumulator,))\n        release(v_ring, block)",
        "        release(v_ring, block)\n        accumulator = warpgroup_mma_wait(0, deps=(accumulator,))",
    ),
    "output not fenced": ("    fence_async_shared()  # TMA sees what the threads wrote\n", ""),
    "ended before its output is read": ("row, 0], tile)\n    tma.store_wait(0)  # shared", "row, 0], tile)  # shared"),
}  # fmt: skip


def mutated_short_kernel(mistake, folder):
    mutated_module(Mistake(*mistake), folder)
    return import_module(f"{folder.name}.warp_specialized")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_version_is_rejected(mistake, tmp_path):
    """Wrong, or found out in some order."""
    module = mutated_short_kernel(MISTAKES[mistake], tmp_path / f"wrong_short_{list(MISTAKES).index(mistake)}")
    q, k, v = inputs("cpu", BF16, 256, 640, 64, batch=1, heads=2)

    def is_wrong(seed):
        try:
            return not simulated_budget_used(module, q, k, v + 1, seed=seed) <= 1
        except (simulator.Race, simulator.Hangs):
            return True

    assert any(is_wrong(seed) for seed in range(6))


def test_the_right_one_is_accepted_in_its_place(tmp_path):
    module = mutated_short_kernel(NO_MISTAKE, tmp_path / "right_short")
    q, k, v = inputs("cpu", BF16, 256, 640, 64, batch=1, heads=2)
    assert simulated_budget_used(module, q, k, v + 1) <= 1


REFUSED = {
    "head_dim": (lambda x: x[..., :40].contiguous(), "query has head_dim 40, 64 or 128 is wanted"),
    "length": (lambda x: x[..., :100, :].contiguous(), "query has shape .* a sequence of 128, 256, 384"),
    "strides": (lambda x: x.mT.contiguous().mT, "query has strides .* a contiguous tensor is wanted"),
    "empty": (lambda x: x[:0], "query has shape .* a sequence of 128"),
    "gradient": (lambda x: x.requires_grad_(), "query requires a gradient"),
}


@pytest.mark.parametrize("change", REFUSED)
def test_what_it_refuses_hopper_attention_takes(change):
    make_unfit, message = REFUSED[change]
    x = make_unfit(torch.randn(1, 2, 128, 64, dtype=BF16))
    with pytest.raises(ValueError, match=rf"{message}.*hopper_attention"):
        warp_specialized_attention(x, x, x)


@pytest.mark.gpu
@DTYPES
@HEAD_DIMS
@LENGTHS
def test_on_a_gpu(seq_q, seq_k, head_dim, dtype, hopper_gpu):
    """More programs than SMs, in memory full of NaN."""
    q, k, v = inputs(hopper_gpu, dtype, seq_q, seq_k, head_dim, batch=3, heads=50)
    with prefilled_with_nan():
        out = warp_specialized_attention(q, k, v + 1)
    assert attention_budget_used(lambda *x, **y: out, q, k, v + 1) <= 1


@pytest.mark.gpu
@HEAD_DIMS
def test_two_runs_are_the_same_on_a_gpu(head_dim, hopper_gpu):
    q, k, v = inputs(hopper_gpu, FP16, 1024, 4096, head_dim, batch=2, heads=16)
    run = partial(warp_specialized_attention, q, k, v)
    first = run()
    assert all(run().equal(first) for _ in range(20))
