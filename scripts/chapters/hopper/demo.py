"""Sheet 9: what the kernel's plan for heads of 128 costs in clocks, registers, bytes and blocks."""

from __future__ import annotations

from collections.abc import Iterator

from kernels.bench.cost import attention_flops, mib, qkvo_bytes
from kernels.bench.hardware import H100
from kernels.hopper.plan import Plan, plan_for
from kernels.hopper.schedule import work_items_of
from scripts.chapters.demo import table
from scripts.chapters.hopper.worked import BYTES, HEAD_DIM, HEADS, RING_USES, N

SNIPPET = "hopper_budget"
PLAN = plan_for(HEAD_DIM, True, N)
SMS = int(H100["sms"].value)
CLOCK = {"products": H100["bf16 tensor core"].value, "exp2": H100["exp2"].value}  # a clock and SM


def lines() -> Iterator[str]:
    scores = PLAN.block_q // PLAN.consumers * PLAN.block_k
    products, exp2 = scores * attention_flops(1, HEAD_DIM) / CLOCK["products"], scores / CLOCK["exp2"]
    spare = f"{products:.0f} - {exp2:.0f} = {products - exp2:.0f}"
    yield f"One takes exp2 while the other multiplies: {spare} clocks to spare."
    yield ""
    yield from table(["d", "products", "exp2", "in turn, TFLOP/s"], *map(clocks_row, (128, 64, 256)))
    uses = range(RING_USES)
    full = [use // PLAN.stages % 2 for use in uses]
    rows = {"use": uses, "place": [use % PLAN.stages for use in uses], "full": full, "empty": [1 - bit for bit in full]}
    yield "; ".join(f"{name} {' '.join(map(str, row))}" for name, row in rows.items())
    parts = (HEAD_DIM // 2, PLAN.block_k // 2, PLAN.block_k // 4)  # of a thread: blend, scores, exponentials
    yield f"registers: {' + '.join(map(str, parts))} = {sum(parts)} of {PLAN.registers}"
    third = ring_bytes(PLAN._replace(stages=PLAN.stages + 1))
    room = int(H100["shared memory per block"].value)
    yield f"bytes: {ring_bytes(PLAN):,} of {room:,}; with a third stage {third:,}"
    head = list(range(N // PLAN.block_q, 0, -1))  # of each block of queries, the blocks of keys that it sees
    half = len(head) // 2
    pairs = [longest + shortest for longest, shortest in zip(head[:half], reversed(head[half:]), strict=True)]
    alone, paired = (most_blocks(blocks * HEADS) for blocks in (head, pairs))
    yield f"program 0: {alone} blocks, paired {paired}, gain {alone / paired:.2f}; mean {sum(head) * HEADS / SMS:.1f}"
    _, _, single = work_items_of(HEADS, len(head), SMS, True, True)
    dealt = most_blocks(pairs * (HEADS - single) + [length for length in head for _ in range(single)], back=True)
    yield f"the last {single} heads singly, every other round dealt back: {dealt}"
    limit = attention_flops(N, HEAD_DIM, HEADS, causal=True) / H100["bf16 peak"].value
    through = qkvo_bytes(N, HEAD_DIM, BYTES, HEADS)
    hbm = 1e3 * through / H100["hbm bandwidth"].value
    yield f"the limit: {1e3 * limit:.1f} ms; HBM, {mib(through):.0f} MiB: {hbm:.2f} ms"


def most_blocks(blocks: list[int], back: bool = False) -> int:
    """The most that a program has of them, if there is one for each SM and each takes the next in turn.

    back: every other round begins with the last program
    """
    has = [0] * SMS
    for index, length in enumerate(blocks):
        number, program = divmod(index, SMS)
        has[-1 - program if back and number % 2 else program] += length
    return max(has)


def clocks_row(head_dim: int) -> list[object]:
    """Of a score, and TFLOP/s if exp2 and the products take turns."""
    products, exp2 = attention_flops(1, head_dim) / CLOCK["products"], 1 / CLOCK["exp2"]
    peak = H100["bf16 peak"].value / 1e12
    return [head_dim, f"{products:g}", f"{exp2:g}", f"{peak * products / (products + exp2):.0f}"]


def ring_bytes(plan: Plan) -> int:
    """Bytes of the tiles of queries, keys and values."""
    return BYTES * HEAD_DIM * (plan.q_stages * plan.block_q + 2 * plan.stages * plan.block_k)
