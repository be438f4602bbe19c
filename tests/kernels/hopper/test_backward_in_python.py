"""The backward pass for Hopper, in whatever order its warps and copies come: its own functions, run on a CPU."""

from importlib import import_module

import pytest
import torch

from kernels.hopper import call
from kernels.hopper.backward import call as backward_call
from kernels.hopper.plan import plan_for
from tests.kernels.error_budget import gradient_budget_used
from tests.kernels.flash.harness import inputs
from tests.kernels.hopper import in_python, wrong
from tests.kernels.hopper.harness import BF16
from tests.kernels.hopper.wrong import Mistake

ORDERS = pytest.mark.parametrize("deterministic", [False, True], ids=["any order", "deterministic"])
CAUSAL = pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Tiles are small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Attention(torch.autograd.Function):
    """By the kernels of both passes, on a GPU of so many SMs."""

    @staticmethod
    def forward(ctx, q, k, v, is_causal, how):
        plan = plan_for(q.shape[-1], is_causal, q.shape[-2])
        out, lse = in_python.forward(call, q, k, v, plan=plan, is_causal=is_causal)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.how = how | {"is_causal": is_causal}
        return out

    @staticmethod
    def backward(ctx, dout):
        return *in_python.backward(*ctx.how.pop("module"), *ctx.saved_tensors, dout, **ctx.how), None, None


def share(q, k, v, *, is_causal=False, module=backward_call, **how):
    """The largest share of the budget of a gradient."""

    def attention(q, k, v, is_causal=False, enable_gqa=True):
        return Attention.apply(q, k, v, is_causal, how | {"module": [module]})

    return max(gradient_budget_used(attention, q, k, v, is_causal=is_causal, enable_gqa=True).values())


@ORDERS
@CAUSAL
@pytest.mark.parametrize("head_dim", [64, 128, 256])
@pytest.mark.parametrize("seq_q, seq_k", [(1, 1), (113, 203), (256, 384)])
def test_it_is_the_gradient(seq_q, seq_k, head_dim, is_causal, deterministic):
    q, k, v = inputs("cpu", BF16, seq_q, seq_k, head_dim, batch=1)
    assert share(q, k, v, is_causal=is_causal, deterministic=deterministic) <= 1


@ORDERS
@pytest.mark.parametrize("sms", [2, 40], ids=["in one program", "shared out"])
@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_grouped_queries(head_dim, sms, deterministic):
    """One key head; with many SMs its query heads are shared out among programs."""
    q, k, v = inputs("cpu", BF16, 150, 200, head_dim, batch=2, heads=3, key_heads=1)
    assert share(q, k, v, sms=sms, deterministic=deterministic) <= 1


@ORDERS
@CAUSAL
@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_every_order_gives_the_same(head_dim, is_causal, deterministic):
    q, k, v = inputs("cpu", BF16, 300, 200, head_dim, batch=1)
    plan, dout = plan_for(head_dim, is_causal, 300), torch.randn_like(q)
    saved = in_python.forward(call, q, k, v, plan=plan, is_causal=is_causal)
    how = {"is_causal": is_causal, "deterministic": deterministic}
    first, *others = (in_python.backward(backward_call, q, k, v, *saved, dout, seed=x, **how) for x in range(3))
    assert all(torch.equal(*pair) for found in others for pair in zip(found, first, strict=True))


EARLY = {
    "dscores read before both are there": Mistake(
        "mbarrier.wait(dscores.full.index(stage), use // STAGES & 1)", "pass"
    ),
    "dscores written before they are read": Mistake(
        "mbarrier.wait(dscores_ring.free.index(stage), ((i + 1) // STAGES & 1) ^ 1)", "pass"
    ),
    "sums written before they are added": Mistake("tma.store_wait(PENDING)", "pass"),
    "queries given back before their product": Mistake(
        "        dkeys = warpgroup_mma_wait(0, deps=(dkeys,))\n        release(queries, i)\n        before",
        "        release(queries, i)\n        dkeys = warpgroup_mma_wait(0, deps=(dkeys,))\n        before",
    ),
}


@pytest.mark.parametrize("mistake", EARLY)
def test_one_that_does_not_wait_is_found_out_in_some_order(mistake, tmp_path, monkeypatch):
    """On a GPU it may come right a thousand times."""
    monkeypatch.setattr(wrong, "TEXTS", wrong.TEXTS | wrong.BACKWARD)  # in which a mistake can be made
    folder = tmp_path / f"early_backward_{list(EARLY).index(mistake)}"
    wrong.changed(EARLY[mistake], folder)
    module = import_module(f"{folder.name}.backward.call")
    q, k, v = inputs("cpu", BF16, 300, 200, 128, batch=1)

    def is_wrong(seed):
        try:
            return not share(q, k, v, module=module, seed=seed) <= 1
        except (AssertionError, in_python.Hangs):
            return True

    assert any(is_wrong(seed) for seed in range(6))
