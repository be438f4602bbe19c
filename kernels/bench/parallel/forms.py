"""Compares forms of attention over one sequence on many GPUs with one GPU that has it all.

    FORMS             the forms of this library by name, and PyTorch's own context parallelism
    output_and_grads  what a form returns, and the gradients
    make_call         a pass of a form, as a function to time
    compare_with_single_gpu
                      the times of forms, compared with that of one GPU divided by the number
                      of GPUs

All are causal, on parts in zigzag order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor.experimental import context_parallel
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernels.bench.rounds import ratio, time_in_rounds
from kernels.parallel.all_to_all import LocalAttention
from kernels.parallel.call import context_parallel_attention

AttentionFn = Callable[[Tensor, Tensor, Tensor], Tensor]


def single_gpu(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Returns attention of the whole sequence on one GPU, by the same kernels."""
    return LocalAttention.apply(q, k, v, True, q.shape[-1] ** -0.5)


def pytorch(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Returns PyTorch's context parallelism by cuDNN; k and v have as many heads as q."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


_ours = partial(context_parallel_attention, is_causal=True, enable_gqa=True)
FORMS: dict[str, AttentionFn] = {
    "ring, peer memory": partial(_ours, scheme="ring", exchange="peer memory"),
    "ring, messages": partial(_ours, scheme="ring", exchange="messages"),
    "all-gather": partial(_ours, scheme="all_gather"),
    "all-to-all": partial(_ours, scheme="all_to_all"),
    "pytorch": pytorch,
}


def forms_on(device: torch.device) -> dict[str, AttentionFn]:
    """Returns the forms that run here: all on GPUs, and on a CPU those that need no GPU."""
    only_on_gpus = () if device.type == "cuda" else ("ring, peer memory", "pytorch")
    return {name: form for name, form in FORMS.items() if name not in only_on_gpus}


@contextmanager
def context_for(form: AttentionFn) -> Iterator[None]:
    """A context that PyTorch's form needs, forward and backward; for others it does nothing.

    In it, scaled_dot_product_attention treats its arguments as parts.
    """
    if form is not pytorch:
        yield
        return
    mesh = _mesh()
    buffers = [torch.zeros(1, 1, 2 * mesh.size(), 1, device="cuda")]  # something to deal out
    parallel = context_parallel(mesh, buffers=buffers, buffer_seq_dims=[2])
    with parallel, sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        yield


@cache
def _mesh():
    return dist.init_device_mesh("cuda", (dist.get_world_size(),))


def output_and_grads(
    form: AttentionFn, q: Tensor, k: Tensor, v: Tensor, dout: Tensor
) -> list[Tensor]:
    """Returns the output, and the gradients of q, k and v."""
    inputs = [x.detach().requires_grad_() for x in (q, k, v)]
    with context_for(form):
        out = form(*inputs)
        return [out.detach(), *torch.autograd.grad(out, inputs, dout)]


def make_call(
    form: AttentionFn, q: Tensor, k: Tensor, v: Tensor, dout: Tensor | None = None
) -> Callable[[], None]:
    """Returns a function that does a forward pass and, if dout is given, a backward pass."""
    q, k, v = (x.detach().requires_grad_(dout is not None) for x in (q, k, v))

    def run():
        with context_for(form):
            out = form(q, k, v)
            if dout is not None:
                torch.autograd.grad(out, (q, k, v), dout)

    return run


def compare_with_single_gpu(
    calls: dict[str, Callable[[], object]],
    single: Callable[[], object],
    *,
    count: int,
    repeat: int,
    parts: int = 1,
) -> dict[str, dict[str, float]]:
    """Returns for each form the median and the ideal in ms, and what percentage it reaches.

    The ideal is the time of ``single``, with the whole sequence on one GPU, divided by the
    number of GPUs, in the same rounds.  Low and high are the 95 % interval of the percentage.
    count: rounds   repeat: calls in one measurement
    parts: 1 if ``single`` does all the work; otherwise it does one of so many equal parts, such
    as some of the heads
    """
    times = time_in_rounds(calls | {"single": single}, count=count, calls=repeat)
    ideal = [x * parts / dist.get_world_size() for x in times.pop("single")]
    results = {}
    for name, samples in times.items():
        percent = [round(100 * x, 1) for x in ratio(ideal, samples)]
        results[name] = {"median": rounded_median(samples), "ideal": rounded_median(ideal)}
        results[name] |= dict(zip(("percent", "low", "high"), percent, strict=True))
    return results


def rounded_median(times: list[float]) -> float:
    """Returns the median, to four digits."""
    return float(f"{sorted(times)[len(times) // 2]:.4g}")
