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
    block, kernel_block = (quantizer(x, NVFP4, tensor_scale=TENSOR_SCALE) for quantizer in (quantize, quantize_blocks))
    bits = 8 * (block.codes.nbytes + block.scales.nbytes)
    bits_per_number = bits / len(BLOCK)
    ratio = 16 / bits_per_number
    yield f"{len(BLOCK)} numbers in {bits} bits: {bits_per_number:g} bits each, {ratio:.2f} times fewer than 16, not 4."
    yield ""
    scale_code, scale_value = block.scales.item(), decode(block.scales, E4M3).item()
    yield (
        f"scale: {x.abs().max():g} ÷ {E2M1.max:g} ÷ {TENSOR_SCALE} = {scale_value:g}, "
        f"{e4m3_bits(scale_code)} = {scale_code:02X}; a stored 1 is worth {scale_value * TENSOR_SCALE:g}"
    )
    codes, nearest_values = unpack_e2m1(block.codes), dequantize(block) / (scale_value * TENSOR_SCALE)
    packed = bytes(block.codes.tolist()).hex(" ").upper().split()
    for begin in (0, HALF):
        part = slice(begin, begin + HALF)
        yield from table(
            ["÷ .75", *(short(number) for number in (x[part] / (scale_value * TENSOR_SCALE)).tolist())],
            ["taken", *(number_text(number) for number in nearest_values[part].tolist())],
            ["code", *(f"{code:X}" for code in codes[part].tolist())],
        )
        yield f"bytes  {' '.join(packed[begin // 2 : (begin + HALF) // 2])}"
    is_same = kernel_block.codes.equal(block.codes) and kernel_block.scales.equal(block.scales)
    yield f"the kernel in Triton writes {'the same' if is_same else 'OTHER BYTES'}"
    tie_values = decode(encode(torch.tensor(TIES), E2M1), E2M1).tolist()
    yield "ties: " + ", ".join(f"{short(tie)} → {mark:g}" for tie, mark in zip(TIES, tie_values, strict=True))
    code_of_tenth = encode(torch.tensor(0.1), E4M3)
    yield f"0.1 in E4M3: {e4m3_bits(code_of_tenth.item())} = {decode(code_of_tenth, E4M3).item():.7f}"


def e4m3_bits(code: int) -> str:
    """The bits of E4M3: sign, exponent, mantissa."""
    return f"{code >> 7} {code >> 3 & 15:04b} {code & 7:03b}"


def number_text(number: float) -> str:
    """A value of E2M1: .5 without its zero, -0 with its sign."""
    return f"{number:g}".replace("0.5", ".5")
