# %% [markdown]
# # How evenly SMs share causal work
#
# Causal, a late query sees many keys and an early one few, so blocks of queries differ in
# length. Here 16384 tokens of 2048 numbers each are divided into them as the Hopper kernel does
# it: how many blocks of keys the busiest of 132 SMs goes through, by the mean of all SMs.
#
# Handed out: whoever is done first gets the next block of queries, the longest first. In turn:
# program i of 132 takes blocks i, i + 132 and so on. Paired: it takes pairs of a long block and
# a short one, in turn. Dealt: pairs, then the blocks of the last heads singly, the longest
# first, and every other round is dealt back, as one deals cards. 1 is perfectly even. Gain is
# in turn by paired: how much faster pairs should be, if blocks of keys were all that takes
# time. Nothing is measured here; what pairs and singles really gave is in `hopper_steps`.

# %% tags=["shares"]
from heapq import heapreplace

from kernels.bench.hardware import H100
from kernels.bench.table import Table
from kernels.hopper.plan import plan_for
from kernels.hopper.schedule import units_of

sms = int(H100["sms"].value)
columns = ["head_dim", "n", "blocks", "handed_out", "in_turn", "paired", "dealt", "gain"]
shares = Table("shares", **dict.fromkeys(columns, ""))
for d, n in [(64, 1024), (64, 16384), (128, 1024), (128, 16384), (256, 1024), (256, 16384)]:
    plan, heads = plan_for(d, True, n), 2048 // d * 16384 // n
    ends = range(plan.block_q, n + plan.block_q, plan.block_q)  # the last key of each block
    head = [-(-min(end, n) // plan.block_k) for end in reversed(ends)]  # the longest first
    half = len(head) // 2
    pairs = [x + y for x, y in zip(head[:half], reversed(head), strict=False)]
    pairs += head[half:-half]  # the middle, where it is left over
    handed_out, blocks = [0] * sms, head * heads
    for length in blocks:
        heapreplace(handed_out, handed_out[0] + length)
    in_turn = [sum(blocks[i::sms]) for i in range(sms)]
    paired = [sum((pairs * heads)[i::sms]) for i in range(sms)]
    _, _, single = units_of(heads, len(head), sms, True, True)
    units = pairs * (heads - single) + [length for length in head for _ in range(single)]
    dealt = [0] * sms
    for place, length in enumerate(units):
        number, program = divmod(place, sms)
        dealt[-1 - program if number % 2 else program] += length
    row = [max(x) * sms / sum(blocks) for x in (handed_out, in_turn, paired, dealt)]
    row = [d, n, len(blocks), *row, max(in_turn) / max(paired)]
    row = [round(x, 3) for x in row]
    shares.add(**dict(zip(shares.columns, row, strict=True)))
shares.show()
