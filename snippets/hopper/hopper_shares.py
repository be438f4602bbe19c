# %% [markdown]
# # How evenly SMs share causal work
#
# Causal, a late query sees many keys and an early one few, so blocks of queries differ in
# length. Here 16384 tokens of 2048 numbers each are divided into them as the Hopper kernel does
# it: how many blocks of keys the busiest of 132 SMs goes through, divided by the mean of all
# SMs.
#
# Dynamic: the SM that is done first gets the next block of queries, the longest first. Round
# robin: program i of 132 takes blocks i, i + 132 and so on. Paired: it takes pairs of a long
# block and a short one, round robin. Serpentine: pairs, then the single blocks of the last
# heads, the longest first, and every other round runs backwards over the programs. 1 is
# perfectly even. Gain is round robin by paired: how much faster pairs should be, if blocks of
# keys were all that takes time. Nothing is measured here; what pairs and single blocks really
# gave is in `hopper_steps`.

# %% tags=["shares"]
from heapq import heapreplace

from kernels.bench.hardware import H100
from kernels.bench.table import Table
from kernels.hopper.plan import plan_for
from kernels.hopper.schedule import work_items_of

sms = int(H100["sms"].value)
columns = ["head_dim", "n", "blocks", "dynamic", "round_robin", "paired", "serpentine", "gain"]
shares = Table("shares", **dict.fromkeys(columns, ""))
for d, n in [(64, 1024), (64, 16384), (128, 1024), (128, 16384), (256, 1024), (256, 16384)]:
    plan, heads = plan_for(d, True, n), 2048 // d * 16384 // n
    ends = range(plan.block_q, n + plan.block_q, plan.block_q)  # the last key of each block
    head = [-(-min(end, n) // plan.block_k) for end in reversed(ends)]  # the longest first
    half = len(head) // 2
    pairs = [x + y for x, y in zip(head[:half], reversed(head), strict=False)]
    pairs += head[half:-half]  # the middle, where it is left over
    dynamic, blocks = [0] * sms, head * heads
    for length in blocks:
        heapreplace(dynamic, dynamic[0] + length)
    round_robin = [sum(blocks[i::sms]) for i in range(sms)]
    paired = [sum((pairs * heads)[i::sms]) for i in range(sms)]
    _, _, single = work_items_of(heads, len(head), sms, True, True)
    work_items = pairs * (heads - single) + [length for length in head for _ in range(single)]
    serpentine = [0] * sms
    for slot, length in enumerate(work_items):
        number, program = divmod(slot, sms)
        serpentine[-1 - program if number % 2 else program] += length
    row = [max(x) * sms / sum(blocks) for x in (dynamic, round_robin, paired, serpentine)]
    row = [d, n, len(blocks), *row, max(round_robin) / max(paired)]
    row = [round(x, 3) for x in row]
    shares.add(**dict(zip(shares.columns, row, strict=True)))
shares.show()
