"""What one sequence on many GPUs costs before anything runs: pairs, FLOP, bytes and time.

Each of ``gpus`` GPUs holds ``tokens`` queries, keys and values.  The bytes are those that
``kernels.parallel`` asks for, scheme by scheme; the time is that of its ring.
"""

from typing import Literal, NamedTuple

from kernels.bench.cost import attention_flops, backward_flops

Scheme = Literal["ring", "all_gather", "all_to_all"]
Order = Literal["zigzag", "contiguous"]


class Part(NamedTuple):
    """What one GPU holds of the sequence: ``tokens`` of every head."""

    tokens: int
    heads: int
    kv_heads: int
    head_dim: int
    element_bytes: int = 2

    @property
    def keys_and_values(self) -> int:
        """Bytes of K and V.  16 heads of 128, 8192 tokens, BF16: 67.1 MB."""
        return 2 * self.kv_heads * self.tokens * self.head_dim * self.element_bytes

    @property
    def queries(self) -> int:
        """Bytes of Q, and of the output."""
        return self.heads * self.tokens * self.head_dim * self.element_bytes


class Link(NamedTuple):
    """What a GPU fetches through: B/s, and seconds that each step costs besides."""

    bandwidth: float
    step: float = 0.0


def pairs(rank: int, owner: int, gpus: int, tokens: int, causal: bool, order: Order) -> int:
    """How many pairs of a query of GPU ``rank`` and a key of GPU ``owner`` see each other.

    Both are counted from 0.
    """
    if not causal:
        return tokens**2
    if rank == owner:
        return tokens * (tokens + 1) // 2
    if order == "zigzag":
        return tokens**2 // 2
    return tokens**2 if owner < rank else 0


def pairs_of(rank: int, gpus: int, tokens: int, causal: bool, order: Order) -> int:
    """All pairs whose query lies on this GPU: what it has to compute."""
    return sum(pairs(rank, owner, gpus, tokens, causal, order) for owner in range(gpus))


def longest_over_mean(gpus: int, tokens: int, order: Order) -> float:
    """How many times its fair share the busiest GPU computes, causal; all wait for it."""
    each = [pairs_of(rank, gpus, tokens, True, order) for rank in range(gpus)]
    return max(each) * gpus / sum(each)


def sent_bytes(scheme: Scheme, gpus: int, part: Part, backward: bool = False) -> float:
    """Bytes that one GPU sends in a pass, and receives, where every query sees every key.

    Causal sends as much, but for a ring's gradients in zigzag order: they are three quarters.
    Backward alone is counted, not the forward pass before it.
    """
    others, kv = gpus - 1, part.keys_and_values
    if scheme == "ring":  # gradients go home in the dtype of K and V
        return others * kv * (2 if backward else 1)
    if scheme == "all_gather":  # gradients are summed in FP32
        return others * kv * (1 + 4 / part.element_bytes if backward else 1)
    return others / gpus * (2 * part.queries + kv)  # backward: dO one way, dQ, dK, dV the other


def parts_held(scheme: Scheme, gpus: int) -> int:
    """How many parts of K and V a GPU needs at once: its own, one in use, one that comes."""
    return {"ring": min(gpus, 3), "all_gather": gpus, "all_to_all": 1}[scheme]


def flops_of(pairs: int, part: Part, backward: bool = False) -> float:
    """FLOP of so many pairs in all heads, a multiply-add counted as two."""
    count = backward_flops if backward else attention_flops
    return pairs * count(1, part.head_dim, 2 * part.heads) / 2


def hidden_from(part: Part, speed: float, bandwidth: float, causal: bool = False) -> float:
    """From how many tokens a GPU on fetching another's K and V takes no longer than using them.

    speed: FLOP/s of the kernel   bandwidth: B/s
    """
    a_token = flops_of(1, part) / (2 if causal else 1)  # times tokens²
    return part.keys_and_values / part.tokens / bandwidth * speed / a_token


def ring_seconds(
    own: float, other: float, keys: list[float], gradients: list[float], step: float
) -> float:
    """The time of a ring in which one part is computed with while the next is on its way.

    own, other: seconds to compute with my own part, and with that of another
    keys: seconds to fetch the part of each step   gradients: to take home those of each step,
    none in a forward pass   step: seconds that each step costs besides
    The first fetch is hidden under my own part; a step's gradients go home under the next step,
    and the last ones under nothing.
    """
    if not keys:
        return own
    home = gradients or [0.0] * len(keys)
    time = max(own, keys[0])
    for i in range(len(keys)):
        coming = keys[i + 1] if i + 1 < len(keys) else 0.0
        time += max(other, coming + (home[i - 1] if i else 0.0)) + step
    return time + home[-1]


def predicted(
    gpus: int, part: Part, *, speed: float, link: Link, causal: bool, backward: bool = False,
    a_host: int | None = None, beyond: Link | None = None,
) -> float:  # fmt: skip
    """Seconds of one pass of a ring in zigzag order: predicted, not measured.

    speed: FLOP/s of the kernel on one block of that size, in that pass
    a_host: GPUs of one host, all if None; parts of those on other hosts come through ``beyond``
    """
    inside = gpus if a_host is None else min(gpus, a_host)
    links = [beyond] * (gpus - inside) + [link] * (inside - 1)
    mine, others = (
        pairs(0, owner, max(gpus, 2), part.tokens, causal, "zigzag") for owner in (0, 1)
    )
    own, other = (flops_of(each, part, backward) / speed for each in (mine, others))
    keys = [part.keys_and_values / each.bandwidth for each in links]
    home = [(0.75 if causal else 1) * each for each in keys] if backward else []
    step = sum(each.step for each in links) / max(len(links), 1)
    return ring_seconds(own, other, keys, home, step)


def ideal(
    gpus: int, part: Part, *, speed: float, causal: bool, backward: bool = False
) -> float:
    """Seconds if only arithmetic took time, and every GPU had its fair share of it."""
    each = pairs_of(0, gpus, part.tokens, causal, "zigzag")
    return flops_of(each, part, backward) / speed


def decode_bytes(heads: int, head_dim: int, queries: int = 1) -> int:
    """What a GPU sends of its share of a long cache: for each query an output and an lse, FP32.

    However long the cache is.
    """
    return queries * heads * (head_dim + 1) * 4
