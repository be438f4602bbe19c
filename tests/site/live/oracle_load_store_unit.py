"""What a pair has for the load-store unit and the ALU: the model beside the sheet's numbers."""

from scripts.chapters.first_kernel import worked
from tests.site.live.harness import OracleCheck, per_case

WARPS = (1, 2, 4, 8)


def instructions(warps):
    """A load and a sum in each of the two loops."""
    within, put, _, get = worked.SUM_STEPS
    holders = min(warps, worked.HEAD_DIM // worked.LANES)  # of the products; all warps hold a part of the row
    across = ((results.bit_length() - 1 + put + get) * (results > 1) for results in (holders, warps))
    return [one for steps in across for one in (1, within + steps)]


CHECKS = [
    OracleCheck("load_store_unit: instructions", per_case(instructions), lambda: [[warps] for warps in WARPS],
        ("Math.min(warps, NUMBERS / LANES)", "warps"),
        other_mistakes=(("Math.log2(results) + 4", "Math.log2(results) + 2"),)),
    OracleCheck("load_store_unit: lsuClocks", per_case(worked.load_store_clocks), lambda: [[warps] for warps in WARPS],
        ("warps * instructions(warps)", "instructions(warps)")),
    OracleCheck("load_store_unit: aluClocks", per_case(worked.alu_clocks), lambda: [[warps] for warps in WARPS],
        ("48 + 5 * warps", "48 + 5")),
]  # fmt: skip
