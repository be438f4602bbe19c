"""Every GPU that the dispatcher sends to FlashAttention has the shared memory that its kernels ask for.

Kernels are compiled for each architecture, without a GPU, in a process of its own: in this one they're interpreted.
"""

import json
import os
import subprocess
import sys

import pytest
import torch
from triton import compile as compiled
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kernels.flash import tiles as module
from kernels.flash.tiles import tiles
from scripts.records import ROOT

KERNELS = ("forward", "dq", "dkdv")

# Bytes that a program may have, by compute capability (CUDA programming guide, table of compute capabilities).
SHARED = {80: 163 * 1024, 86: 99 * 1024, 89: 99 * 1024, 90: 227 * 1024, 100: 227 * 1024, 120: 99 * 1024}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("architecture", SHARED)
def test_heads_of_256_fit(architecture):
    """The largest heads, in 16 bits, forward and with a gradient: no others come near."""
    command = [sys.executable, "-m", "tests.kernels.test_architectures", str(architecture)]
    run = subprocess.run(command, cwd=ROOT, env=os.environ | {"TRITON_INTERPRET": "0"}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    wanted = json.loads(run.stdout)
    assert wanted.keys() == set(KERNELS) and max(wanted.values()) <= SHARED[architecture], wanted


@pytest.mark.parametrize("kernel", KERNELS)
def test_only_large_heads_on_a_small_gpu_have_other_tiles(kernel, monkeypatch):
    monkeypatch.setattr(module, "shared_memory", lambda: SHARED[90])
    fast = [tiles(kernel, head_dim, torch.bfloat16) for head_dim in (64, 128, 256)]
    for architecture, shared in SHARED.items():
        monkeypatch.setattr(module, "shared_memory", lambda shared=shared: shared)
        found = [tiles(kernel, head_dim, torch.bfloat16) for head_dim in (64, 128, 256)]
        small = architecture in (86, 89, 120) and kernel != "forward"
        assert found[:2] == fast[:2] and (found[2] != fast[2]) == small


def shared_memory(kernel: str, architecture: int, head_dim: int = 256) -> int:
    """Bytes that a program of a kernel asks for, in BF16 and without a mask: with one it's no more."""
    from kernels.flash import backward, forward

    function = getattr(forward if kernel == "forward" else backward, f"flash_{kernel}_kernel")
    tile = tiles(kernel, head_dim, torch.bfloat16)
    fixed = {"HEAD_DIM": head_dim, "CAUSAL": False, "PRECISION": "ieee", "key_lengths": None, "dlse": None}
    rows = dict.fromkeys(["q", "dout"], tile.block_q) | dict.fromkeys(["k", "v"], tile.block_k)
    rows |= {"out": tile.block_q} if kernel == "dq" else {}
    types = {name: f"tensordesc<bf16[1, 1, {count}, {head_dim}]>" for name, count in rows.items()}
    types = dict.fromkeys(["out", "dq", "dk", "dv"], "*bf16") | types
    types |= dict.fromkeys(["lse", "lse_log2", "delta"], "*fp32") | dict.fromkeys(["scale", "scale_log2"], "fp32")
    names = [parameter.name for parameter in function.params]
    source = ASTSource(
        fn=function,
        signature={name: "constexpr" if name in fixed else types.get(name, "i32") for name in names},
        constexprs={(names.index(name),): value for name, value in fixed.items() if name in names},
        attrs={(place,): [["tt.divisibility", 16]] for place, name in enumerate(names) if "*" in types.get(name, "")},
    )
    return compiled(source, target=GPUTarget("cuda", architecture, 32), options=tile.launch).metadata.shared


if __name__ == "__main__":
    asked = int(sys.argv[1])
    module.shared_memory = lambda: SHARED[asked]
    print(json.dumps({kernel: shared_memory(kernel, asked) for kernel in KERNELS}))
