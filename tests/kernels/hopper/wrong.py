"""Hopper kernels that are wrong on purpose, each by one mistake that is easily made."""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import NamedTuple

from kernels.hopper import attention as forward_module
from kernels.hopper.plan import Plan
from tests.kernels.hopper.harness import OTHER_PLANS

# Wrong versions of the file, each by one mistake that is easily made.  None changes how often a barrier is waited for
# on one side alone: a kernel that hangs is rejected by nobody.


class Mistake(NamedTuple):
    """What stands in one file of kernels/hopper, what stands there instead, and where it shows."""

    right: str
    wrong: str
    is_causal: bool = False
    plan: Plan | None = None


FOLDER = Path(forward_module.__file__).parent
TEXTS = {path.name: path.read_text() for path in FOLDER.glob("*.py")}
BACKWARD_TEXTS = {
    f"backward/{path.name}": path.read_text() for path in FOLDER.glob("backward/*.py")
}  # which it imports
NO_MISTAKE = Mistake("", "")


MISTAKES = {
    "last block not masked": Mistake(
        "gl.full([WGMMA_M], seq_k - 1 - first_key,", "gl.full([WGMMA_M], seq_k + 127 - first_key,"
    ),
    "causal mask off by one": Mistake(
        "gl.arange(0, WGMMA_M, BY_ROW) + (first_query - first_key)",
        "gl.arange(0, WGMMA_M, BY_ROW) + (first_query - first_key + 1)",
        is_causal=True,
    ),
    "mask of a block that others see": Mistake(
        "seen, sizes, PLAN, CAUSAL\n            )",
        "blocks, sizes, PLAN, CAUSAL\n            )",
        is_causal=True,
        plan=OTHER_PLANS["few keys a tile"][1],
    ),
    "one block too many at the diagonal": Mistake(
        "gl.cdiv(first_query + WGMMA_M, BLOCK_K)",
        "gl.cdiv(first_query + 2 * WGMMA_M, BLOCK_K)",
        is_causal=True,
        plan=OTHER_PLANS["few keys a tile"][1],
    ),
    "blocks of keys at the diagonal left out": Mistake(
        "gl.minimum(sizes.seq_k, first_query + BLOCK_Q)",
        "gl.minimum(sizes.seq_k, first_query + 1)",
        is_causal=True,
        plan=OTHER_PLANS["few keys a tile"][1],
    ),
    "half of a block that a consumer sees whole": Mistake(
        "first_query + WGMMA_M - first_key <= HALF", "first_query + WGMMA_M - first_key <= PLAN.block_k", is_causal=True
    ),
    "weights for keys of which there are no scores": Mistake(
        "gl.join(weights, gl.zeros_like(weights))", "gl.join(weights, weights)", is_causal=True
    ),
    "accumulator not rescaled": Mistake("else accumulator * factor", "else accumulator * 1.0"),
    "sum not rescaled": Mistake("new_max, running_sum * rescale + gl.sum", "new_max, running_sum + gl.sum"),
    "maximum not kept": Mistake("return weights, new_max, running_sum", "return weights, running_max, running_sum"),
    "weights of the block before": Mistake(
        "weights = gl.convert_layout(new_weights.to(queries.dtype), weights.type.layout)", "pass"
    ),
    "every consumer has the first queries": Mistake("row = first_query + i * WGMMA_M", "row = first_query"),
    "heads grouped wrongly": Mistake("head // sizes.group", "head % (sizes.heads // sizes.group)"),
    "one block of a pair twice": Mistake(
        "gl.where(member == 0, blocks - 1 - work_item % pairs, work_item % pairs)", "work_item % pairs", is_causal=True
    ),
    "single blocks of the first heads": Mistake(
        "sizes.paired_heads + single_number % sizes.single_heads", "single_number % sizes.single_heads", is_causal=True
    ),
    "a round backwards one too far": Mistake("programs - 1 - 2 * gl", "programs - 2 * gl", is_causal=True),
    "last work item left out": Mistake("LOG2_E.value, slots, *counts", "LOG2_E.value, slots - 1, *counts"),
    "not scaled": Mistake("lse, scale * LOG2_E.value", "lse, LOG2_E.value"),
    "lse in units of log 2": Mistake("gl.log2(total)) * LN_2", "gl.log2(total))"),
}


def all_versions():
    return {"none": NO_MISTAKE, **MISTAKES}


def mutated_module(mistake, folder):
    """Copies kernels/hopper with this mistake into a folder of a new name; returns the copy's ``attention``."""
    assert any(mistake.right in text for text in TEXTS.values()), f"nothing to mistake: {mistake.right}"
    (folder / "backward").mkdir(parents=True)
    for name, text in (TEXTS | BACKWARD_TEXTS).items():
        text = text.replace("kernels.hopper", folder.name)
        text = text.replace("attention_handbook::", f"{folder.name}::")  # torch takes an operator's name once
        if name in TEXTS and mistake.right:
            text = text.replace(mistake.right, mistake.wrong)
        (folder / name).write_text(text)
    spec = spec_from_file_location(folder.name, folder / "__init__.py", submodule_search_locations=[str(folder)])
    sys.modules[folder.name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[folder.name])
    return import_module(f"{folder.name}.attention")
