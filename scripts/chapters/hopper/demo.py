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
PER_CLOCK = {"products": H100["bf16 tensor core"].value, "exp2": H100["exp2"].value}  # a clock and SM


def lines() -> Iterator[str]:
    scores = PLAN.block_q // PLAN.consumers * PLAN.block_k
    products, exp2 = scores * attention_flops(1, HEAD_DIM) / PER_CLOCK["products"], scores / PER_CLOCK["exp2"]
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
    with_third_stage = ring_bytes(PLAN._replace(stages=PLAN.stages + 1))
    available_bytes = int(H100["shared memory per block"].value)
    yield f"bytes: {ring_bytes(PLAN):,} of {available_bytes:,}; with a third stage {with_third_stage:,}"
    head = list(range(N // PLAN.block_q, 0, -1))  # of each block of queries, the blocks of keys that it sees
    half = len(head) // 2
    pairs = [longest + shortest for longest, shortest in zip(head[:half], reversed(head[half:]), strict=True)]
    unpaired, paired = (most_blocks(blocks * HEADS) for blocks in (head, pairs))
    mean = sum(head) * HEADS / SMS
    yield f"program 0: {unpaired} blocks, paired {paired}, gain {unpaired / paired:.2f}; mean {mean:.1f}"
    _, _, single = work_items_of(HEADS, len(head), SMS, True, True)
    most = most_blocks(pairs * (HEADS - single) + [length for length in head for _ in range(single)], serpentine=True)
    yield f"the last {single} heads singly, every other round dealt back: {most}"
    limit = attention_flops(N, HEAD_DIM, HEADS, causal=True) / H100["bf16 peak"].value
    hbm_bytes = qkvo_bytes(N, HEAD_DIM, BYTES, HEADS)
    hbm_ms = 1e3 * hbm_bytes / H100["hbm bandwidth"].value
    yield f"the limit: {1e3 * limit:.1f} ms; HBM, {mib(hbm_bytes):.0f} MiB: {hbm_ms:.2f} ms"


def most_blocks(blocks: list[int], serpentine: bool = False) -> int:
    """The most blocks that one program gets, if there's one on each SM and each takes the next item in turn.

    serpentine: every other round goes from the last program to the first
    """
    blocks_by_program = [0] * SMS
    for index, length in enumerate(blocks):
        round_number, program = divmod(index, SMS)
        blocks_by_program[-1 - program if serpentine and round_number % 2 else program] += length
    return max(blocks_by_program)


def clocks_row(head_dim: int) -> list[object]:
    """Clocks of the products and the exp2 of one score, and TFLOP/s if the two take turns."""
    products, exp2 = attention_flops(1, head_dim) / PER_CLOCK["products"], 1 / PER_CLOCK["exp2"]
    peak = H100["bf16 peak"].value / 1e12
    return [head_dim, f"{products:g}", f"{exp2:g}", f"{peak * products / (products + exp2):.0f}"]


def ring_bytes(plan: Plan) -> int:
    """Bytes of the tiles of queries, keys and values."""
    return BYTES * HEAD_DIM * (plan.q_stages * plan.block_q + 2 * plan.stages * plan.block_k)
