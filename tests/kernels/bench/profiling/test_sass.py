"""Instructions are counted loop by loop."""

import re

import pytest
import torch

from kernels.bench.microbenchmarks.one_key_warps import one_key_kernel
from kernels.bench.profiling.sass import loops, opcodes

ENDS = "\n".join(["--:-:-:Y:5\tEXIT;", "LBB9:", "--:-:-:Y:0\tBRA LBB9;", "--:-:-:Y:0\tNOP;"])
FIRST = "\n".join(
    ["LBB1:", "--:-:2:-:4\tLDG.E.U16 R2, desc[UR8][R2.64];", "04:-:-:-:5\t@!P4 STS [R15], R28;"]
    + ["--:-:-:Y:5\tBAR.SYNC.DEFER_BLOCKING 0x0;"] * 2
    + ["--:-:-:-:5\t@P6 BRA LBB1;"]
)
OUTER = f"LBB0:\n--:-:1:-:8\tLDC R1, c[0x0][0x28];\n{FIRST}\n--:-:-:-:5\t@P0 BRA LBB0;"


def test_a_loop_is_what_is_between_its_label_and_the_jump_back():
    skip = "--:-:-:-:5\t@!P0 BRA LBB7;"
    text = f"Function:kernel\n--:-:0:-:8\tLDC R1, c[0x0][0x28];\n{skip}\n{FIRST}\nLBB7:\n{ENDS}\n"
    (loop,) = loops(text)
    assert loop[:2] == ["LDG.E.U16 R2, desc[UR8][R2.64]", "STS [R15], R28"]
    assert opcodes(loop) == {"LDG": 1, "STS": 1, "BAR": 2, "BRA": 1}


def test_a_loop_with_another_in_it_is_left_out():
    assert loops(f"{OUTER}\n{ENDS}") == loops(f"{FIRST}\n{ENDS}") != []
    assert loops(ENDS) == []


@pytest.mark.gpu
@pytest.mark.parametrize("warps, instructions", [(1, 12), (4, 24), (8, 25)])
def test_the_first_kernel_has_as_many_for_the_load_store_unit_as_the_chapter_counts(warps, instructions):
    q, k, v = torch.randn(3, 1, 1, 512, 128, device="cuda").half()
    sizes = {"HEAD_DIM": 128, "PADDED_DIM": 128, "ROW": 512, "CAUSAL": False}
    compiled = one_key_kernel[(512,)](q, k, v, torch.empty_like(q), 1.0, 512, 512, **sizes, num_warps=warps)
    keys, values = loops(compiled.asm["sass"])
    assert sum(bool(re.match("LD[GS]|STS|SHFL", instruction)) for instruction in keys + values) == instructions
