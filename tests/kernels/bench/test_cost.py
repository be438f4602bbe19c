"""Bytes and FLOPs of the chapters, from the formulas."""

import pytest

from kernels.bench import hardware
from kernels.bench.cost import (
    attainable,
    attention_flops,
    backward_bytes,
    backward_flops,
    eager_peak_bytes,
    eager_traffic,
    fused_peak_bytes,
    fused_traffic,
    gb,
    gib,
    mb,
    mib,
    qkvo_bytes,
    requested_bytes,
    square_bytes,
    three_kernels_traffic,
)


def test_the_square_of_8192_in_fp16_is_128_mib_and_134_mb():
    square = square_bytes(8192, 2)
    assert mib(square) == 128 and round(mb(square), 1) == 134.2


def test_the_balloon():
    """Batch 32, 32 heads, N=4096, d=64, FP32: Q, K, V, O 1.07 GB each, the square 68.7 GB = 64 GiB."""
    square = square_bytes(4096, 4, heads=32, batch=32)
    assert gib(square) == 64 and round(gb(square), 1) == 68.7
    assert round(gb(qkvo_bytes(4096, 64, 4, heads=32, batch=32)) / 4, 2) == 1.07


def test_four_trips_of_the_square_are_64_times_what_must_move():
    assert 4 * square_bytes(8192, 2) / qkvo_bytes(8192, 128, 2) == 64


def total(kernels):
    return sum(kernel.read + kernel.written for kernel in kernels)


def test_the_three_lines_as_typed_make_six_trips():
    """N=8192, d=128, FP16: squares of 134.2 MB, rows of 2.1 MB; by kernel, as the chapter's table has them."""
    kernels = eager_traffic(8192, 128, 2)
    assert [(kernel.kernel, round(mb(kernel.read), 1), round(mb(kernel.written), 1)) for kernel in kernels] == [
        ("QKᵀ", 4.2, 134.2),
        ("scale", 134.2, 134.2),
        ("softmax", 134.2, 134.2),
        ("PV", 136.3, 2.1),
    ]
    row, square = 8192 * 128 * 2, 8192 * 8192 * 2
    assert total(kernels) == 6 * square + 4 * row
    assert round(mb(6 * square)) == 805 and round(total(kernels) / qkvo_bytes(8192, 128, 2)) == 97
    assert total(eager_traffic(100, 16, 2, heads=5, batch=7)) == 35 * total(eager_traffic(100, 16, 2))


@pytest.mark.parametrize("square_element_bytes", [2, 4])
def test_three_kernels_make_five_trips(square_element_bytes):
    row, square = 8192 * 128 * 2, 8192 * 8192 * square_element_bytes
    kernels = three_kernels_traffic(8192, 128, 2, square_element_bytes)
    assert len(kernels) == 3 and total(kernels) == 5 * square + 4 * row
    assert [kernel.read for kernel in kernels] == [2 * row, 2 * square, square + row]
    more = three_kernels_traffic(8192, 128, 2, square_element_bytes, heads=5, batch=7)
    assert total(more) == 35 * total(kernels)


def test_what_is_fused_moves_the_least_there_is():
    assert total(fused_traffic(8192, 128, 2)) == qkvo_bytes(8192, 128, 2)
    assert fused_traffic(3, 2, 2, heads=5, batch=7)[0][1:] == (35 * 3 * 12, 35 * 12)


def test_keys_and_values_are_asked_for_once_a_block_of_queries():
    once = qkvo_bytes(8192, 128, 2) / 2
    assert requested_bytes(8192, 128, 2, block_q=8192) == 2 * once
    assert round(mb(requested_bytes(8192, 128, 2, block_q=128) - once)) == 268
    assert requested_bytes(100, 16, 2, block_q=64) == (2 + 2 * 2) * 100 * 16 * 2
    assert requested_bytes(100, 16, 2, 64, heads=5, batch=7) == 35 * requested_bytes(100, 16, 2, 64)


def test_one_program_a_query_asks_n_times_for_each_key_and_value():
    """N=1024, d=64, FP16: a query asks for 1024 keys and as many values of 128 bytes each, 256 KiB, and so do 1024."""
    assert requested_bytes(1024, 64, 2, block_q=1) == 2 * 1024 * 64 * 2 + 1024 * 256 * 1024


def test_at_its_peak_the_unfused_form_holds_two_squares():
    """The balloon again, in FP16 at N=131,072: 64 GiB of squares and an output of 32 MiB; fused, that and lse."""
    assert gib(eager_peak_bytes(131_072, 128, 2)) == 64 + 1 / 32
    assert mib(fused_peak_bytes(131_072, 128, 2)) == 32 + 0.5
    assert eager_peak_bytes(100, 16, 2, heads=5, batch=7) == 35 * eager_peak_bytes(100, 16, 2)
    assert fused_peak_bytes(100, 16, 2, heads=5, batch=7) == 35 * fused_peak_bytes(100, 16, 2)


def test_flops():
    assert attention_flops(3, 2) == 4 * 9 * 2
    assert attention_flops(16384, 128, heads=16) == 2 * attention_flops(16384, 128, heads=16, causal=True)
    assert attention_flops(3, 2, heads=5, batch=7) == 35 * attention_flops(3, 2)


def test_a_backward_pass_is_five_matmuls():
    assert backward_flops(3, 2) == 5 * (2 * 3 * 3 * 2)
    assert backward_flops(4, 2, heads=5, batch=7, causal=True) == 5 * 35 * (2 * 4 * 4 * 2) / 2
    assert backward_bytes(3, 2, 2, heads=5, batch=7) == 35 * (8 * (3 * 2 * 2) + 3 * 4)


def test_the_roofline_of_an_h100():
    """QKᵀ at N=8192, d=128, FP16: 17.2 GFLOP over 138.4 MB are 124 FLOP/B, left of the ridge at 295."""
    peak, bandwidth = (hardware.H100[what].value for what in ("bf16 peak", "hbm bandwidth"))
    scores = eager_traffic(8192, 128, 2)[0]
    intensity = attention_flops(8192, 128) / 2 / (scores.read + scores.written)
    assert round(intensity) == 124
    assert attainable(intensity, peak, bandwidth) == intensity * bandwidth < 0.43 * peak
    assert attainable(attention_flops(8192, 128) / qkvo_bytes(8192, 128, 2), peak, bandwidth) == peak
    assert attainable(peak / bandwidth, peak, bandwidth) == pytest.approx(peak)
