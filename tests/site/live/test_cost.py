"""What several pieces share is ``kernels.bench.cost`` and the registry of hardware; units are printed as on pages."""

import random
from functools import cache

import pytest

from kernels.bench import cost, hardware

MODEL = "cost.model.js"
PEAK = {"H100": "bf16 peak", "H200": "bf16 peak", "A100": "fp16 tensor core peak", "V100": "fp16 tensor core peak"}
FUNCTIONS = {
    "squareBytes": lambda n, dim, size, heads, batch: cost.square_bytes(n, size, heads, batch),
    "rowBytes": lambda n, dim, size, heads, batch: cost.qkvo_bytes(n, dim, size, heads, batch) / 4,
    "qkvoBytes": cost.qkvo_bytes,
    "eagerPeakBytes": cost.eager_peak_bytes,
    "fusedPeakBytes": cost.fused_peak_bytes,
    "attentionFlops": lambda n, dim, size, heads, batch: cost.attention_flops(n, dim, heads, batch),
}


@cache
def settings() -> list[tuple[int, int, int, int, int]]:
    """10,000 of them: n, head_dim, bytes of a number, heads, batch."""
    drawn = random.Random(0)
    sizes = [(1, 2**20), (1, 512), (1, 8), (1, 128), (1, 1024)]
    return [(1, 1, 1, 1, 1)] + [tuple(drawn.randint(*size) for size in sizes) for _ in range(9_999)]


@cache
def shapes() -> list[dict]:
    return [dict(zip(("n", "dim", "bytes", "heads", "batch"), each, strict=True)) for each in settings()]


def near(found, wanted) -> bool:
    """Equal but for what a float cannot hold of an integer."""
    return abs(found - wanted) <= 1e-12 * abs(wanted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_the_librarys(pieces, name):
    rows = [[shape] for shape in shapes()]
    found = pieces.calls(MODEL, name, rows)
    wanted = [FUNCTIONS[name](*each) for each in settings()]
    assert all(map(near, found, wanted))


def test_causal_is_half_and_a_shape_without_heads_has_one(pieces):
    found = pieces.calls(MODEL, "attentionFlops", [[shape, True] for shape in shapes()])
    wanted = [cost.attention_flops(n, dim, heads, batch, causal=True) for n, dim, _, heads, batch in settings()]
    assert all(map(near, found, wanted))
    (found,) = pieces.calls(MODEL, "qkvoBytes", [[{"n": 8192, "dim": 128, "bytes": 2}]])
    assert found == cost.qkvo_bytes(8192, 128, 2)


def test_a_count_of_one_square_is_not_that_of_two(pieces):
    found = pieces.calls(MODEL, "eagerPeakBytes", [[shape] for shape in shapes()])
    one = [cost.square_bytes(each[0], *each[2:]) + cost.qkvo_bytes(*each) / 4 for each in settings()]
    assert not any(map(near, found, one))


def test_the_roof_is_the_librarys(pieces):
    drawn = random.Random(0)
    rows = [[10 ** drawn.uniform(-3, 6), 10 ** drawn.uniform(9, 16), 10 ** drawn.uniform(9, 13)] for _ in range(10_000)]
    rows += [[0, 1e15, 1e12], [1e3, 1e15, 1e12]]
    assert pieces.calls(MODEL, "attainable", rows) == [cost.attainable(*row) for row in rows]


@pytest.mark.parametrize("name", PEAK)
def test_every_number_of_a_chip_is_the_registrys(pieces, name):
    registry = getattr(hardware, name)
    (found,) = pieces.calls(MODEL, "chip", [[name]])
    wanted = {"memory": "hbm", "bandwidth": "hbm bandwidth", "peak": PEAK[name]}
    numbers = {key: registry[what].value for key, what in wanted.items()}
    assert found == numbers | {"link": hardware.NVLINK[name].value}


@pytest.mark.parametrize(
    "function, value, wanted",
    [
        ("binary", [2**27], "128 MiB"),
        ("binary", [1023], "1023 B"),
        ("binary", [0], "0 B"),
        ("metric", [2**27, "B"], "134 MB"),
        ("metric", [1_068_000, "B"], "1.07 MB"),
        ("time", [5.1257e-3], "5.13 ms"),
        ("time", [41e-6], "41 µs"),
        ("grouped", [8192], "8192"),
        ("grouped", [1048576], "1,048,576"),
        ("brief", [31.25], "31.3"),
    ],
)
def test_numbers_are_printed_as_pages_print_them(pieces, function, value, wanted):
    assert pieces.calls("units.model.js", function, [value]) == [wanted]
