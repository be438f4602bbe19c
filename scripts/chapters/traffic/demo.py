"""Sheet 4: a square that fits nowhere, the trips that the library counts, and the roof over the first matmul."""

from __future__ import annotations

from collections.abc import Iterator

from kernels.bench.cost import attainable, attention_flops, eager_traffic, mb, mib, qkvo_bytes, square_bytes
from kernels.bench.hardware import H100, H200
from scripts.chapters.traffic.worked import BYTES, HEAD_DIM, N

SNIPPET = "hbm_traffic"
SCALE = "scale"


def lines() -> Iterator[str]:
    square, least = square_bytes(N, BYTES), qkvo_bytes(N, HEAD_DIM, BYTES)
    kernels = eager_traffic(N, HEAD_DIM, BYTES)
    trips = {each.kernel: (each.read + each.written) // square for each in kernels}
    four = sum(count for name, count in trips.items() if name != SCALE)
    yield f"{four} trips of the square are {four * square // least} times the bytes of Q, K, V and the output."
    yield ""
    sms = H100["sms"].value
    on_chip = [H200["l2"].value, *(sms * H100[f"{what} per SM"].value for what in ("registers", "shared memory"))]
    held = " + ".join(f"{mib(size):.0f}" for size in on_chip)
    yield f"the square {mib(square):.0f} MiB; L2, registers, shared {held} = {mib(sum(on_chip)):.0f} MiB"
    for name, count in trips.items():
        yield f"{name:8} {count} of the square"
    whole = sum(each.read + each.written for each in kernels)
    yield f"as typed: {sum(trips.values())} trips"
    yield (
        f"{sum(trips.values())} · {mb(square):.2f} + {mb(least):.2f} = {mb(whole):.1f} MB, "
        f"{whole / least:.0f} times the least"
    )
    yield ""
    peak, hallway = H100["bf16 peak"].value, H100["hbm bandwidth"].value
    yield f"the ridge: {peak / 1e12:.0f} ÷ {hallway / 1e12:.2f} = {peak / hallway:.0f} FLOP per byte"
    flop = attention_flops(N, HEAD_DIM) / 2 / (kernels[0].read + kernels[0].written)
    reached = attainable(flop, peak, hallway)
    yield f"QKᵀ: {flop:.0f} FLOP per byte, so at most {reached / 1e12:.0f} of {peak / 1e12:.0f} TFLOP/s"
    yield f"the limit of two sentences, 16 heads: {1e3 * attention_flops(N, HEAD_DIM, 16, 2) / peak:.1f} ms"
