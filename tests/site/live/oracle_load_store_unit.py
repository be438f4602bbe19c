"""A meeting at the load-store unit: the model beside the compiled kernel, the sheet's numbers, and queues that take turns."""

import json
import os
import re
import subprocess
import sys
from collections import Counter, deque
from functools import cache

from kernels.bench.hardware import H200
from scripts.chapters.first_kernel import worked
from scripts.records import ROOT
from tests.site.live.harness import OracleCheck, each

WARPS = (1, 2, 4, 8)
WAY = 12  # clocks that an instruction is drawn on its way


def counted() -> dict[int, list]:
    """What the two loops have for the unit, with so many warps: loads, shuffles, and instructions of shared memory."""
    from triton import compile as compiled
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from kernels.first.one_key import one_key_kernel

    fixed = {"HEAD_DIM": worked.NUMBERS, "PADDED_DIM": worked.NUMBERS, "ROW": 512, "CAUSAL": False}
    types = dict.fromkeys(["q", "k", "v", "out"], "*bf16") | {"scale": "fp32", "seq_q": "i32", "seq_k": "i32"}
    aligned = {(i,): [["tt.divisibility", 16]] for i, type_ in enumerate(types.values()) if type_ != "fp32"}
    source = ASTSource(one_key_kernel, types | dict.fromkeys(fixed, "constexpr"), fixed, aligned)

    def loops(warps: int) -> list:
        code = compiled(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps}).asm["ptx"]
        parts = [Counter(re.findall(r"\s(ld\.global|shfl|[ls][dt]\.shared)", part)) for part in code.split("\n$L__BB")]
        return [
            [part["ld.global"], part["shfl"], part["ld.shared"] + part["st.shared"]]
            for part in parts
            if part["ld.global"] and part["shfl"]
        ]

    return {warps: loops(warps) for warps in WARPS}


@cache
def in_ptx() -> dict[str, list]:
    """Compiled in a process of its own: in this one kernels are interpreted."""
    command = [sys.executable, "-m", "tests.site.live.oracle_load_store_unit"]
    run = subprocess.run(command, cwd=ROOT, env=os.environ | {"TRITON_INTERPRET": "0"}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@each
def started(warps, clock):
    """Which have started, one in a clock, all arrived where they're drawn; and whether none has moved yet."""
    length = worked.load_store_clocks(warps) // warps
    queues = deque(deque((warp, place) for place in range(length)) for warp in range(warps))
    done = []
    for _ in range(max(0, min(clock, warps * length))):
        done.append(queues[0].popleft())
        queues.rotate(-1)
    return [done, len(done), clock <= 1 - WAY]


@each
def multiplications(warps):
    """A multiplication and an addition for each number of the key and of the value, and for each copy."""
    copies = max(1, warps * worked.LANES // worked.NUMBERS)
    return 4 * worked.NUMBERS * copies / H200["fp32 lanes"].value


CHECKS = [
    OracleCheck("load_store_unit: kinds", each(lambda warps: in_ptx()[str(warps)]), lambda: [[warps] for warps in WARPS],
        ("Math.min(warps, NUMBERS / LANES)", "warps"), also=(('...shuffles(results), "shared", "shared"', "...shuffles(results)"),)),
    OracleCheck("load_store_unit: clocks", each(worked.load_store_clocks), lambda: [[warps] for warps in WARPS],
        ("warps * queue(warps).length", "warps * queue(4).length")),
    OracleCheck("load_store_unit: multiplications", multiplications, lambda: [[warps] for warps in WARPS], ("Math.max(1, ", "Math.max(0.5, ")),
    OracleCheck("load_store_unit: started", started, lambda: [[warps, clock] for warps in WARPS for clock in range(-WAY, 220)],
        ("clock >= one.clock + 1", "clock > one.clock + 1"), also=(  # one that never passes
            ("place * warps + warp ", "warp * queue(warps).length + place "),
            ("clock - one.clock - 1) / FALL", "clock - one.clock - 2) / FALL"),
            ("one.clock + 1 - FALL", "one.clock - FALL"),
        )),
]  # fmt: skip

if __name__ == "__main__":
    print(json.dumps(counted()))
