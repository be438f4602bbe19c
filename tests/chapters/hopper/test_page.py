"""Chapter 9's drawings speak of the kernel's own plan."""

from kernels.bench.hardware import H100
from tests.docs.page_text import drawing_text

SMS, ROWS = int(H100["sms"].value), int(H100["wgmma rows"].value)


def test_a_drawn_consumer_has_the_rows_of_a_wgmma():
    assert drawing_text("hopper-sm").count(f"4 warps, {ROWS} queries") == 2


def test_the_drawn_phases_are_those_that_the_producer_waits_for():
    wait = [1 - use // 2 % 2 for use in range(6)]
    wanted = f"use 0 waits for {wait[0]}, use 2 for {wait[2]}, use 4 for {wait[4]}."
    assert wanted in drawing_text("hopper-barriers")
