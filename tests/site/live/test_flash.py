"""The model visits the tiles of kernels.flash, computes kernels.reference; the piece shows both."""

import ast
import inspect
import random
import textwrap
from functools import cache
from types import SimpleNamespace

import pytest
import torch

from kernels.flash.backward import flash_dkdv_kernel, flash_dq_kernel
from kernels.flash.forward import flash_forward_kernel
from kernels.reference import attention

MODEL = "flash.model.js"
KERNELS = {"forward": flash_forward_kernel, "dq": flash_dq_kernel, "dkdv": flash_dkdv_kernel}
BOUNDS = {"query_blocks", "first_query", "first_key", "start", "stop", "whole"}
SCALE = 2**-0.5


def loops_of(kernel, wrong=("", "")):
    """The kernel's own lines that say which tiles a program visits, compiled: they fill ``visited``."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kernel.fn).replace(*wrong))).body[0].body
    assigned = lambda line: {x.id for x in getattr(line, "targets", []) if isinstance(x, ast.Name)}  # noqa: E731
    lines = [line for line in body if assigned(line) & BOUNDS]
    loops = [line for top in body for line in ast.walk(top) if isinstance(line, ast.For)]
    (passes,) = [loop for loop in loops if "static_range" in ast.unparse(loop.iter)]
    visit = f"visited.append(({passes.body[0].target.id}, {passes.target.id}))"
    passes.body[0].body = ast.parse(visit).body
    return compile(ast.Module([*lines, passes], []), kernel.fn.__name__, "exec")


def tiles_of(code, name, queries, keys, block_q, block_k, causal):
    """What the kernel's programs visit, in the order in which they are launched."""
    cdiv = lambda n, block: -(-n // block)  # noqa: E731
    programs = []
    for rank in range(cdiv(keys, block_k) if name == "dkdv" else cdiv(queries, block_q)):
        names = {
            "tl": SimpleNamespace(minimum=min, cdiv=cdiv, static_range=range),
            "rank": rank, "seq_q": queries, "seq_k": keys, "length": keys, "padded_q": cdiv(queries, block_q) * block_q,
            "BLOCK_Q": block_q, "BLOCK_K": block_k, "CAUSAL": causal, "visited": [],
        }  # fmt: skip
        exec(code, names)
        masked = (lambda last: not last) if name == "dkdv" else bool
        tiles = [{"first": first, "masked": masked(which)} for first, which in names["visited"]]
        programs.append({"first": names["first_key" if name == "dkdv" else "first_query"], "tiles": tiles})
    return programs


@cache
def settings():
    """3,400 for each of three passes: queries, keys, the sizes of their blocks, and whether causal."""
    drawn = random.Random(0)
    sizes = lambda *most: [drawn.randint(1, each) for each in most]  # noqa: E731
    return [(*sizes(12, 12, 5, 5), drawn.random() < 0.5) for _ in range(3_400)]


def tiles_of_model(pieces, name):
    row = [[0, 0]]
    rows = [
        [name, {"q": row * queries, "k": row * keys, "blockQ": block_q, "blockK": block_k, "causal": causal}]
        for queries, keys, block_q, block_k, causal in settings()
    ]
    return pieces.calls(MODEL, "programs", rows)


@pytest.mark.parametrize("name", KERNELS)
def test_the_tiles_are_those_of_the_kernel_in_its_order(pieces, name):
    code = loops_of(KERNELS[name])
    assert tiles_of_model(pieces, name) == [tiles_of(code, name, *setting) for setting in settings()]


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("forward", ("first_query + 1)", "first_query + BLOCK_Q)")),  # the diagonal without a mask
        ("dq", ("tl.minimum(seq_k, first_query + BLOCK_Q)", "tl.minimum(seq_k, first_query)")),  # the diagonal skipped
        ("dkdv", ("first_key + BLOCK_K - 1", "first_key + BLOCK_K")),  # one block more masked
    ],
)
def test_a_kernel_with_other_bounds_visits_others(pieces, name, wrong):
    code = loops_of(KERNELS[name], wrong)
    assert tiles_of_model(pieces, name) != [tiles_of(code, name, *setting) for setting in settings()]


def test_causal_40_blocks_are_820_tiles(pieces):
    row = [[0, 0]] * 80
    problem = {"q": row, "k": row, "blockQ": 2, "blockK": 2, "causal": True}
    (programs,) = pieces.calls(MODEL, "programs", [["forward", problem]])
    tiles = [tile for program in programs for tile in program["tiles"]]
    assert len(tiles) == 820 and sum(tile["masked"] for tile in tiles) == 40


def problems(count: int):
    """Random problems, a batch of one shape each, 50 shapes: the batch's tensors, and what cuts it."""
    torch.manual_seed(0)
    drawn = random.Random(1)
    small = [[drawn.randint(1, most) for most in (4, 4, 3, 3)] for _ in range(50)]
    for index, (queries, keys, block_q, block_k) in enumerate(small):
        causal = index % 2 == 0
        shapes = [(count, queries, 2), (count, keys, 2), (count, keys, 2), (count, queries, 2)]
        q, k, v, dout = (torch.randn(shape, dtype=torch.float64) * 10 ** (index % 3 - 1) for shape in shapes)
        yield (q, k, v, dout), {"blockQ": block_q, "blockK": block_k, "causal": causal, "scale": SCALE}


