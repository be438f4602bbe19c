"""Memory, tiles and barriers: the models beside PyTorch's tensors, and the kernels' own lines."""

import ast
import random

import torch

from scripts.records import ROOT
from tests.site.live.harness import OracleCheck, per_case

MANY = 2000
CUTS = [[size, edge] for size in range(1, 25) for edge in range(1, size + 1)]


@per_case
def tiled_product(size, edge):
    """A product by slices: what it fetches, and that the tiles make all of it."""
    first, second = torch.randint(9, (2, size, size))
    product, numbers = torch.zeros(size, size, dtype=torch.int64), 0
    for top in range(0, size, edge):
        for left in range(0, size, edge):
            rows, columns = first[top : top + edge], second[:, left : left + edge]
            product[top : top + edge, left : left + edge] = rows @ columns
            numbers += rows.numel() + columns.numel()
    times = [-(-size // edge)] * size  # of each row and each column
    return [numbers, numbers, times, times, torch.equal(product, first @ second), 2 * size**3 / (2 * numbers)]


def tensors() -> list:
    """The shape and strides of a tensor, its axes in any order, perhaps not all of it; and a shape to view it in."""
    rng = random.Random(0)

    def tensor() -> torch.Tensor:
        shape = [rng.choice([1, 2, 2, 3, 4, 6]) for _ in range(rng.randint(1, 3))]
        whole = torch.arange(torch.Size(shape).numel()).view(shape)
        permuted = whole.permute(rng.sample(range(len(shape)), len(shape)))
        return permuted[..., : rng.randint(1, permuted.shape[-1])] if rng.random() < 0.3 else permuted

    def shape_of(size: int) -> list[int]:
        shape = []
        while size > 1 and len(shape) < 3:
            shape.append(rng.choice([divisor for divisor in range(1, size + 1) if size % divisor == 0]))
            size //= shape[-1]
        return [*shape, size]

    cases = [(one, shape_of(one.numel())) for one in (tensor() for _ in range(MANY))]
    cases.append((torch.arange(12).view(2, 3, 2).transpose(0, 1), [3, 4]))
    return [[list(one.shape), list(one.stride()), view] for one, view in cases]


@per_case
def view_strides(shape, strides, view):
    """A view exists just where PyTorch's doesn't raise; where it does, a line along some axis has unequal steps."""
    tensor = torch.arange(10_000).as_strided(shape, strides)
    try:
        result = tensor.view(view)
        return [
            tensor.flatten(),
            [step if size > 1 else 0 for step, size in zip(result.stride(), view, strict=True)],
            False,
        ]
    except RuntimeError:
        return [tensor.flatten(), None, True]


@per_case
def contiguous_and_swapped(shape, *_):
    whole = torch.arange(torch.Size(shape).numel()).view(shape)
    swapped = whole.transpose(0, -1)
    in_order = swapped.flatten().tolist() == [*range(whole.numel())]
    return [list(whole.stride()), list(swapped.stride()), in_order, whole.select(-1, shape[-1] - 1).flatten()]


def setting(stages=2, consumers=2, copy=0, product=512, softmax=512, bug="none") -> dict:
    return locals() | {"blocks": 6}


def bit(side: str, function: str):
    """The bit that a function of kernels/hopper/ring.py waits for at a barrier, compiled from its own line."""
    tree = ast.parse((ROOT / "kernels" / "hopper" / "ring.py").read_text())
    (body,) = [node for node in tree.body if getattr(node, "name", "") == function]
    (wait,) = [
        node for node in ast.walk(body) if isinstance(node, ast.Call) and ast.unparse(node.func) == "mbarrier.wait"
    ]
    assert side in ast.unparse(wait.args[0])
    return lambda tile_number, stages: eval(ast.unparse(wait.args[1]), {"tile_number": tile_number, "STAGES": stages})


@per_case
def waits(setting, worker, side):
    """A slow copy holds up the consumers at every tile of K, and a slow softmax the producer once its ring is full."""
    stages, full = setting["stages"], side == "full"
    awaited_bit = bit(side, "wait_for_tile" if full else "fetch")
    return [[tile % stages, awaited_bit(tile, stages)] for tile in range(0 if full else stages, setting["blocks"])]


SLOW = [({"copy": 10**6}, 1, "full"), ({"softmax": 10**6}, 0, "empty")]


@per_case
def outcome(setting):
    """Nothing hangs and nothing is read that isn't there; but with the wrong bit, or none, one of them happens."""
    work = (2 + 3 * setting["consumers"]) * setting["blocks"]
    return {"none": [False, False, work, True], "producer": [True, False, 0, True], "consumers": True, "greedy": True}[
        setting["bug"]
    ]


def settings() -> list:
    grid = [
        setting(stages, consumers, copy, product, softmax)
        for stages in (1, 2, 3, 4) for consumers in (1, 2, 3) for copy in (0, 1, 512, 2000)
        for product in (100, 512) for softmax in (100, 2000)
    ]  # fmt: skip
    slow = [one | {"bug": bug} for one in grid if one["copy"] >= one["product"] for bug in ("producer", "consumers")]
    return [[one] for one in [*grid, *slow, setting(bug="greedy")]]


CHECKS = [
    OracleCheck("tile: all", tiled_product, lambda: CUTS, ("Math.min(edge, size - top)", "edge"), rel_tol=1e-12),
    OracleCheck("strides: viewed", view_strides, tensors, ("- cells[0]) ? own : null", "- cells[0]) ? own : own")),
    OracleCheck("strides: counted", contiguous_and_swapped, tensors, ("product(shape.slice(axis + 1)));", "product(shape.slice(axis)));")),
    OracleCheck("hopper_ring: waits", waits, lambda: [[setting(i, 1, **slow), *who] for i in (1, 2, 3, 4) for slow, *who in SLOW],
        ('Number(side === "empty")', "0")),
    OracleCheck("hopper_ring: ended", outcome, settings, ("Math.max(now, free[unit])", "now")),
    OracleCheck("hopper_ring: always busy", per_case(lambda setting: setting["stages"] == 2),  # by the chapter's clocks
        lambda: [[setting(stages, copy=512)] for stages in (1, 2)], ("(last - first)", "last")),
]  # fmt: skip
