"""Sheet 4: scores that fit nowhere on the chip, the trips that the library counts, the roofline of the first matmul."""

from __future__ import annotations

from collections.abc import Iterator

from kernels.bench.cost import attainable, attention_flops, eager_traffic, mb, mib, qkvo_bytes, square_bytes
from kernels.bench.hardware import H100, H200
from scripts.chapters.traffic.worked import BYTES, HEAD_DIM, N

SNIPPET = "hbm_traffic"
SCALE = "scale"


def lines() -> Iterator[str]:
    score_bytes, least_bytes = square_bytes(N, BYTES), qkvo_bytes(N, HEAD_DIM, BYTES)
    kernels = eager_traffic(N, HEAD_DIM, BYTES)
    trips = {each.kernel: (each.read + each.written) // score_bytes for each in kernels}
    trips_without_scale = sum(count for name, count in trips.items() if name != SCALE)
    ratio = trips_without_scale * score_bytes // least_bytes
    yield f"{trips_without_scale} trips of the square are {ratio} times the bytes of Q, K, V and the output."
    yield ""
    sms = H100["sms"].value
    on_chip = [H200["l2"].value, *(sms * H100[f"{what} per SM"].value for what in ("registers", "shared memory"))]
    on_chip_text = " + ".join(f"{mib(size):.0f}" for size in on_chip)
    yield f"the square {mib(score_bytes):.0f} MiB; L2, registers, shared {on_chip_text} = {mib(sum(on_chip)):.0f} MiB"
    for name, count in trips.items():
        yield f"{name:8} {count} of the square"
    moved_bytes = sum(each.read + each.written for each in kernels)
    yield f"as typed: {sum(trips.values())} trips"
    yield (
        f"{sum(trips.values())} · {mb(score_bytes):.2f} + {mb(least_bytes):.2f} = {mb(moved_bytes):.1f} MB, "
        f"{moved_bytes / least_bytes:.0f} times the least"
    )
    yield ""
    peak, bandwidth = H100["bf16 peak"].value, H100["hbm bandwidth"].value
    yield f"the ridge: {peak / 1e12:.0f} ÷ {bandwidth / 1e12:.2f} = {peak / bandwidth:.0f} FLOP per byte"
    flop_per_byte = attention_flops(N, HEAD_DIM) / 2 / (kernels[0].read + kernels[0].written)
    tflops = attainable(flop_per_byte, peak, bandwidth) / 1e12
    yield f"QKᵀ: {flop_per_byte:.0f} FLOP per byte, so at most {tflops:.0f} of {peak / 1e12:.0f} TFLOP/s"
    yield f"the limit of two sentences, 16 heads: {1e3 * attention_flops(N, HEAD_DIM, 16, 2) / peak:.1f} ms"
