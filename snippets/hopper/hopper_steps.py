# %% [markdown]
# # What each mechanism of the Hopper kernel gives
#
# The ladder, one mechanism after another, each added to those before:
#
# - *flash_attention*: TMA fetches, and every warp does all the rest;
# - *specialised*: one warp fetches, two or three warpgroups compute, and each block of queries
#   has a program of its own;
# - *overlap_softmax*: a consumer waits for its scores alone, and begins softmax while the
#   values of the block before are multiplied;
# - *persistent*: as many programs as SMs, each of which takes one block after another;
# - *pair_blocks*, causal: a block that sees many keys goes with one that sees few;
# - *longest_first_tail*, causal: the blocks of the last heads aren't paired. They come last,
#   the longest first;
# - *queries_in_registers*, heads of 128: a consumer loads its queries once;
# - *ping_pong*, with three consumers and, causal, with heads of 128 and 256: a consumer starts
#   its products only when the one before has its scores;
# - *conditional_rescale*, heads of 256: a running maximum that is exceeded by little is kept,
#   and nothing is rescaled;
# - *half_last_block*, causal, heads of 64: a consumer that sees at most half of its last block
#   of keys computes only that half;
# - *overlap_epilogue*, heads of 64 and, not causal, of 128: TMA stores a block's output while
#   the consumer begins the next block.
#
# Then the top of the ladder with a single change. ping_pong=True: where the plan has none; so
# at heads of 128, where causal, half_last_block=True and overlap_epilogue=True. Consumers: more
# or fewer warpgroups, and registers of a thread to match. block_k: 64 keys a block instead of
# 128, in twice as many stages. Stages: one more or one less, as far as shared memory has room;
# at heads of 128 one more fits only with a single stage of queries, which leaves no stage to
# overlap the epilogue with. Three consumers are left out at heads of 256: accumulator, scores
# and weights would take 128 + 32 + 16 registers of a thread, which has 160.
#
# Forward, in BF16, 16384 tokens of 2048 numbers each; a multiply-add counts as two, causal as
# half. Each form is captured as a CUDA graph. Each setting has 30 rounds: all forms one after
# the other, in an order drawn anew, of short calls so many in a row that they take some 3 ms.
# Gain is over the step named beside it, the one before or, of a change, the top of the ladder,
# and ratio is over cuDNN: in the same round, and of the rounds the median; low and high are the
# interval of the gain. Above 1 is faster.
#
# Heads of 64.

# %% tags=["heads_of_64"]
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from statistics import median

import torch

from kernels.bench.cost import attention_flops
from kernels.bench.peers import SDPA
from kernels.bench.rounds import ratio, repeat_calls, time_in_rounds
from kernels.bench.table import Table
from kernels.bench.timing import as_cuda_graph
from kernels.flash.attention import flash_attention
from kernels.hopper.attention import hopper_attention
from kernels.hopper.plan import plan_for

two, three = {"consumers": 2, "registers": 240}, {"consumers": 3, "registers": 160}
third = {"stages": 3, "q_stages": 1, "overlap_epilogue": False}
changes = {
    64: [two, three, {"block_k": 64, "stages": 6}, {"stages": 2}, {"stages": 3}, {"stages": 4}],
    128: [three, {"block_k": 64, "stages": 4}, {"stages": 1}, third],
    256: [{"stages": 1}],
}
columns = {"speed": "TFLOP/s", "gain": "", "low": "", "high": ""}
columns |= {"ratio": "", "over": "", "median": "ms"}


def steps_of(head_dim, causal, n):
    # Each step: its name, its form, and the name of what its gain is over.
    yield "sdpa_cudnn", SDPA["sdpa_cudnn"], "sdpa_cudnn"
    yield "flash_attention", flash_attention, "sdpa_cudnn"
    whole = plan_for(head_dim, causal, n)
    sharing = ["pair_blocks", "longest_first_tail"] if causal else []
    halving = ["half_last_block"] if causal else []
    rungs = ["overlap_softmax", "persistent", *sharing, "queries_in_registers", "ping_pong"]
    rungs += ["conditional_rescale", *halving, "overlap_epilogue"]
    plan = whole._replace(**dict.fromkeys(rungs, False))
    yield "specialised", partial(hopper_attention, plan=plan), "flash_attention"
    for over, top in pairwise(["specialised", *(x for x in rungs if getattr(whole, x))]):
        plan = plan._replace(**{top: True})
        yield top, partial(hopper_attention, plan=plan), over
    more = ["ping_pong", *halving, "overlap_epilogue"] if head_dim < 256 else ["ping_pong"]
    for change in [*({field: True} for field in more), *changes[head_dim]]:
        if (changed := plan._replace(**change)) != plan:
            name = " ".join(f"{field}={value}" for field, value in change.items() if value)
            yield name, partial(hopper_attention, plan=changed), top


def measured(head_dim):
    table = Table(f"steps_{head_dim}", head_dim="", n="", causal="", step="", **columns)
    for n, causal in [(1024, False), (1024, True), (16384, False), (16384, True)]:
        batch, heads, steps = 16384 // n, 2048 // head_dim, list(steps_of(head_dim, causal, n))
        qkv = torch.randn(3, batch, heads, n, head_dim, device="cuda").bfloat16()
        calls = {name: partial(form, *qkv, is_causal=causal) for name, form, *_ in steps}
        calls["flash_attention"]()  # sets up Triton
        # Compiles all at the same time; a thread first makes the GPU its own.
        with ThreadPoolExecutor(initializer=torch.cuda.synchronize) as pool:
            list(pool.map(lambda call: call(), calls.values()))
        flops = attention_flops(n, head_dim, heads, batch, causal)
        often = max(1, round(3e-3 * 500e12 / flops))
        times = time_in_rounds(
            {name: repeat_calls(as_cuda_graph(call), often) for name, call in calls.items()}
        )
        for name, _, over in steps:
            ms, gain = median(times[name]) / often, ratio(times[over], times[name])
            speedup = ratio(times["sdpa_cudnn"], times[name]).median
            row = [flops / ms / 1e9, *gain, speedup, over, ms]
            row = [float(f"{x:.4g}") if isinstance(x, float) else x for x in row]
            row = [head_dim, n, causal, name, *row]
            table.add(**dict(zip(table.columns, row, strict=True)))
    return table


on_hopper = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
measured(64).show() if on_hopper else print("No Hopper GPU here, so no times.")

# %% [markdown]
# Heads of 128.

# %% tags=["heads_of_128"]
measured(128).show() if on_hopper else print("No Hopper GPU here, so no times.")

# %% [markdown]
# Heads of 256.

# %% tags=["heads_of_256"]
measured(256).show() if on_hopper else print("No Hopper GPU here, so no times.")
