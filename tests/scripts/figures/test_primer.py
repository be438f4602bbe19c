"""The figure of the primer levels off where a tile feeds the tensor cores."""

import pytest

from kernels.bench.hardware import H100
from scripts.figures.primer import tile_reuse
from tests.scripts.figures.controls import points


def test_a_line_rises_with_the_edge_to_the_peak_and_no_further():
    peak = H100["bf16 peak"].value
    for trace, bandwidth in zip(tile_reuse.figure().data, ("shared memory bandwidth", "hbm bandwidth"), strict=True):
        edge = 2 * peak / H100[bandwidth].value  # two bytes a number
        assert points(trace) == pytest.approx({x: min(1, x / edge) * peak / 1e12 for x in trace.x})
        assert any(x == pytest.approx(edge) for x in trace.x)
