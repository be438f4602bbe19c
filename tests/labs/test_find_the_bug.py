"""Each kernel with a bug has only that one: once its line is corrected, it's right on random input."""

import pytest
import torch

from scripts.labs.catalogue.find_the_bug.lab import BUGS
from scripts.labs.grading.judge import judge, judge_case, load_functions
from scripts.labs.lab import Case, Task, load, normal
from scripts.labs.message import format_verdict
from tests.labs.wrong_solutions import wrong_solution

CORRECTIONS = {
    "softmax": ("real, other=0.0)\n    powers", 'real, other=float("-inf"))\n    powers'),
    "sums": ("place < length // BLOCK * BLOCK", "place < length"),
    "dots": (
        "products = xs * ys",
        "products = xs.to(tl.float32) * ys",
    ),
    "rescaled": ("accumulator = accumulator + blend", "accumulator = accumulator * rescale[:, None] + blend"),
    "ragged": (
        "* 0.25\n        new_max",
        '* 0.25\n        scores = tl.where(key[None, :] < seq_k, scores, float("-inf"))\n        new_max',
    ),
    "causal": ("first_row + BLOCK_K, BLOCK_K", "first_row + BLOCK_Q, BLOCK_K"),
    "strided": ("v + key[:, None] * k_row_stride", "v + key[:, None] * v_row_stride"),
    "merged": ("    share_a", '    largest = tl.where(largest == float("-inf"), 0.0, largest)\n    share_a'),
}
SIZES = {"M": 3, "N": 37, "N_q": 21, "N_k": 37}


def inputs(bug, seed):
    shapes = ([SIZES.get(size, size) for size in shape] for shape in bug.shapes)
    return {
        name: (normal(10 * seed + i, *shape) - 100 * (bug.kernel == "softmax")).to(bug.dtype)
        for i, (name, shape) in enumerate(zip(bug.names, shapes, strict=True))
    }


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.kernel)
def test_a_kernel_is_right_once_its_line_is(bug, tmp_path):
    lab = load("find-the-bug")
    source, (old, new) = lab.info.start.read_text(), CORRECTIONS[bug.kernel]
    before, kernel = source.split(f"def {bug.kernel}_kernel(")
    assert kernel.count(old) >= 1
    corrected = before + f"def {bug.kernel}_kernel(" + kernel.replace(old, new, 1)
    if bug.kernel == "merged":
        corrected = corrected.replace(
            "/ (share_a + share_b)", "/ tl.where(share_a + share_b == 0, 1.0, share_a + share_b)"
        )
    file = tmp_path / "corrected.py"
    file.write_text(corrected)
    kernels = load_functions(file)
    layouts = {"v": "rows apart"} if bug.strided else {}
    for seed in (1, 2, 3):
        arguments = inputs(bug, seed)
        if bug.kernel == "merged":
            for name in ("lse_a", "lse_b"):
                arguments[name][0] = -torch.inf
            arguments["out_a"][0] = arguments["out_b"][0] = 0
        case = Case(f"seed {seed}", arguments, {"out": bug.output(arguments)}, layouts)
        judge_case(lab, Task(bug.kernel, bug.reference, tuple, roundings=16), case, kernels[bug.kernel], "", [])


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.kernel)
def test_a_wrong_kernel_passes_the_test_that_people_write_first(bug, device):
    kernel = load_functions(load("find-the-bug").info.start)[bug.kernel]
    names_and_shapes = zip(bug.names, bug.shapes, strict=True)
    arguments = {
        name: normal(i, *[16] * len(shape), dtype=bug.dtype) for i, (name, shape) in enumerate(names_and_shapes)
    }
    out = bug.output(arguments)
    on_device = [each.to(device) for each in (*arguments.values(), out)]
    kernel(*on_device)
    assert torch.allclose(on_device[-1].cpu(), bug.reference(**arguments), atol=1e-2)


@pytest.mark.parametrize(
    "wrong, expected",
    [
        ("sums_never_ends", "it did not end within 1 s"),
        ("dots_of_sixteen_at_random", "which a tolerance of 0.01 lets pass"),
        ("softmax_returns_nothing", "it returns nothing, and a tensor, x, is wanted."),
        ("rescaled_returns_two", "it returns 2 tensors, and 3 tensors, q, k and v, are wanted."),
        ("softmax_beyond", "x holds -100000, and 1000 is the most, with either sign."),
    ],
)
def test_each_function_is_told_whether_it_found_its_bug(wrong, expected, tmp_path):
    lab = load("find-the-bug")
    file = tmp_path / "wrong.py"
    file.write_text(wrong_solution("find-the-bug", wrong).source)
    message = format_verdict(lab, judge(lab, load_functions(file), str(file)))
    assert message.count(": found. ") == 7
    assert message.count(expected) == 1
