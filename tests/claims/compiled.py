"""What kernels of the library are compiled to, most for an H100: without a GPU, but also without the interpreter."""

import ast
import importlib
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import pytest
from filelock import FileLock

from scripts.records import ROOT
from tests.claims import banks

THREADS = 128
PRODUCTS = 32  # instructions for products in a step of the backward pass with heads of 64 or 128


@cache
def compiled(rung, seq_k, head_dim):
    """Triton's intermediate forms of ``kernels.first.<rung>``, in 16 bits, every key seen, all tensors contiguous."""
    import triton
    from triton.backends.compiler import GPUTarget

    module = importlib.import_module(f"kernels.first.{rung}")
    kernel = getattr(module, f"{rung}_kernel")
    sizes = {"ROW": seq_k} if rung == "one_key" else {"BLOCK_K": module.BLOCK_K, "LINES": seq_k // module.BLOCK_K}
    fixed = {"HEAD_DIM": head_dim, "PADDED_DIM": head_dim, "CAUSAL": False} | sizes
    types = dict.fromkeys("qkv", "*bf16") | {"out": "*bf16", "scale": "fp32"}
    names = [parameter.name for parameter in kernel.params]
    signature = {name: "constexpr" if name in fixed else types.get(name, "i32") for name in names}
    even = [name for name in names if signature[name] == "*bf16" or name.startswith("seq_")]
    source = triton.compiler.ASTSource(
        fn=kernel,
        signature=signature,
        constexprs={(names.index(name),): value for name, value in fixed.items()},
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in even},
    )
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": THREADS // 32}).asm


