"""Chapter 4's drawings are to scale and have the figures of the registry."""

from xml.etree import ElementTree

from kernels.bench.cost import mib, qkvo_bytes, square_bytes
from kernels.bench.hardware import H200
from tests.chapters.rows import earlier_row, h100
from tests.docs.page_text import DRAWINGS, drawing_text

SQUARE, LEAST = mib(square_bytes(8192, 2)), mib(qkvo_bytes(8192, 128, 2))
REGISTERS, SHARED = (mib(h100("sms") * h100(f"{what} per SM")) for what in ("registers", "shared memory"))
L2 = mib(H200["l2"].value)


def test_the_drawn_kitchen_has_the_figures_of_the_registry():
    labels = drawing_text("traffic-kitchen")
    for label in [
        f"{h100('sms')} SMs, each with",
        f"registers {h100('registers per SM') / 2**10:.0f} KiB",
        f"shared mem. {h100('shared memory per SM') / 2**10:.0f} KiB",
        f"{L2:.0f} MiB (H100: {mib(h100('l2')):.0f} MiB)",
        f"{H200['hbm'].value / 1e9:.0f} GB (H100: {h100('hbm') / 1e9:.0f} GB)",
    ]:
        assert label in labels


def test_what_all_stations_get_is_drawn_beside_the_link_that_gives_it():
    texts = list(ElementTree.parse(DRAWINGS / "traffic-kitchen.svg").iter("{http://www.w3.org/2000/svg}text"))
    height = {text.text: float(text.get("y")) for text in texts}
    head = next(text for text in texts if text.text == "all together")
    column = [text.text for text in texts if text.get("x") == head.get("x")]
    arithmetic, shared_memory = (
        f"{h100('bf16 peak') / 1e12:.0f} TFLOP/s",
        f"{h100('shared memory bandwidth') / 1e12:.0f} TB/s",
    )
    l2, hbm = (
        f"{earlier_row('l2_speed', 'sizes', size=16)['speed']:.1f} TB/s",
        f"{H200['hbm bandwidth'].value / 1e12:.1f} TB/s",
    )
    hbm_of_h100 = f"H100: {h100('hbm bandwidth') / 1e12:.2f} TB/s"
    assert column == ["all together", arithmetic, shared_memory, "at least", l2, hbm, hbm_of_h100]
    links = {shared_memory: ("registers", "shared mem."), l2: ("228 KiB", "L2, one pantry for all")}
    for label, (above, below) in (links | {hbm: ("60 MiB (H100: 50 MiB)", "HBM, the storeroom")}).items():
        assert height[above] < height[label] < height[below]


def test_the_drawn_areas_are_to_scale():
    rects = ElementTree.parse(DRAWINGS / "traffic-where-it-fits.svg").iter("{http://www.w3.org/2000/svg}rect")
    sides = [float(rect.get("width")) for rect in rects]
    for side, size in zip(sides, [SQUARE, L2, REGISTERS, SHARED, LEAST], strict=True):
        assert abs((side / sides[0]) ** 2 - size / SQUARE) < 0.003
    labels = drawing_text("traffic-where-it-fits")
    for label in [
        f"scores {SQUARE:.0f} MiB",
        f"on the chip: {REGISTERS + SHARED + L2:.0f} MiB",
        f"L2 {L2:.0f} MiB",
        f"registers {REGISTERS:.0f} MiB",
        f"shared {SHARED:.0f} MiB",
        f"Q, K, V, O {LEAST:.0f} MiB",
    ]:
        assert label in labels
