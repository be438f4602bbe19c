"""Sheet 10: a block of sixteen numbers, its scale, its codes and its bytes, by the library and by its kernel."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from kernels.formats.block import NVFP4, dequantize, quantize
from kernels.formats.block_triton import quantize_blocks
from kernels.formats.value import E2M1, E4M3, decode, encode, unpack_e2m1
from scripts.chapters.demo import DEVICE, table
from scripts.chapters.number_formats.worked import BLOCK, TENSOR_SCALE, TIES, short

SNIPPET = "nvfp4_block"
HALF = len(BLOCK) // 2


def lines() -> Iterator[str]:
    x = torch.tensor(BLOCK, device=DEVICE)
    block, ours = (how(x, NVFP4, tensor_scale=TENSOR_SCALE) for how in (quantize, quantize_blocks))
    bits = 8 * (block.codes.nbytes + block.scales.nbytes)
    each = bits / len(BLOCK)
    yield f"{len(BLOCK)} numbers in {bits} bits: {each:g} bits each, {16 / each:.2f} times fewer than 16, not 4."
    yield ""
    stored, worth = block.scales.item(), decode(block.scales, E4M3).item()
    yield (
        f"scale: {x.abs().max():g} ÷ {E2M1.max:g} ÷ {TENSOR_SCALE} = {worth:g}, "
        f"{e4m3_bits(stored)} = {stored:02X}; a stored 1 is worth {worth * TENSOR_SCALE:g}"
    )
    codes, taken = unpack_e2m1(block.codes), dequantize(block) / (worth * TENSOR_SCALE)
    packed = bytes(block.codes.tolist()).hex(" ").upper().split()
    for at in (0, HALF):
        part = slice(at, at + HALF)
        yield from table(
            ["÷ .75", *(short(number) for number in (x[part] / (worth * TENSOR_SCALE)).tolist())],
            ["taken", *(number_text(number) for number in taken[part].tolist())],
            ["code", *(f"{code:X}" for code in codes[part].tolist())],
        )
        yield f"bytes  {' '.join(packed[at // 2 : (at + HALF) // 2])}"
    same = ours.codes.equal(block.codes) and ours.scales.equal(block.scales)
    yield f"the kernel in Triton writes {'the same' if same else 'OTHER BYTES'}"
    to = decode(encode(torch.tensor(TIES), E2M1), E2M1).tolist()
    yield "ties: " + ", ".join(f"{short(tie)} → {mark:g}" for tie, mark in zip(TIES, to, strict=True))
    tenth = encode(torch.tensor(0.1), E4M3)
    yield f"0.1 in E4M3: {e4m3_bits(tenth.item())} = {decode(tenth, E4M3).item():.7f}"


def e4m3_bits(code: int) -> str:
    """The bits of E4M3: sign, exponent, mantissa."""
    return f"{code >> 7} {code >> 3 & 15:04b} {code & 7:03b}"


def number_text(number: float) -> str:
    """-0, too."""
    return f"{number:g}".replace("0.5", ".5")
