"""Where the kernels for Hopper have their barriers: compiled without a GPU, but also without the interpreter."""

import re
from concurrent.futures import ThreadPoolExecutor

import torch  # noqa: F401  # before Triton
import triton
from triton.backends.compiler import GPUTarget
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

from kernels.hopper.backward.gradients import BLOCKS
from kernels.hopper.backward.head_dim_256 import hopper_dkdv_kernel
from kernels.hopper.backward.head_dim_256_dq import hopper_dq_kernel
from kernels.hopper.backward.kernel import hopper_backward_kernel
from kernels.hopper.kernel import hopper_kernel
from kernels.hopper.plan import PLANS

SUMS = f"tensordesc<fp32[16, 256],{gl.NVMMASharedLayout(0, 32, 2)!r}>"


def descriptor(shape, dtype="bf16"):
    layout = gl.NVMMASharedLayout.get_default_for(shape, {"bf16": gl.bfloat16, "fp32": gl.float32}[dtype])
    return f"tensordesc<{dtype}{list(shape)},{layout!r}>"


def tile(rows, columns):
    return descriptor([1, 1, rows, columns])


def forward(head_dim, causal):
    plan = PLANS[head_dim, causal]
    types = dict.fromkeys(["q", "out"], tile(64, head_dim)) | dict.fromkeys("kv", tile(plan.block_k, head_dim))
    fixed = {"PLAN": plan, "CAUSAL": causal, "PAIRED": plan.pair_blocks}
    return hopper_kernel, types | {"lse": "*fp32", "scale_log2": "fp32"}, fixed


def keys(head_dim, causal, *, deterministic=False, split=False):
    """A program owns keys."""
    block_q, _ = BLOCKS[head_dim]
    types = dict.fromkeys(["q", "dout"], tile(block_q, head_dim)) | dict.fromkeys("kv", tile(64, head_dim))
    types |= dict.fromkeys(["lse_log2", "delta"], descriptor([block_q], "fp32")) | {"dq": SUMS, "scale": "fp32"}
    types |= dict.fromkeys(["dk", "dv"], SUMS if split else tile(64, head_dim)) | {"dq_semaphores": "*i32"}
    fixed = {"REGISTERS": 240, "CAUSAL": causal, "SPLIT": split}
    if head_dim == 256:
        return hopper_dkdv_kernel, types, fixed
    return hopper_backward_kernel, types, fixed | ({} if deterministic else {"dq_semaphores": None})


def queries(causal):
    """A program owns queries."""
    types = dict.fromkeys(["q", "k", "v", "dout", "dq"], tile(64, 256)) | {"scale": "fp32"}
    types |= dict.fromkeys(["lse_log2", "delta"], "*fp32")
    return hopper_dq_kernel, types, {"REGISTERS": 240, "CAUSAL": causal}


def tiles_of_forward(head_dim, causal):
    """Bytes of all tiles of the forward pass."""
    plan = PLANS[head_dim, causal]
    return (plan.consumers * plan.q_stages * 64 + 2 * plan.stages * plan.block_k) * head_dim * 2


def name_of(head_dim, causal):
    return f"forward, {head_dim}{', causal' if causal else ''}"


def compiled(kernel, types, fixed, form="ptx"):
    names = [parameter.name for parameter in kernel.params]
    signature = {name: "constexpr" if name in fixed else types.get(name, "i32") for name in names}
    constants = {(names.index(name),): value for name, value in fixed.items()}
    source = GluonASTSource(fn=kernel, signature=signature, constexprs=constants)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4}).asm[form]


def barriers(ptx):
    """The offset in shared memory of each barrier that is initialised, in order."""
    bases = re.findall(r"mov\.b32\s+(%r\d+), global_smem;", ptx)
    offsets = dict.fromkeys(bases, 0)
    for result, base, offset in re.findall(r"add\.s32\s+(%r\d+), (%r\d+), (\d+);", ptx):
        if base in bases:
            offsets[result] = int(offset)
    return [offsets[x] for x in re.findall(r"mbarrier\.init\S+ \[(%r\d+)\]", ptx)]


def waits(ptx):
    """How many loads acquire, and how many of them a fence follows between threads and TMA."""
    loads = re.findall(r"ld\.acquire\S* %r\d+, \[%rd\d+\];(\s*fence\.proxy\.async\.global;)?", ptx)
    return len(loads), sum(map(bool, loads))


BACKWARD = 224 * 1024  # bytes of all tiles, at each head_dim


def every():
    """Of each kernel: its name, bytes of tiles, where barriers are, whether it asks for its place in the grid, and how
    many loads wait for others, without and with a fence for what TMA does next."""
    plans = {(head_dim, causal): forward(head_dim, causal) for head_dim, causal in PLANS}
    kernels = {name_of(*plan): (tiles_of_forward(*plan), kernel) for plan, kernel in plans.items()}
    kernels |= {
        "keys, 64": (BACKWARD, keys(64, False)),
        "keys, 64, deterministic": (BACKWARD, keys(64, True, deterministic=True)),
        "keys, 128": (BACKWARD, keys(128, False)),
        "keys, 128, deterministic": (BACKWARD, keys(128, True, deterministic=True)),
        "keys, 128, split": (BACKWARD, keys(128, True, split=True)),
        "keys, 256": (BACKWARD, keys(256, True)),
        "keys, 256, split": (BACKWARD, keys(256, False, split=True)),
        "queries, 256": (BACKWARD, queries(False)),
    }
    with ThreadPoolExecutor(2) as pool:
        codes = pool.map(lambda kernel: compiled(*kernel[1]), kernels.values())
    return [
        (name, tiles, barriers(ptx), "%ctaid" in ptx, waits(ptx))
        for (name, (tiles, _)), ptx in zip(kernels.items(), codes, strict=True)
    ]


if __name__ == "__main__":
    print(every())
