"""What attention costs before anything runs: bytes and FLOPs, from the shapes alone.

N queries and N keys of ``head_dim`` numbers each, in every one of ``batch`` · ``heads``
independent slices.
"""


def square_bytes(n: int, element_bytes: int, heads: int = 1, batch: int = 1) -> int:
    """The square of scores, never written by the fused kernel.  N=8192, FP16: 128 MiB."""
    return batch * heads * n * n * element_bytes


def qkvo_bytes(
    n: int, head_dim: int, element_bytes: int, heads: int = 1, batch: int = 1
) -> int:
    """Q, K, V and the output, once each: the least that any form of attention must move."""
    return 4 * batch * heads * n * head_dim * element_bytes


def flash_bytes(
    n: int, head_dim: int, element_bytes: int, block_q: int, heads: int = 1, batch: int = 1
) -> int:
    """What FlashAttention asks for: Q and the output once, K and V once a block of queries.

    Every query sees every key and K has as many heads as Q; causal asks for half of K and V.
    Most of the requests for K and V are answered by the L2 cache, so HBM moves less than this.
    """
    row = batch * heads * n * head_dim * element_bytes
    query_blocks = -(-n // block_q)
    return 2 * row + 2 * row * query_blocks


def attention_flops(
    n: int, head_dim: int, heads: int = 1, batch: int = 1, causal: bool = False
) -> int:
    """The two matmuls, a multiply-add counted as two; half when causal, as papers count.

    Two matmuls of N·N·head_dim multiply-adds each.  The softmax between them is left out.
    """
    return 4 * batch * heads * n * n * head_dim // (2 if causal else 1)


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
