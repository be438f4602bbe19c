"""The primer's drawings and its figure are to scale, and the drawn GPU has the figures of the registry."""

from xml.etree import ElementTree

import pytest

from kernels.bench.cost import mib
from scripts.chapters.primer.figures import tile_reuse
from tests.chapters.rows import earlier_row, h100
from tests.docs.page_text import DRAWINGS, drawing_text

SMS, CLOCK, PEAK, HBM = map(h100, ("sms", "tensor core clock", "bf16 peak", "hbm bandwidth"))
SHARED_BYTES_PER_CLOCK, LANES = h100("shared memory per clock"), h100("fp32 lanes")
HBM_BYTES_PER_CLOCK = HBM / SMS / CLOCK  # bytes a clock for each SM
SHARED_AND_L1_BYTES = 256 * 2**10  # what shared memory and L1 divide on an SM: NVIDIA's Hopper Tuning Guide
REGISTER_BYTES_PER_CLOCK = LANES / 2 * 3 * 4  # a multiply-add reads 3 numbers of 4 bytes


@pytest.fixture
def l2_bandwidth():
    """The measured speed of L2, in bytes a second."""
    return 1e12 * earlier_row("l2_speed", "sizes", size=16)["speed"]


def test_the_drawn_gpu_is_to_scale(l2_bandwidth):
    drawing = ElementTree.parse(DRAWINGS / "primer-gpu.svg")
    pipes = {rect.get("data-pipe"): float(rect.get("width")) for rect in drawing.iter() if rect.get("data-pipe")}
    speeds = {
        "registers": REGISTER_BYTES_PER_CLOCK,
        "shared memory": SHARED_BYTES_PER_CLOCK,
        "l2": l2_bandwidth / SMS / CLOCK,
        "hbm": HBM_BYTES_PER_CLOCK,
    }
    assert pipes.keys() == speeds.keys()
    for name, width in pipes.items():
        assert width == pytest.approx(172 * speeds[name] / REGISTER_BYTES_PER_CLOCK, rel=0.02), name
    branch = next(rect for rect in drawing.iter() if rect.get("data-branch"))
    assert float(branch.get("height")) == pipes["shared memory"]
    stores = {rect.get("data-store"): float(rect.get("width")) for rect in drawing.iter() if rect.get("data-store")}
    shared = stores["shared memory"] / sum(stores.values())
    assert shared == pytest.approx(h100("shared memory per SM") / SHARED_AND_L1_BYTES, rel=0.002)
    groups = {group.get("data-what"): list(group) for group in drawing.iter() if group.get("data-what")}
    assert len(groups["sms"]) == SMS and len(groups["warps"]) % 32 == 0


def test_the_drawn_gpu_has_the_figures_of_the_registry(l2_bandwidth):
    labels = drawing_text("primer-gpu")
    for label in [
        f"registers {h100('registers per SM') / 2**10:.0f} KiB",
        f"shared memory up to {h100('shared memory per SM') / 2**10:.0f} KiB",
        f"L2 cache {mib(h100('l2')):.0f} MiB, {l2_bandwidth / 1e12:.1f} TB/s",
        f"{l2_bandwidth / SMS / CLOCK:.0f} B per clock, each SM",
        f"HBM {h100('hbm') / 1e9:.0f} GB, {HBM / 1e12:.2f} TB/s",
        f"{LANES} FLOP per clock",
        f"{h100('bf16 tensor core')} FLOP per clock",
        f"{REGISTER_BYTES_PER_CLOCK:.0f} B per clock",
        f"{SHARED_BYTES_PER_CLOCK} B per clock",
        f"{HBM_BYTES_PER_CLOCK:.1f} B per clock, each SM",
        f"{SMS} SMs",
    ]:
        assert label in labels


def test_the_figure_levels_off_where_the_ridges_are():
    edges = [2 * PEAK / h100("shared memory bandwidth"), 2 * PEAK / HBM]
    for trace, edge in zip(tile_reuse.figure().data, edges, strict=True):
        for x, y in zip(trace.x, trace.y, strict=True):
            assert y == pytest.approx(min(1, x / edge) * PEAK / 1e12)
        assert any(x == pytest.approx(edge) for x in trace.x)