def widths_of_loads(rung, seq_k, head_dim):
    """Bytes a thread of each load of global memory, in the order of the code."""
    ptx = compiled(rung, seq_k, head_dim)["ptx"]
    return [int(times or 1) * int(bits) // 8 for times, bits in re.findall(r"ld\.global(?:\.v(\d))?\.b(\d+)", ptx)]


def layouts(rung, seq_k, head_dim):
    """How the compiler divides its tiles over the threads: the text of each layout."""
    return re.findall(r"#ttg\.blocked<\{(.*?), order", compiled(rung, seq_k, head_dim)["ttgir"])


def registers(rung, seq_k, head_dim):
    """Registers a thread, and bytes that it moves out to memory for want of more, as ptxas counts them."""
    from triton import knobs

    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(compiled(rung, seq_k, head_dim)["ptx"])
        file.flush()
        command = [knobs.nvidia.ptxas.path, "--verbose", "--gpu-name=sm_90a", file.name, "--output-file", os.devnull]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    (used,) = re.findall(r"Used (\d+) registers", said)
    return int(used), sum(map(int, re.findall(r"(\d+) bytes spill", said)))


@cache
def turns(rung, seq_k, head_dim):
    """The machine code of a turn of each loop, that of the keys and that of the values."""
    from triton import knobs

    with tempfile.NamedTemporaryFile("wb", suffix=".cubin") as file:
        file.write(compiled(rung, seq_k, head_dim)["cubin"])
        file.flush()
        command = [knobs.nvidia.nvdisasm.path, "--print-code", file.name]
        listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    bodies = loops(listing, r"\.L_\w+", r"BRA `\({}\)")
    return [body for body in bodies if body.count(";") > 1]  # behind its end a kernel has a branch to itself


def instructions(rung, seq_k, head_dim):
    """Machine instructions of a thread in a turn of each loop, that of the keys and that of the values."""
    return [body.count(";") for body in turns(rung, seq_k, head_dim)]


def of_the_unit(rung, seq_k, head_dim):
    """What a turn of both loops asks of the unit for loads, stores, shared memory and shuffles.

    Its instructions for a warp, and, for all warps of a program, the clocks of its shuffles and of its loads of global
    memory, of which it serves 128 bytes in each.
    """
    code = "".join(turns(rung, seq_k, head_dim))
    wide = [int(bits or 32) for bits in re.findall(r"\bLDG\.E(?:\.[US]?(\d+))?[. ]", code)]
    assert len(wide) == len(re.findall(r"\bLDG\b", code)), "a load was not understood"
    shuffles, stored = len(re.findall(r"\bSHFL\b", code)), len(re.findall(r"\b(?:LDS|STS)\b", code))
    warps = THREADS // 32
    return shuffles + stored + len(wide), warps * shuffles, warps * sum(max(1, bits // 32) for bits in wide)


def named(rung, seq_k, head_dim):
    """name -> how many instructions of that name, such as BAR, a thread has in a turn of both loops."""
    code = "".join(turns(rung, seq_k, head_dim))
    names = re.findall(r"\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w*)", code)
    assert len(names) == code.count(";"), "an instruction was not understood"
    return dict(Counter(names))


def across_halves(rung, seq_k, head_dim):
    """In a turn of the loop over values: shuffles by half a warp, and stores to shared memory by some threads alone."""
    *_, values = turns(rung, seq_k, head_dim)
    return len(re.findall(r"\bSHFL\.BFLY\b[^;]*, 0x10, 0x1f", values)), len(re.findall(r"@!?P\d+ STS\b", values))


def accesses(rung, seq_k, head_dim):
    """Clocks for which a program keeps shared memory busy with each access of a turn, those of each loop."""
    ptx = compiled(rung, seq_k, head_dim)["ptx"]
    defined = banks.definitions(ptx)
    return [banks.clocks_of(body, defined, THREADS) for body in loops(ptx, r"\$L__BB\w+", r"bra\s+{};")]


def loops(code, label, back):
    """The text of each loop: from a label to the branch that leads back to it."""
    for place in re.finditer(rf"^({label}):", code, re.MULTILINE):
        end = re.search(rf"^.*{back.format(re.escape(place[1]))}.*$", code[place.end() :], re.MULTILINE)
        if end:
            yield code[place.end() :][: end.end()]


def first_rungs():
    """What the claims about the first two rungs need, each compiled once: registers, widths of loads, layouts."""
    rows = [("one_key", length, 64) for length in (512, 2048, 4096, 8192)] + [("one_key", 16384, 128)]
    rows += [("key_blocks", length, 64) for length in (4096, 8192, 16384)] + [("key_blocks", 16384, 128)]
    settings = [(rung, 512, head_dim) for rung in ("one_key", "key_blocks") for head_dim in (64, 128, 256)]
    settings += [("one_key", 256, 64)]
    return {
        "registers": {row: registers(*row) for row in rows},
        "widths": {rung: widths_of_loads(rung, 512, 128) for rung in ("one_key", "key_blocks")},
        "layouts": layouts("key_blocks", 512, 128),
        "instructions": {row: instructions(*row) for row in settings},
        "of the unit": {row: of_the_unit(*row) for row in settings},
        "shared memory": {row: accesses(*row) for row in settings},
        "named": {row: named(*row) for row in settings},
        "across halves": across_halves("key_blocks", 512, 128),
    }


@cache
def rungs():
    """``first_rungs()``, from a process in which Triton compiles."""
    return ast.literal_eval(elsewhere("first_rungs()"))


@cache
def hopper_code(head_dim, causal, queries=16384, softmax_first=False):
    """The machine code of ``hopper_kernel``, or of that in which softmax comes before the second wait, and its plan."""
    import torch
    import triton
    from triton import knobs
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon._runtime import GluonASTSource

    from kernels.bench.softmax_first import softmax_first_kernel
    from kernels.hopper.kernel import hopper_kernel
    from kernels.hopper.plan import padded, plan_for
    from kernels.hopper.ring import ROWS
    from kernels.hopper.tensors import layout_of

    plan, columns = plan_for(head_dim, causal, queries), padded(head_dim)
    tile = {
        rows: f"tensordesc<bf16[1, 1, {rows}, {columns}],{layout_of(rows, columns, torch.bfloat16)!r}>"
        for rows in (ROWS.value, plan.block_k)
    }
    types = dict.fromkeys(["q", "out"], tile[ROWS.value]) | dict.fromkeys("kv", tile[plan.block_k])
    types |= {"scale_log2": "fp32"}
    fixed = {"lse": None, "CONSUMERS": plan.consumers, "Q_STAGES": plan.q_stages, "STAGES": plan.stages}
    kernel = softmax_first_kernel() if softmax_first else hopper_kernel
    fixed |= {"REGISTERS": plan.registers, "CAUSAL": causal, "PAIRED": causal, "OVERLAP": True, "TURNS": plan.turns}
    fixed |= {"LAZY": plan.lazy, "HELD": plan.held, "LATE": plan.late, "HALVED": plan.halved}
    names = [parameter.name for parameter in kernel.params]
    source = GluonASTSource(
        fn=kernel,
        signature={name: "constexpr" if name in fixed else types.get(name, "i32") for name in names},
        constexprs={(names.index(name),): value for name, value in fixed.items()},
        attrs={},
    )
    asm = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4}).asm
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(asm["cubin"])
        file.flush()
        command = [knobs.nvidia.nvdisasm.path, "--print-code", file.name]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout, plan


def hopper_loop(head_dim, causal):
    """Of each consumer's loop over keys: how many instructions, and how many of them take an exponential."""
    code, plan = hopper_code(head_dim, causal)
    found = [(body.count(";"), body.count("MUFU.EX2")) for body in loops(code, r"\.L_\w+", r"BRA `\({}\)")]
    found = [each for each in found if each[1]]
    return sorted(found)[: plan.consumers]  # the others have such a loop in them


def hopper_step(head_dim, causal, queries=16384, softmax_first=False):
    """Of each consumer's loop over keys in ``hopper_kernel``: instructions between its two waits, and after the second.

    A pair of pairs for each consumer: how many find a maximum, how many take an exponential.
    """
    code, plan = hopper_code(head_dim, causal, queries, softmax_first)
    _, *waits = re.split(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x", code)  # each begins with how many products may go on
    counts = []
    for first, second in pairwise(waits):
        if first[0] == "1":
            rest = re.split(r"^\.L_|HGMMA", second, maxsplit=1, flags=re.MULTILINE)[0]
            counts.append(tuple((part.count("FMNMX"), part.count("MUFU.EX2")) for part in (first, rest)))
    assert len(counts) == plan.consumers
    return counts


def portable_code(kernel, head_dim, architecture):
    """What a kernel of ``kernels.flash``, *forward* or *dkdv*, becomes in BF16 for an architecture, such as 80."""
    import torch
    import triton
    from triton.backends.compiler import GPUTarget

    from kernels.flash.backward import flash_dkdv_kernel
    from kernels.flash.forward import flash_forward_kernel
    from kernels.flash.tiles import tiles

    function = {"forward": flash_forward_kernel, "dkdv": flash_dkdv_kernel}[kernel]
    tile = tiles(kernel, head_dim, torch.bfloat16)
    fixed = {"key_lengths": None, "HEAD_DIM": head_dim, "CAUSAL": False, "PRECISION": "ieee"}
    rows = {"q": tile.block_q, "dout": tile.block_q, "k": tile.block_k, "v": tile.block_k}
    types = {name: f"tensordesc<bf16[1, 1, {many}, {head_dim}]>" for name, many in rows.items()}
    types |= dict.fromkeys(["out", "dk", "dv"], "*bf16") | dict.fromkeys(["lse", "shift", "delta"], "*fp32")
    types |= dict.fromkeys(["scale", "scale_log2"], "fp32")
    names = [parameter.name for parameter in function.params]
    source = triton.compiler.ASTSource(
        fn=function,
        signature={name: "constexpr" if name in fixed else types.get(name, "i32") for name in names},
        constexprs={(names.index(name),): value for name, value in fixed.items()},
        attrs={
            (place,): [["tt.divisibility", 16]] for place, name in enumerate(names) if types.get(name, "")[:1] == "*"
        },
    )
    options = {name: value for name, value in tile.launch.items() if value is not None}
    return triton.compile(source, target=GPUTarget("cuda", architecture, 32), options=options)


def portable(kernel, head_dim, architecture):
    """What a kernel of ``kernels.flash`` is compiled to: see portable_code.

    Bytes that a thread spills and of shared memory that a program wants, and which instructions multiply.
    """
    from triton import knobs

    made = portable_code(kernel, head_dim, architecture)
    ptxas = knobs.nvidia.ptxas if architecture < 100 else knobs.nvidia.ptxas_blackwell
    (target,) = re.findall(r"^\.target (\w+)", made.asm["ptx"], re.MULTILINE)
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(made.asm["ptx"])
        file.flush()
        command = [ptxas.path, "--verbose", f"--gpu-name={target}", file.name, "--output-file", os.devnull]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return {
        "spilled": int(re.findall(r"(\d+) bytes spill stores", said)[0]),
        "shared": made.metadata.shared,
        "multiply": {name for name in ("mma.sync", "wgmma", "tcgen05.mma") if name in made.asm["ptx"]},
    }


def exponents(head_dim):
    """Which instructions of ``flash_forward_kernel``, for Hopper, make what exp2 is taken of, and how many of each."""
    ptx = portable_code("forward", head_dim, 90).asm["ptx"]
    made_by = {name: instruction for instruction, name in re.findall(r"^\s*(\S+)\s+(%\w+),", ptx, re.MULTILINE)}
    found = [made_by[name] for name in re.findall(r"ex2\.approx\S*\s+%\w+, (%\w+)", ptx)]
    return {instruction: found.count(instruction) for instruction in set(found)}


def widths_on_an_a100():
    """Bits of each load of global memory in ``flash_forward_kernel`` for an A100, d = 128, without repetition."""
    ptx = portable_code("forward", 128, 80).asm["ptx"]
    loads = re.findall(r"(ld\.global|cp\.async)(?:\.\w+)*?(?:\.v(\d))?\.b(\d+)", ptx)
    assert len(loads) == len(re.findall(r"ld\.global|cp\.async", ptx)), "a load was not understood"
    return {int(times or 1) * int(bits) for _, times, bits in loads}


def decode_instructions(format):
    """How often some instructions are in ``kernels.decode`` for a cache in this format, heads of 128, and its lines."""
    import triton
    from triton.backends.compiler import GPUTarget

    from kernels.serving.decode import BLOCK_K, ROWS
    from kernels.serving.decode_kernel import decode_kernel

    names = [parameter.name for parameter in decode_kernel.params]
    fixed = {"HEAD_DIM": 128, "PADDED_DIM": 128, "PAGE_SIZE": 128, "FORMAT": format, "ROWS": ROWS, "BLOCK_K": BLOCK_K}
    fixed["BATCH"] = 16
    if format != "nvfp4":
        fixed |= {"key_block_scales": None, "value_block_scales": None}
    types = dict.fromkeys(["keys", "values"], "*bf16" if format == "bf16" else "*u8")
    types |= dict.fromkeys(["key_block_scales", "value_block_scales"], "*u8") | {"q": "*bf16", "out": "*bf16"}
    types |= dict.fromkeys(["page_table", "lengths"], "*i32") | dict.fromkeys(["lse", "part_out", "part_lse"], "*fp32")
    types |= {"score_scale": "fp32", "value_scale": "fp32"}
    signature = {name: "constexpr" if name in fixed else types.get(name, "i32") for name in names}
    even = [name for name, kind in signature.items() if kind.startswith("*")]
    source = triton.compiler.ASTSource(
        fn=decode_kernel,
        signature=signature,
        constexprs={(names.index(name),): value for name, value in fixed.items()},
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in even},
    )
    options = {"num_warps": 4, "num_stages": 2}  # as decode_parts launches it
    asm = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm
    wanted = {
        "multiply": r"mma\.sync",
        "byte": r"ld\.shared\.b8",
        "transposed": r"ldmatrix\S*trans",
        "lines": r"^\s+[a-z]",
    }
    counts = {name: len(re.findall(pattern, asm["ptx"], re.MULTILINE)) for name, pattern in wanted.items()}
    widened = r"local_alloc %\w+ : \(tensor<(?:64x128|128x64)xf16"  # a whole tile, from registers
    return counts | {"rewritten": len(re.findall(widened, asm["ttgir"]))}


def backward_step(head_dim, kept):
    """Of each consumer's loop in ``hopper_backward_kernel``, full: addresses from local memory, and from its registers.

    How many times a step reads a number back from local memory, and how many it hands from the registers of a thread to
    those that a warp shares.   kept: with addresses of tiles that the compiler may compute before the loop
    """
    from triton import knobs
    from triton.experimental import gluon

    from kernels.bench.softmax_first import other_kernel
    from kernels.hopper.backward import kernel as room
    from tests.kernels.hopper import barriers

    @gluon.jit
    def unpinned(number):
        return number

    kernel, types, fixed = barriers.keys(head_dim, False)
    if kept:
        own_tile = other_kernel(room.own_tile, pinned=unpinned)
        start = other_kernel(room.start_dqueries, own_tile=own_tile)
        kernel = other_kernel(kernel, consume=other_kernel(room.consume, own_tile=own_tile, start_dqueries=start))
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(barriers.compiled(kernel, types, fixed, "cubin"))
        file.flush()
        command = [knobs.nvidia.nvdisasm.path, "--print-code", file.name]
        code = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    steps = sorted(
        (body for body in loops(code, r"\.L_\w+", r"BRA `\({}\)") if body.count("HGMMA") == PRODUCTS), key=len
    )
    return [(len(re.findall(r"\bLDL\b", body)), body.count("R2UR")) for body in steps[:2]]  # others have these in them


def elsewhere(call):
    """The value of one of these functions' calls, as text: in a process in which Triton compiles.

    It is kept in build/ until a kernel, this file or Triton changes, since claims and attacks on them ask again.
    """
    pytest.importorskip("triton.backends.nvidia")
    sources = [*ROOT.glob("kernels/**/*.py"), Path(__file__), Path(banks.__file__)]
    asked = [call, version("triton"), *(path.read_text() for path in sorted(sources))]
    kept = ROOT / "build" / "compiled" / sha256("\0".join(asked).encode()).hexdigest()
    kept.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{kept}.lock"):
        if not kept.exists():
            beside = kept.with_suffix(".new")  # or a run that is stopped would leave half of it
            beside.write_text(compiled_elsewhere(call))
            beside.replace(kept)
    return kept.read_text()


def compiled_elsewhere(call):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    code = f"from tests.claims.{Path(__file__).stem} import *; print({call})"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()
