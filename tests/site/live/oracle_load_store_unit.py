"""A pair at the load-store unit: the model beside the sheet's numbers, and queues that take turns."""

from collections import deque

from scripts.chapters.first_kernel import worked
from tests.site.live.harness import OracleCheck, per_case

WARPS = (1, 2, 4, 8)
WAY = 12  # clocks that an instruction is drawn on its way


def kinds(warps):
    """What the two loops have for the unit: loads, shuffles, and instructions of shared memory."""
    holders = min(warps, worked.HEAD_DIM // worked.LANES)  # of the products; all warps hold a part of the row
    return [[1, worked.SUM_STEPS[0] + results.bit_length() - 1, 4 * (results > 1)] for results in (holders, warps)]


@per_case
def started(warps, clock):
    """Which have started, one in a clock, all arrived where they're drawn; and whether none has moved yet."""
    length = worked.load_store_clocks(warps) // warps
    queues = deque(deque((warp, place) for place in range(length)) for warp in range(warps))
    done = []
    for _ in range(max(0, min(clock, warps * length))):
        done.append(queues[0].popleft())
        queues.rotate(-1)
    return [done, len(done), clock <= 1 - WAY]


CHECKS = [
    OracleCheck("load_store_unit: kinds", per_case(kinds), lambda: [[warps] for warps in WARPS],
        ("Math.min(warps, NUMBERS / LANES)", "warps"), other_mistakes=(('...shuffles(results), "shared", "shared"', "...shuffles(results)"),)),
    OracleCheck("load_store_unit: clocks", per_case(worked.load_store_clocks), lambda: [[warps] for warps in WARPS],
        ("warps * queue(warps).length", "warps * queue(4).length")),
    OracleCheck("load_store_unit: aluClocks", per_case(worked.alu_clocks), lambda: [[warps] for warps in WARPS],
        ("48 + 5 * warps", "48 + 5")),
    OracleCheck("load_store_unit: started", started, lambda: [[warps, clock] for warps in WARPS for clock in range(-WAY, 220)],
        ("clock >= one.clock + 1", "clock > one.clock + 1"), other_mistakes=(  # one that never passes
            ("place * warps + warp ", "warp * queue(warps).length + place "),
            ("clock - one.clock - 1) / FALL", "clock - one.clock - 2) / FALL"),
            ("one.clock + 1 - FALL", "one.clock - FALL"),
        )),
]  # fmt: skip
