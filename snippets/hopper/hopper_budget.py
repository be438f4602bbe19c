# %% [markdown]
# # What the plan of the Hopper kernel must fit into
#
# Arithmetic, before anything runs. Clocks of an SM for a single score: both matmuls on the
# tensor cores, and one exp2. The last column is the most that an H100 could reach, were the
# tensor cores idle during exp2 and everything else free.

# %% tags=["clocks"]
import torch

from kernels.bench.cost import attention_flops
from kernels.bench.hardware import H100
from kernels.bench.table import Table
from kernels.hopper.attention import launch
from kernels.hopper.plan import plan_for

tensor, exp2 = H100["bf16 tensor core"].value, 1 / H100["exp2"].value
columns = {"matmuls": "clk", "exp2": "clk", "exp2_to_matmuls": "", "one_after_other": "TFLOP/s"}
clocks = Table("clocks", head_dim="", **columns)
for d in (64, 128, 256):
    matmuls = attention_flops(1, d) / tensor
    limit = H100["bf16 peak"].value / 1e12 * matmuls / (matmuls + exp2)
    row = [d, matmuls, exp2, exp2 / matmuls, round(limit, 1)]
    clocks.add(**dict(zip(clocks.columns, row, strict=True)))
clocks.show()

# %% [markdown]
# A ring of two stages: which stage a tile takes, and the bit that each side waits for. Change
# `stages` to 3.

# %% tags=["phases"]
stages = 2
phases = Table("phases", tile="", stage="", wait_for_full="", wait_for_free="")
for tile in range(6):
    bit = tile // stages % 2
    phases.add(tile=tile, stage=tile % stages, wait_for_full=bit, wait_for_free=1 - bit)
phases.show()

# %% [markdown]
# Registers that a thread needs for its part of the accumulator, of a block of scores and of
# its weights in 16 bits, beside those that it has; bytes of the rings beside the 232,448 that a
# program may have. Queries are registers for those of its consumer, where the plan keeps its
# queries in registers. On a Hopper GPU also what the compiler made of it: the local memory of a
# thread, which is where registers spill, and the shared memory, barriers included. A plan that
# does not fit is not compiled.

# %% tags=["budget"]
on_hopper = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
three = {"consumers": 3, "registers": 160}
plans = [(64, plan_for(64, False, 1)), (64, plan_for(64, True, 1))]
plans += [
    (128, top := plan_for(128, False, 1)),
    (128, top._replace(**three, queries_in_registers=False)),
]
plans += [(128, top._replace(stages=3)), (256, plan_for(256, False, 1))]
names = {"accumulator": "registers", "scores": "registers", "weights": "registers"}
names |= dict.fromkeys(["all_three", "queries", "granted"], "registers")
names |= {"rings": "B", "spilled": "B"}
budget = Table("budget", head_dim="", consumers="", block_k="", stages="", **names, shared="B")
for d, plan in plans:
    parts = [plan.consumers, plan.block_k, plan.stages, d // 2, plan.block_k // 2]
    row = [d, *parts, plan.block_k // 4, (2 * d + 3 * plan.block_k) // 4]
    row += [d // 4 if plan.queries_in_registers else 0, plan.registers]
    rings = 2 * d * (plan.q_stages * plan.block_q + 2 * plan.stages * plan.block_k)
    row += [rings, None, None]
    if on_hopper and rings < H100["shared memory per block"].value:
        q = torch.randn(1, 1, 64, d, device="cuda").bfloat16()
        kernel = launch(q, q, q, torch.empty_like(q), None, False, 1.0, plan)
        row[-2:] = 4 * kernel.n_spills, kernel.metadata.shared
    budget.add(**dict(zip(budget.columns, row, strict=True)))
budget.show()
