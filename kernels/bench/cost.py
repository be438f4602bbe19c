"""What attention costs before anything runs: bytes and FLOPs, from the shapes alone.

N queries and N keys of ``head_dim`` numbers each, in every one of ``batch`` · ``heads``
independent slices.
"""

from typing import NamedTuple


class Traffic(NamedTuple):
    """Bytes that one kernel must read from memory and write to it, were every cache empty."""

    kernel: str
    read: int
    written: int


def square_bytes(n: int, element_bytes: int, heads: int = 1, batch: int = 1) -> int:
    """The square of scores, never written by the fused kernel.  N=8192, FP16: 128 MiB."""
    return batch * heads * n * n * element_bytes


def qkvo_bytes(
    n: int, head_dim: int, element_bytes: int, heads: int = 1, batch: int = 1
) -> int:
    """Q, K, V and the output, once each: the least that any form of attention must move."""
    return 4 * batch * heads * n * head_dim * element_bytes


def backward_bytes(
    n: int, head_dim: int, element_bytes: int, heads: int = 1, batch: int = 1
) -> int:
    """The least that a backward pass must move: 8 tensors of the size of Q, and the lse.

    Q, K, V, the output, its gradient and the log-sum-exp (FP32) are read; dQ, dK, dV written.
    """
    rows = batch * heads * n
    return rows * (8 * head_dim * element_bytes + 4)


def eager_traffic(
    n: int, head_dim: int, element_bytes: int, heads: int = 1, batch: int = 1
) -> list[Traffic]:
    """The three lines as PyTorch runs them: four kernels, six trips of the square.

    Written, read and written, read and written, read.  Were the scale folded into the
    matmul there would be four trips, the textbook's count.
    """
    row = batch * heads * n * head_dim * element_bytes
    square = square_bytes(n, element_bytes, heads, batch)
    return [
        Traffic("QKᵀ", 2 * row, square),
        Traffic("scale", square, square),
        Traffic("softmax", square, square),
        Traffic("PV", square + row, row),
    ]


def three_kernels_traffic(
    n: int,
    head_dim: int,
    element_bytes: int,
    square_element_bytes: int,
    heads: int = 1,
    batch: int = 1,
) -> list[Traffic]:
    """``kernels.first.three_kernels``: five trips of a square that may be of another type than
    Q.

    The softmax reads each row twice, first for its maximum and sum.
    """
    row = batch * heads * n * head_dim * element_bytes
    square = square_bytes(n, square_element_bytes, heads, batch)
    return [
        Traffic("QKᵀ·scale", 2 * row, square),
        Traffic("softmax", 2 * square, square),
        Traffic("PV", square + row, row),
    ]


def fused_traffic(
    n: int, head_dim: int, element_bytes: int, heads: int = 1, batch: int = 1
) -> list[Traffic]:
    """Any form that is one kernel, were each of its repeated requests answered by a cache."""
    row = batch * heads * n * head_dim * element_bytes
    return [Traffic("fused", 3 * row, row)]


def requested_bytes(
    n: int, head_dim: int, element_bytes: int, block_q: int, heads: int = 1, batch: int = 1
) -> int:
    """What the fused forms ask for: Q and the output once, K and V once a block of queries.

    FlashAttention owns ``block_q`` queries a program; ``kernels.first.one_key`` and
    ``kernels.first.key_blocks`` own one, and ask N times for each key.  Every query sees every
    key and K has as many heads as Q; causal asks for half of K and V.  Most of the requests for
    K and V are answered by the L2 cache, so HBM moves less than this.
    """
    row = batch * heads * n * head_dim * element_bytes
    query_blocks = -(-n // block_q)
    return 2 * row + 2 * row * query_blocks


def eager_peak_bytes(
    n: int, head_dim: int, element_bytes: int, heads: int = 1, batch: int = 1
) -> int:
    """What the three lines hold at their peak beside Q, K and V: two squares and the output.

    As PV runs, the scores are still a variable of the function beside the shares.  One square
    of FP32, as ``kernels.first.three_kernels`` holds, is as much where the inputs have 16 bits.
    """
    row = batch * heads * n * head_dim * element_bytes
    return 2 * square_bytes(n, element_bytes, heads, batch) + row


def fused_peak_bytes(
    n: int, head_dim: int, element_bytes: int, heads: int = 1, batch: int = 1
) -> int:
    """What FlashAttention holds beside Q, K and V: the output, and an FP32 lse a query."""
    return batch * heads * n * (head_dim * element_bytes + 4)


def attention_flops(
    n: int, head_dim: int, heads: int = 1, batch: int = 1, causal: bool = False
) -> int:
    """The two matmuls, a multiply-add counted as two; half when causal, as papers count.

    Two matmuls of N·N·head_dim multiply-adds each.  The softmax between them is left out.
    """
    return 4 * batch * heads * n * n * head_dim // (2 if causal else 1)


def backward_flops(
    n: int, head_dim: int, heads: int = 1, batch: int = 1, causal: bool = False
) -> int:
    """2.5 times the forward pass: five matmuls of that size to its two, as papers count.

    QKᵀ once more, for no square was kept; dO·Vᵀ; and one each for dQ, dK and dV.
    """
    return attention_flops(n, head_dim, heads, batch, causal) * 5 // 2


def attainable(flops_per_byte: float, peak: float, bandwidth: float) -> float:
    """FLOP/s under the roofline: held back by memory below the ridge, by arithmetic above.

    flops_per_byte: arithmetic intensity   peak: FLOP/s   bandwidth: B/s
    The ridge is at peak / bandwidth.
    """
    return min(peak, flops_per_byte * bandwidth)


def mib(count: float) -> float:
    """Bytes in mebibytes, 2²⁰ bytes: what memory is sold in.  128 MiB is 134.2 MB."""
    return count / 2**20


def mb(count: float) -> float:
    """Bytes in megabytes, 10⁶ bytes: what goes with a bandwidth in TB/s."""
    return count / 1e6


def gib(count: float) -> float:
    """Bytes in gibibytes, 2³⁰ bytes.  64 GiB is 68.7 GB."""
    return count / 2**30


def gb(count: float) -> float:
    """Bytes in gigabytes, 10⁹ bytes."""
    return count / 1e9
