"""The backward pass for Hopper, in whatever order its warps and copies come: its own functions, run on a CPU."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import torch

from kernels.hopper import attention as forward_module
from kernels.hopper.backward import gradients as backward_module
from kernels.hopper.plan import plan_for
from tests.kernels import test_sdpa_samples
from tests.kernels.error_budget import gradient_budget_used
from tests.kernels.flash.harness import inputs
from tests.kernels.hopper import simulator, wrong
from tests.kernels.hopper.harness import BF16
from tests.kernels.hopper.wrong import Mistake
from tests.kernels.prefilled import prefilled_with_nan

ROOT = Path(__file__).resolve().parents[3]
CAUSAL = pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])


class Attention(torch.autograd.Function):
    """Both passes, by their kernels, simulated."""

    @staticmethod
    def forward(ctx, q, k, v, module, options):
        is_causal = options["is_causal"]
        plan = plan_for(q.shape[-1], is_causal, q.shape[-2])
        out, lse = simulator.forward(forward_module, q, k, v, plan=plan, is_causal=is_causal)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.module, ctx.options = module, options
        return out

    @staticmethod
    def backward(ctx, dout):
        with prefilled_with_nan():
            gradients = simulator.backward(ctx.module, *ctx.saved_tensors, dout, **ctx.options)
        return *gradients, None, None


def simulated_budget_used(q, k, v, *, is_causal=False, module=backward_module, **options):
    """The largest fraction of its budget that a gradient uses."""

    def attention(q, k, v, is_causal, enable_gqa):
        return Attention.apply(q, k, v, module, options | {"is_causal": is_causal})

    return max(gradient_budget_used(attention, q, k, v, is_causal=is_causal, enable_gqa=True).values())


# With a head_dim of 256, no two programs add to the same gradient, unless the heads of a group are shared out.
HEAD_DIMS_AND_ORDERS = pytest.mark.parametrize(
    "head_dim, deterministic",
    [(64, False), (64, True), (128, False), (128, True), (256, False)],
    ids=["64-any order", "64-deterministic", "128-any order", "128-deterministic", "256-any order"],
)


@CAUSAL
@HEAD_DIMS_AND_ORDERS
@pytest.mark.parametrize("seq_q, seq_k", [(1, 1), (113, 203), (256, 384)])
def test_it_is_the_gradient(seq_q, seq_k, head_dim, is_causal, deterministic):
    q, k, v = inputs("cpu", BF16, seq_q, seq_k, head_dim, batch=1)
    assert simulated_budget_used(q, k, v, is_causal=is_causal, deterministic=deterministic) <= 1


@CAUSAL
@pytest.mark.parametrize("dtype", [torch.float16, BF16])
def test_large_scores_of_few_keys(dtype, is_causal):
    q, k, v = test_sdpa_samples.inputs("batch", dtype, "cpu")
    assert simulated_budget_used(q, k, v, is_causal=is_causal, deterministic=True) <= 1


@pytest.mark.parametrize("deterministic", [False, True], ids=["any order", "deterministic"])
@pytest.mark.parametrize("sms", [2, 40], ids=["in one program", "shared out"])
@pytest.mark.parametrize("head_dim, is_causal", [(64, False), (128, True), (256, True)], ids=["64", "128", "256"])
def test_grouped_queries(head_dim, is_causal, sms, deterministic):
    """One key head: with many SMs several programs share its query heads, unless the order is fixed."""
    q, k, v = inputs("cpu", BF16, 150, 200, head_dim, batch=2, heads=3, key_heads=1)
    assert simulated_budget_used(q, k, v, sms=sms, is_causal=is_causal, deterministic=deterministic) <= 1


def gradients_in_orders(head_dim, is_causal, count, module=backward_module, **options):
    """The gradients of one input, ``count`` times: each time warps, copies and programs come in another order."""
    q, k, v = inputs("cpu", BF16, 300, 500, head_dim, batch=1)
    plan, dout = plan_for(head_dim, is_causal, 300), torch.randn_like(q)
    saved = simulator.forward(forward_module, q, k, v, plan=plan, is_causal=is_causal)
    tensors = q, k, v, *saved, dout
    return [simulator.backward(module, *tensors, is_causal=is_causal, seed=seed, **options) for seed in range(count)]


def all_equal(runs):
    return all(torch.equal(*pair) for each in runs[1:] for pair in zip(each, runs[0], strict=True))


@CAUSAL
@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_deterministic_is_the_same_in_every_order(head_dim, is_causal):
    assert all_equal(gradients_in_orders(head_dim, is_causal, 3, deterministic=True))


def test_any_order_is_not():
    """If any order gave the same bits, the orders above would prove nothing."""
    assert not all_equal(gradients_in_orders(128, False, 3))


def test_turns_that_are_not_waited_for_are_found_out(tmp_path, monkeypatch):
    module = mutated_module(Mistake("while added != rank:", "while False:"), tmp_path / "early_turns", monkeypatch)
    assert not all_equal(gradients_in_orders(128, False, 3, deterministic=True, module=module))


def test_turns_that_never_come_hang(tmp_path, monkeypatch):
    mistake = Mistake("    rank = work.rank\n", "    rank = work.rank + 1\n")
    module = mutated_module(mistake, tmp_path / "hanging_turns", monkeypatch)
    with pytest.raises(simulator.Hangs, match=r"\d threads wait for ever"):
        gradients_in_orders(64, False, 1, deterministic=True, module=module)


def test_the_log_sum_exp_has_a_gradient_and_what_saw_nothing_has_none():
    """Both are compared with the formulas."""
    q, k, v = inputs("cpu", BF16, 70, 90, 64, batch=1)
    out, lse = simulator.forward(forward_module, q, k, v, plan=plan_for(64, False, 70))
    dout, dlse = torch.randn_like(q), torch.randn_like(lse)
    lse[..., 3] = -torch.inf
    fp64_tensors = [x.double() for x in (q, k, v, out, lse.nan_to_num(neginf=torch.inf), dout, dlse)]
    gradients = simulator.backward(backward_module, q, k, v, out, lse, dout, dlse)
    for gradient, expected in zip(gradients, gradients_by_formulas(*fp64_tensors), strict=True):
        assert (gradient.double() - expected).norm() < 0.006 * expected.norm()
    assert not gradients[0][..., 3, :].any()


def gradients_by_formulas(q, k, v, out, lse, dout, dlse):
    weights = (q @ k.mT / 8 - lse[..., None]).exp()  # 8 is √head_dim, of 64
    delta = (dout * out).sum(-1, keepdim=True) - dlse[..., None]
    dscores = weights * (dout @ v.mT - delta) / 8
    return dscores @ k, dscores.mT @ q, weights.mT @ dout


WAIT_FOR_DSCORES = "    mbarrier.wait(dscores.full.index(stage), tile_number // STAGES & 1)\n"
START_PRODUCTS = (
    wrong.BACKWARD_TEXTS["backward/kernel.py"].partition(WAIT_FOR_DSCORES)[2].partition("    return total")[0]
)
SYNC_MISTAKES = {
    "dscores read before both are there": Mistake(WAIT_FOR_DSCORES, ""),
    "dscores waited for after their products have begun": Mistake(
        WAIT_FOR_DSCORES + START_PRODUCTS, START_PRODUCTS + WAIT_FOR_DSCORES
    ),
    "dscores written before they are read": Mistake(
        "mbarrier.wait(ring.empty.index(stage), (tile_number // STAGES & 1) ^ 1)\n    ring.tiles", "ring.tiles"
    ),
    "sums written before they are added": Mistake("tma.store_wait(PENDING)", "pass"),
    "queries given back before their product": Mistake(
        "        dkeys = warpgroup_mma_wait(0, deps=(dkeys,))\n        release(queries, i)\n        if not",
        "        release(queries, i)\n        dkeys = warpgroup_mma_wait(0, deps=(dkeys,))\n        if not",
    ),
    "sums given before they are fenced": Mistake("    fence_async_shared()\n    async_add(", "    async_add("),
    "ended before its gradients are read": Mistake(
        "        tma.async_copy_shared_to_global(outputs.dk, coordinates, tile)\n        tma.store_wait(0)",
        "        tma.async_copy_shared_to_global(outputs.dk, coordinates, tile)",
    ),
}


def mutated_module(mistake, folder, monkeypatch):
    """``kernels.hopper.backward.gradients`` with this mistake, from a copy of its package."""
    texts = wrong.TEXTS | wrong.BACKWARD_TEXTS
    assert sum(mistake.right in text for text in texts.values()) == 1
    monkeypatch.setattr(wrong, "TEXTS", texts)  # so that a mistake may be in any of them
    wrong.mutated_module(mistake, folder)
    return import_module(f"{folder.name}.backward.gradients")


@pytest.mark.parametrize("head_dim", [64, 128])
@pytest.mark.parametrize("mistake", SYNC_MISTAKES)
def test_one_that_does_not_wait_is_found_out_in_some_order(mistake, head_dim, tmp_path, monkeypatch):
    """On a GPU such a kernel may be right a thousand times, so the simulation tries orders until one shows it."""
    folder = tmp_path / f"early_backward_{list(SYNC_MISTAKES).index(mistake)}_{head_dim}"
    module = mutated_module(SYNC_MISTAKES[mistake], folder, monkeypatch)
    q, k, v = inputs("cpu", BF16, 600, 200, head_dim, batch=1)

    def is_wrong(seed):
        try:
            return not simulated_budget_used(q, k, v, module=module, seed=seed) <= 1
        except (simulator.Race, simulator.Hangs):
            return True

    assert sum(is_wrong(seed) for seed in range(6)) > 1


def test_it_also_runs_where_triton_compiles(tmp_path):
    """On a machine with a GPU, Triton's functions aren't made for its interpreter. Afterwards kernels still compile."""
    script = (
        "from tests.kernels.hopper import barriers\n"
        "from tests.kernels.hopper.test_simulated_backward import gradients_in_orders\n"
        "gradients_in_orders(64, False, 1)\n"
        "barriers.compiled(*barriers.keys(64, False))"
    )
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
