"""A kernel line by line: the model beside the kernel's text, and beside what Triton's interpreter loads and stores."""

import inspect
import linecache
import random
import re
from itertools import count
from textwrap import dedent

import pytest
import torch
import triton
from triton.runtime.interpreter import InterpretedFunction

from kernels import reference
from kernels.first.one_head import one_head_kernel
from scripts.chapters.three_matmuls import worked
from tests.kernels.memory import accesses
from tests.site.live.harness import OracleCheck, per_case

SOURCE = re.sub(r"^ +# .*\n", "", inspect.getsource(one_head_kernel.fn), flags=re.MULTILINE)  # lines that do something
RIGHT, WRONG = "k + key_number * HEAD_DIM", "k + key_number"
FILES = (f"<one_head_kernel {number}>" for number in count())


@per_case
def source(wrong):
    """The lines below the docstring, in paragraphs."""
    body = dedent(kernel_source(wrong).split('"""\n')[-1]).strip()
    return [paragraph.split("\n") for paragraph in body.split("\n\n")]


def kernel_source(wrong: bool) -> str:
    assert SOURCE.count(RIGHT) == 1
    return SOURCE.replace(RIGHT, WRONG) if wrong else SOURCE


def interpreted_kernel(wrong: bool) -> InterpretedFunction:
    """The kernel, or the one with the mistake, for the interpreter alone; it wants lines that it can read again."""
    file, text = next(FILES), kernel_source(wrong).replace("@triton.jit\n", "")
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = dict(one_head_kernel.fn.__globals__)
    exec(compile(text, file, "exec"), names)
    return InterpretedFunction(names["one_head_kernel"])


KERNELS = {wrong: interpreted_kernel(wrong) for wrong in (False, True)}


@per_case
def memory_accesses(problem, wrong):
    """Each access of each program, in order: what is loaded or stored, where in which tensor, and what is there."""
    if not isinstance(one_head_kernel, InterpretedFunction):
        pytest.skip("the interpreter runs only where there is no GPU")
    q, k, v = tensors = [torch.tensor(problem[name], dtype=torch.float32) for name in "qkv"]
    out, (seq_k, head_dim) = torch.empty_like(q), k.shape
    launch = KERNELS[wrong][(len(q),)]
    with accesses() as recorded:
        launch(q, k, v, out, problem["scale"], seq_k, HEAD_DIM=head_dim, ROW=triton.next_power_of_2(seq_k))

    def describe(kind, addresses):
        for name, tensor in zip(("q", "k", "v", "out"), (*tensors, out), strict=True):
            places = [(int(address) - tensor.data_ptr()) // tensor.element_size() for address in addresses]
            if 0 <= min(places) <= max(places) < tensor.numel():
                assert (kind == "store") == (name == "out")
                return [name, places, tensor.flatten()[places]]
        raise AssertionError(f"a {kind} beside the tensors")

    return [describe(*access) for access in recorded]


@per_case
def clicks(wrong):
    """
    In program 0 a press for each line or later turn, with a wrong address two for such a turn of the keys; then one for
    each other program.  No line is left out.
    """
    return [[17 if wrong else 15, 1, 1], True]


@per_case
def loads(problem, wrong):
    """How many loads begin in each row of q, k and v once all programs are done: a block of the picture for each."""
    programs, keys, dim = len(problem["q"]), len(problem["k"]), len(problem["k"][0])
    begun = [turn * (1 if wrong else dim) // dim for turn in range(keys)]
    return [[1] * programs, [programs * begun.count(row) for row in range(keys)], [programs] * keys]


@per_case
def registers(problem, program):
    """The row of scores with its padding, its exponentials, its weights and the output, at the end of a program."""
    q, k, v = (torch.tensor(problem[name], dtype=torch.float64) for name in "qkv")
    scores = problem["scale"] * k @ q[program]
    padding = torch.zeros(triton.next_power_of_2(len(k)) - len(k))
    exponentials = (scores - scores.max()).exp()
    weights = torch.cat([torch.softmax(scores, 0), padding])
    out = reference.attention(q, k, v, scale=problem["scale"])[program]
    return [torch.cat([scores, padding - torch.inf]), torch.cat([exponentials, padding]), weights, out]


def problems() -> list[dict]:
    """Tables of whole numbers that FP32 holds; the three words of the boards first, and shapes that need no padding."""
    rng = random.Random(0)
    table = lambda rows, dim: [[rng.randint(-3, 3) for _ in range(dim)] for _ in range(rows)]
    shapes = [(1, 1, 1), (2, 1, 4), (1, 4, 2), (3, 8, 1), (2, 5, 4)]
    shapes += [(rng.randint(1, 4), rng.randint(1, 9), rng.choice([1, 2, 4, 8])) for _ in range(30)]
    random_problems = [
        {"q": table(queries, dim), "k": table(keys, dim), "v": table(keys, dim), "scale": rng.choice([0.5, 1.0, 2.0])}
        for queries, keys, dim in shapes
    ]
    return [{"q": worked.Q, "k": worked.K, "v": worked.V, "scale": 1.0}, *random_problems]


CHECKS = [
    OracleCheck("one_head: source", source, lambda: [[False], [True]], ("weights, 0.0))", "weights, 1.0))")),
    OracleCheck("one_head: words", per_case(lambda: problems()[0]), lambda: [[]], ("[0, 10], [5, 5]", "[0, 10], [5, 6]")),
    OracleCheck("one_head: clicks", clicks, lambda: [[False], [True]], ("(line === LINES.key && !wrong)", "line === LINES.key")),
    OracleCheck("one_head: touched", memory_accesses, lambda: [[problem, wrong] for problem in problems() for wrong in (False, True)],
        ("turn * (wrong ? 1 : dim) + c", "turn * dim + c"), rel_tol=1e-5, abs_tol=1e-5, other_mistakes=(("program * dim + c", "program + c"),)),
    OracleCheck("one_head: loads", loads, lambda: [[problem, wrong] for problem in problems() for wrong in (False, True)],
        ("Math.floor(touch.places[0] / dim) === row", "touch.places.some((i) => Math.floor(i / dim) === row)")),
    OracleCheck("one_head: registers", registers, lambda: [[problem, program] for problem in problems() for program in range(len(problem["q"]))],
        ("place.map(() => -Infinity)", "place.map(() => 0)"), rel_tol=1e-12, abs_tol=1e-12, other_mistakes=(
            ("(i === turn ? score : old)", "score"),
            ("(i === turn ? x : 0)", "x"),
            ("Math.exp(score - largest)", "Math.exp(score)"),
        )),
]  # fmt: skip
