"""Predicts what one sequence on many GPUs costs: pairs, FLOP, bytes and time.

Each of ``gpus`` GPUs holds ``tokens`` queries, keys and values.  The bytes are those that
``kernels.parallel`` sends, scheme by scheme; the time is that of its ring.
"""

from typing import Literal, NamedTuple

from kernels.bench.cost import attention_flops, backward_flops

Scheme = Literal["ring", "all_gather", "all_to_all"]
Order = Literal["zigzag", "contiguous"]


class Part(NamedTuple):
    """The part of the sequence that one GPU holds: ``tokens`` of every head."""

    tokens: int
    heads: int
    kv_heads: int
    head_dim: int
    element_bytes: int = 2

    @property
    def kv_bytes(self) -> int:
        """The bytes of K and V.  16 heads of 128, 8192 tokens, BF16: 67.1 MB."""
        return 2 * self.kv_heads * self.tokens * self.head_dim * self.element_bytes

    @property
    def q_bytes(self) -> int:
        """The bytes of Q, and of the output."""
        return self.heads * self.tokens * self.head_dim * self.element_bytes


class Link(NamedTuple):
    """The link through which a GPU fetches: B/s, and the extra seconds of each step."""

    bandwidth: float
    step: float = 0.0


def pairs(rank: int, owner: int, gpus: int, tokens: int, causal: bool, order: Order) -> int:
    """Returns in how many pairs a query of GPU ``rank`` sees a key of GPU ``owner``.

    Both numbers count from 0.
    """
    if not causal:
        return tokens**2
    if rank == owner:
        return tokens * (tokens + 1) // 2
    if order == "zigzag":
        return tokens**2 // 2
    return tokens**2 if owner < rank else 0


def pairs_of(rank: int, gpus: int, tokens: int, causal: bool, order: Order) -> int:
    """Returns how many pairs have their query on this GPU, which computes them."""
    return sum(pairs(rank, owner, gpus, tokens, causal, order) for owner in range(gpus))


def load_imbalance(gpus: int, tokens: int, order: Order) -> float:
    """Returns how many times its fair share the busiest GPU computes, if causal."""
    pairs_by_gpu = [pairs_of(rank, gpus, tokens, True, order) for rank in range(gpus)]
    return max(pairs_by_gpu) * gpus / sum(pairs_by_gpu)


def sent_bytes(scheme: Scheme, gpus: int, part: Part, backward: bool = False) -> float:
    """Returns the bytes that one GPU sends in a pass, and receives, if it isn't causal.

    A causal pass sends as much, except for a ring's gradients in zigzag order: these are three
    quarters.  A backward pass is counted without the forward pass before it.
    """
    other_gpus, kv = gpus - 1, part.kv_bytes
    if scheme == "ring":  # gradients go home in the dtype of K and V
        return other_gpus * kv * (2 if backward else 1)
    if scheme == "all_gather":  # gradients are summed in FP32
        return other_gpus * kv * (1 + 4 / part.element_bytes if backward else 1)
    # Backward: dO one way, dQ, dK and dV the other.
    return other_gpus / gpus * (2 * part.q_bytes + kv)


def parts_held(scheme: Scheme, gpus: int) -> int:
    """Returns how many parts of K and V a GPU holds: its own, one in use, one coming."""
    return {"ring": min(gpus, 3), "all_gather": gpus, "all_to_all": 1}[scheme]


def flops_of(pairs: int, part: Part, backward: bool = False) -> float:
    """Returns the FLOP of so many pairs in all heads; a multiply-add counts as two."""
    pass_flops = backward_flops if backward else attention_flops
    return pairs * pass_flops(1, part.head_dim, 2 * part.heads) / 2


def min_tokens_to_overlap(
    part: Part, speed: float, bandwidth: float, causal: bool = False
) -> float:
    """Returns for how many tokens on a GPU fetching K and V takes no longer than using them.

    speed: FLOP/s of the kernel   bandwidth: B/s
    """
    flops_per_pair = flops_of(1, part) / (2 if causal else 1)  # times tokens²
    return part.kv_bytes / part.tokens / bandwidth * speed / flops_per_pair


def ring_seconds(
    own: float, other: float, keys: list[float], gradients: list[float], step: float
) -> float:
    """Returns the seconds of a ring that computes with one part while the next is on its way.

    own, other: seconds to compute with my own part, and with that of another GPU
    keys: seconds to fetch the part of each step   gradients: seconds to return those of each
    step, none in a forward pass   step: extra seconds of each step
    My own part hides the first fetch.  The next step hides a step's gradients, and nothing
    hides the last ones.
    """
    if not keys:
        return own
    return_seconds = gradients or [0.0] * len(keys)
    time = max(own, keys[0])
    for i in range(len(keys)):
        next_fetch = keys[i + 1] if i + 1 < len(keys) else 0.0
        time += max(other, next_fetch + (return_seconds[i - 1] if i else 0.0)) + step
    return time + return_seconds[-1]


def predict_seconds(
    gpus: int, part: Part, *, speed: float, link: Link, causal: bool, backward: bool = False,
    gpus_per_host: int | None = None, inter_host_link: Link | None = None,
) -> float:  # fmt: skip
    """Returns the seconds of one pass of a ring in zigzag order: predicted, not measured.

    speed: FLOP/s of the kernel on one block of that size, in that pass
    gpus_per_host: all if None   inter_host_link: through which parts from other hosts come
    """
    on_this_host = gpus if gpus_per_host is None else min(gpus, gpus_per_host)
    links = [inter_host_link] * (gpus - on_this_host) + [link] * (on_this_host - 1)
    own_pairs, other_pairs = (
        pairs(0, owner, max(gpus, 2), part.tokens, causal, "zigzag") for owner in (0, 1)
    )
    own_seconds, other_seconds = (
        flops_of(each, part, backward) / speed for each in (own_pairs, other_pairs)
    )
    fetches = [part.kv_bytes / each.bandwidth for each in links]
    gradients = [(0.75 if causal else 1) * each for each in fetches] if backward else []
    step = sum(each.step for each in links) / max(len(links), 1)
    return ring_seconds(own_seconds, other_seconds, fetches, gradients, step)


def ideal_seconds(
    gpus: int, part: Part, *, speed: float, causal: bool, backward: bool = False
) -> float:
    """Returns the seconds if only arithmetic took time, and all GPUs had equal work."""
    own_pairs = pairs_of(0, gpus, part.tokens, causal, "zigzag")
    return flops_of(own_pairs, part, backward) / speed


def decode_bytes(heads: int, head_dim: int, queries: int = 1) -> int:
    """Returns the bytes that a GPU sends in decode: an output and an lse for each query, FP32.

    They don't depend on the length of the cache.
    """
    return queries * heads * (head_dim + 1) * 4
