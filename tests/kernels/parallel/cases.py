"""What each process runs for a test: attention over its part of a sequence, by one scheme or a wrong version of it."""

import torch
from torch import Tensor

from kernels.parallel import all_gather, local, ring_attention
from kernels.parallel.call import context_parallel_attention
from kernels.parallel.decode import context_parallel_decode
from kernels.parallel.exchange import Messages, PeerMemory
from kernels.parallel.order import VisibleBlock, shard, visible_block
from kernels.serving.cache import KVCache

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def attention(rank, ranks, group, q, k, v, dout, order, options, wrong=None):
    """The parts of the output and of the gradients of q, k and v that this process has, on the CPU."""
    with WRONG[wrong]() if wrong else nothing_wrong():
        own_parts = [shard(x.to(DEVICE), rank, ranks, order=order) for x in (q, k, v, dout)]
        return output_and_grads(group, *own_parts, order=order, **options)


def output_and_grads(group, q, k, v, dout, **options) -> list[Tensor]:
    """Output and gradients of one process, on the CPU."""
    inputs = [x.requires_grad_() for x in (q, k, v)]
    out = context_parallel_attention(*inputs, group=group, enable_gqa=True, **options)
    return [x.detach().cpu() for x in (out, *torch.autograd.grad(out, inputs, dout))]


def two_runs_agree(rank, ranks, group, *arguments) -> bool:
    """Whether two runs agree bit for bit, where torch is told to keep one order."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        return all(map(torch.equal, *(attention(rank, ranks, group, *arguments) for _ in range(2))))
    finally:
        torch.use_deterministic_algorithms(False)


def call(rank, ranks, group, shapes, **options):
    """A call with a shape of its own for each process: raises what the function does."""
    q, k, v = (torch.randn(shape, device=DEVICE) for shape in shapes[rank])
    return context_parallel_attention(q, k, v, group=group, **options).shape


def ready(rank, ranks, group):
    """Nothing: a process that answers has started."""


def fail_in(rank, ranks, group, failing, exchange, after, patience):
    """One process raises before it calls for the first time, or after so many calls."""
    PeerMemory.TIMEOUT = 1000 * patience
    q = torch.randn(1, 2, 4, 8, device=DEVICE)
    for call in range(1 + after):
        if rank == failing and call == after:
            raise ValueError("this process has failed")
        out = context_parallel_attention(q, q, q, group=group, exchange=exchange)
        out.sum().item()  # a GPU says what went wrong when it is waited for


def decode(rank, ranks, group, q, k, v, ends, scale):
    """The newest token's attention; process r holds the keys from ends[r] to ends[r + 1] of each sequence."""
    batch, heads, _, head_dim = k.shape
    table = torch.arange(batch * 4).view(batch, 4).to(torch.int32)
    cache = KVCache(table, format="fp16", page_size=16, kv_heads=heads, head_dim=head_dim, device=DEVICE)
    begin, end = ends[rank], ends[rank + 1]
    if end > begin:
        cache.append(k[:, :, begin:end].to(DEVICE), v[:, :, begin:end].to(DEVICE))
    return context_parallel_decode(q.to(DEVICE), cache, group=group, scale=scale).cpu()


# Wrong ways to do it, which the tests of right ones must reject.


class Wrong:
    """Puts other functions in the place of some of a module's, for as long as it lasts."""

    def __init__(self, *replaced: tuple[object, str, object]):
        self.replaced = replaced

    def __call__(self) -> "Wrong":
        return self

    def __enter__(self):
        self.right = [getattr(where, name) for where, name, _ in self.replaced]
        for where, name, other in self.replaced:
            setattr(where, name, other)

    def __exit__(self, *error):
        for (where, name, _), right in zip(self.replaced, self.right, strict=True):
            setattr(where, name, right)


nothing_wrong = Wrong()


def mean_of_parts(out, lse, part, part_lse, *, first):
    """Merges as if all parts weighed the same."""
    rows = slice(first, first + part.shape[2])
    out[:, :, rows] = (out[:, :, rows] + part) / 2


def skip_part(out, lse, part, part_lse, *, first):
    """Leaves a part out."""


def lse_not_merged(out, lse, part, part_lse, *, first):
    """Merges the output, and leaves the log-sum-exp of the first part, from which backward goes on."""
    right_merge(out, lse.clone(), part, part_lse, first=first)


def halves_swapped(rank, owner, ranks, tokens, *, is_causal, order):
    """Has the lower GPU's first chunk where its second is wanted."""
    rows, seen = visible_block(rank, owner, ranks, tokens, is_causal=is_causal, order=order)
    half = tokens // 2
    return VisibleBlock(rows, slice(half, tokens)) if seen == slice(0, half) else VisibleBlock(rows, seen)


def always_fetch_neighbour(self, a, b, **where):
    """Fetches the neighbour's keys in every step."""
    fetch = right_publish(self, a, b, **where)
    return lambda offset, shape: fetch(1 if offset > 0 else offset, shape)


def drop_incoming(incoming, dk, dv):
    """Never adds what other GPUs have found for these keys."""
    incoming[1].result()


def send_gradients_on(self, a, b, **where):
    """Sends gradients on instead of back."""
    fetch = right_publish(self, a, b, **where)
    return lambda offset, shape: fetch(abs(offset), shape)


def round_accumulator(x, parts):
    """Adds further parts to a sum that is rounded each time."""
    return x.bfloat16()


def gradients_from_own_lse(q, k, v, out, lse, dout, *, is_causal, scale):
    """Backward from the log-sum-exp of this part alone, as if there were no other keys."""
    out, lse = local.attend(q, k, v, is_causal=is_causal, scale=scale)
    return right_gradients(q, k, v, out, lse, dout, is_causal=is_causal, scale=scale)


def in_order_of_ranks(parts, *, order):
    """Takes zigzag parts for pieces of the sequence, one after the other."""
    return torch.cat(parts, -2)


right_merge, right_publish, right_gradients = ring_attention.merge_rows, Messages.publish, local.gradients
RIGHT_FOR_TWO = {"the neighbour's keys in every step", "gradients sent the wrong way", "merged in 16 bits"}
WRONG = {
    "mean of parts": Wrong((ring_attention, "merge_rows", mean_of_parts)),
    "a part forgotten": Wrong((ring_attention, "merge_rows", skip_part)),
    "lse not merged": Wrong((ring_attention, "merge_rows", lse_not_merged)),
    "halves swapped": Wrong((ring_attention, "visible_block", halves_swapped)),
    "the neighbour's keys in every step": Wrong((Messages, "publish", always_fetch_neighbour)),
    "gradients not sent home": Wrong((ring_attention, "accumulate", drop_incoming)),
    "gradients sent the wrong way": Wrong((Messages, "publish", send_gradients_on)),
    "merged in 16 bits": Wrong((ring_attention, "as_accumulator", round_accumulator)),
    "backward from a part's lse": Wrong((ring_attention, "gradients", gradients_from_own_lse)),
    "gathered in order of ranks": Wrong((all_gather, "unshard", in_order_of_ranks)),
}