def as_rows(tensors, cut):
    return [
        dict(zip(("q", "k", "v", "dout"), each, strict=True), **cut)
        for each in zip(*(x.tolist() for x in tensors), strict=True)
    ]


def outputs(pieces, rows):
    states = pieces.calls(MODEL, "forward", [[row, 99] for row in rows])
    blends = [[[x / state["sum"] for x in state["blend"]] for state in each] for each in states]
    return torch.tensor(blends, dtype=torch.float64)


def test_the_output_is_the_reference(pieces):
    for tensors, cut in problems(200):
        expected = attention(*tensors[:3], is_causal=cut["causal"])
        torch.testing.assert_close(outputs(pieces, as_rows(tensors, cut)), expected, rtol=1e-6, atol=1e-12)


def test_the_gradients_are_the_reference(pieces):
    """5,000 problems, each in both passes."""
    for tensors, cut in problems(100):
        *inputs, dout = tensors
        for x in inputs:
            x.requires_grad_()
        expected = torch.autograd.grad(attention(*inputs, is_causal=cut["causal"]), inputs, dout)
        rows = as_rows([x.detach() for x in tensors], cut)
        sums = {name: pieces.calls(MODEL, "backward", [[name, row, 99] for row in rows]) for name in ("dq", "dkdv")}
        for (owner, name, scale), gradient in zip(
            [("dq", "dq", SCALE), ("dkdv", "dk", SCALE), ("dkdv", "dv", 1)], expected, strict=True
        ):
            found = scale * torch.tensor([each[name] for each in sums[owner]], dtype=torch.float64)
            torch.testing.assert_close(found, gradient, rtol=1e-6, atol=1e-9 * float(gradient.abs().max()))


def test_a_model_that_forgets_the_mask_is_not(pieces):
    for queries, keys, causal in [(3, 3, True), (3, 3, False)]:  # the future; zeros beyond the end
        tensors = tuple(
            torch.ones(1, n, 2, dtype=torch.float64) * (1 + torch.arange(n)[:, None])
            for n in (queries, keys, keys, queries)
        )
        cut = {"blockQ": 2, "blockK": 2, "causal": causal, "scale": SCALE}
        right, wrong = (outputs(pieces, as_rows(tensors, cut | {"forget": forget})) for forget in (False, True))
        expected = attention(*tensors[:3], is_causal=causal)
        torch.testing.assert_close(right, expected, rtol=1e-6, atol=0)
        assert not torch.allclose(wrong, expected, rtol=1e-6)


def test_a_large_grid_is_drawn_without_scripts_too(pieces):
    row = ", ".join(["1 0"] * 12)
    still = pieces.still(
        "flash", {**dict.fromkeys(("queries", "keys", "values", "douts"), row), "blockQ": "1", "blockK": "1"}
    )
    assert still.count(" dashes") == 66


def test_the_reader_steps_to_the_outputs_worked_by_hand(open_piece):
    piece = open_piece("flash")
    outputs = lambda: piece.locator("tbody tr td:nth-of-type(4)").all_inner_texts()  # noqa: E731
    piece.get_by_role("button", name="Step", exact=True).press("Enter")
    assert outputs() == ["[10, 0]", "[5, 5]", "[4, 6]"]
    piece.get_by_label("causal").click()
    for _ in range(2):
        piece.get_by_role("button", name="Step", exact=True).click()
    assert outputs() == ["[6, 4]", "[5, 5]", "[4, 6]"]
    piece.get_by_label("Pass").select_option("dkdv")
    for _ in range(2):
        piece.get_by_role("button", name="Step", exact=True).click()
    assert piece.locator("tbody tr td:nth-of-type(1)").all_inner_texts() == ["[0.6, 0.45]", "[0.6, 0.65]", "[0.8, 0.9]"]
    piece.get_by_label("Words").press("ArrowRight")
    assert piece.locator("tbody tr").count() == 4
    piece.get_by_label("Values").fill("1 2, 3")
    assert "each row has two" in piece.get_by_role("alert").inner_text()


def test_a_reader_types_four_words_of_his_own(open_piece):
    """Forward there is no field for dO, so nothing is asked of it; backward it has a row for each word."""
    piece = open_piece("flash")
    for field in ("Queries", "Keys", "Values"):
        piece.get_by_label(field, exact=True).fill("1 0, 0 1, 1 1, 2 0")
    assert piece.get_by_role("alert").all_inner_texts() in ([], [""])
    assert piece.locator("tbody tr").count() == 4
    piece.get_by_label("Pass").select_option("dq")
    assert piece.get_by_label("dO", exact=True).input_value().startswith("1 0, 0 1, 1 1, ")
    assert piece.locator("tbody tr").count() == 4
    piece.get_by_label("dO", exact=True).fill("1 0, 0 1")
    assert "dO: 2 rows for 4 queries" in piece.get_by_role("alert").inner_text()
