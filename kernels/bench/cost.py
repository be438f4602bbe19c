"""Predicts what attention costs: bytes and FLOP, from the shapes alone.

There are N queries and N keys of ``head_dim`` numbers each, in each of ``batch`` · ``heads``
independent slices.
"""

from typing import NamedTuple


class Traffic(NamedTuple):
    """Bytes that one kernel must read from memory and write to it, if every cache is empty."""

    kernel: str
    read: int
    written: int


def square_bytes(n: int, element_bytes: int, heads: int = 1, batch: int = 1) -> int:
    """Returns the bytes of all scores, [N, N] a head; no fused kernel writes them.

    N=8192, FP16: 128 MiB.
    """
    return batch * heads * n * n * element_bytes


def qkvo_bytes(
    n: int, head_dim: int, element_bytes: int, heads: int = 1, batch: int = 1
) -> int:
    """Returns the bytes of Q, K, V and the output, the least that attention must move."""
    return 4 * batch * heads * n * head_dim * element_bytes


def backward_bytes(
    n: int, head_dim: int, element_bytes: int, heads: int = 1, batch: int = 1
) -> int:
    """Returns the least bytes that a backward pass must move: 8 tensors like Q, and lse.

    It reads Q, K, V, the output, its gradient and lse (FP32), and writes dQ, dK and dV.
    """
    rows = batch * heads * n
    return rows * (8 * head_dim * element_bytes + 4)


def eager_traffic(
    n: int, head_dim: int, element_bytes: int, heads: int = 1, batch: int = 1
) -> list[Traffic]:
    """Returns the traffic of the three lines in PyTorch: four kernels, six trips of the scores.

    QKᵀ writes them, scale and softmax each read and write as many numbers, PV reads the
    weights.  If the matmul did the scaling, there would be four trips, which is the textbook's
    count.
    """
    tensor_bytes = batch * heads * n * head_dim * element_bytes
    score_bytes = square_bytes(n, element_bytes, heads, batch)
    return [
        Traffic("QKᵀ", 2 * tensor_bytes, score_bytes),
        Traffic("scale", score_bytes, score_bytes),
        Traffic("softmax", score_bytes, score_bytes),
        Traffic("PV", score_bytes + tensor_bytes, tensor_bytes),
    ]


def three_kernels_traffic(
    n: int,
    head_dim: int,
    element_bytes: int,
    square_element_bytes: int,
    heads: int = 1,
    batch: int = 1,
) -> list[Traffic]:
    """Returns the traffic of ``kernels.first.three_kernels``: five trips of the scores.

    Scores and weights may have another dtype than Q.  The softmax reads each row twice, first
    for its maximum and sum.
    """
    tensor_bytes = batch * heads * n * head_dim * element_bytes
    score_bytes = square_bytes(n, square_element_bytes, heads, batch)
    return [
        Traffic("QKᵀ·scale", 2 * tensor_bytes, score_bytes),
        Traffic("softmax", 2 * score_bytes, score_bytes),
        Traffic("PV", score_bytes + tensor_bytes, tensor_bytes),
    ]


def fused_traffic(
    n: int, head_dim: int, element_bytes: int, heads: int = 1, batch: int = 1
) -> list[Traffic]:
    """Returns the traffic of any fused kernel, if caches answer all repeated requests."""
    tensor_bytes = batch * heads * n * head_dim * element_bytes
    return [Traffic("fused", 3 * tensor_bytes, tensor_bytes)]


def requested_bytes(
    n: int, head_dim: int, element_bytes: int, block_q: int, heads: int = 1, batch: int = 1
) -> int:
    """Returns the bytes that fused kernels request: K and V once for each block of queries.

    They request Q and the output once.  A program of FlashAttention has ``block_q`` queries.
    In ``kernels.first.one_key`` and ``kernels.first.key_blocks`` it has one, so they request
    each key N times.  Every query sees every key, and K has as many heads as Q; a causal kernel
    requests half of K and V.  The L2 cache answers most requests for K and V, so HBM moves less
    than this.
    """
    tensor_bytes = batch * heads * n * head_dim * element_bytes
    query_blocks = -(-n // block_q)
    return 2 * tensor_bytes + 2 * tensor_bytes * query_blocks


def eager_peak_bytes(
    n: int, head_dim: int, element_bytes: int, heads: int = 1, batch: int = 1
) -> int:
    """Returns the bytes that the three lines hold at their peak: two [N, N] and the output.

    Q, K and V aren't counted.  When PV runs, the function still holds the scores as well as the
    weights.  One [N, N] in FP32, as in ``kernels.first.three_kernels``, takes as much if the
    inputs have 16 bits.
    """
    tensor_bytes = batch * heads * n * head_dim * element_bytes
    return 2 * square_bytes(n, element_bytes, heads, batch) + tensor_bytes


def fused_peak_bytes(
    n: int, head_dim: int, element_bytes: int, heads: int = 1, batch: int = 1
) -> int:
    """Returns the bytes that FlashAttention holds besides Q, K and V: the output and lse."""
    return batch * heads * n * (head_dim * element_bytes + 4)


def attention_flops(
    n: int, head_dim: int, heads: int = 1, batch: int = 1, causal: bool = False
) -> int:
    """Returns the FLOP of the two matmuls, half of them if causal, as papers count.

    Each has N·N·head_dim multiply-adds, which count twice.  The softmax doesn't count.
    """
    return 4 * batch * heads * n * n * head_dim // (2 if causal else 1)


def backward_flops(
    n: int, head_dim: int, heads: int = 1, batch: int = 1, causal: bool = False
) -> int:
    """Returns the FLOP of a backward pass: 2.5 times the forward pass, as papers count.

    It has five matmuls, not two: QKᵀ again, because nobody kept the scores, dO·Vᵀ, and one each
    for dQ, dK and dV.
    """
    return attention_flops(n, head_dim, heads, batch, causal) * 5 // 2


def attainable(flops_per_byte: float, peak: float, bandwidth: float) -> float:
    """Returns FLOP/s under the roofline: memory-bound below the ridge, compute-bound above.

    flops_per_byte: arithmetic intensity   peak: FLOP/s   bandwidth: B/s
    The ridge is at peak / bandwidth.
    """
    return min(peak, flops_per_byte * bandwidth)


def mib(count: float) -> float:
    """Returns bytes in mebibytes, 2²⁰ bytes, in which memory is sold.  128 MiB is 134.2 MB."""
    return count / 2**20


def mb(count: float) -> float:
    """Returns bytes in megabytes, 10⁶ bytes, which fit a bandwidth in TB/s."""
    return count / 1e6


def gib(count: float) -> float:
    """Returns bytes in gibibytes, 2³⁰ bytes.  64 GiB is 68.7 GB."""
    return count / 2**30


def gb(count: float) -> float:
    """Returns bytes in gigabytes, 10⁹ bytes."""
    return count / 1e9
