"""What is compared is compared within a round, and the interval holds the median."""

import random
import time
from functools import partial

import pytest
import torch

from kernels.bench.rounds import captured, ratio, rounds


def test_a_drift_that_all_share_is_not_in_the_ratio():
    drift = [1 + 0.01 * number for number in range(30)]
    slower = [2 * x for x in drift]
    assert ratio(slower, drift) == (2, 2, 2)


def test_the_interval_is_about_the_median_and_narrows_with_more_rounds():
    drawn = random.Random(1)
    few, many = ([drawn.gauss(1, 0.1) for _ in range(count)] for count in (30, 3000))
    widths = []
    for sample in (few, many):
        median, low, high = ratio(sample, [1.0] * len(sample))
        assert low < median < high
        widths.append(high - low)
    # The standard error of a median of n normal numbers is 1.25 times their spread by √n.
    assert 0.03 < widths[0] < 0.15
    assert 0.004 < widths[1] < 0.015


@pytest.mark.gpu
def test_what_takes_longer_takes_longer():
    x = torch.randn(4096, 4096, device="cuda")
    once, thrice = (lambda: x @ x), (lambda: [x @ x for _ in range(3)])
    found = rounds({"once": once, "thrice": thrice, "graph": captured(thrice)}, count=10)
    assert {len(times) for times in found.values()} == {10}
    assert 1.5 < ratio(found["thrice"], found["once"]).median < 6  # others may use the GPU, too
    assert 0.4 < ratio(found["graph"], found["thrice"]).median < 2


@pytest.mark.gpu
def test_a_graph_keeps_what_it_reads():
    x = torch.full((1 << 20,), 2.0, device="cuda")
    result = torch.empty_like(x)
    replay = captured(partial(torch.add, x, 1, out=result))
    del x
    torch.full((1 << 20,), 5.0, device="cuda")  # takes the memory if it is free
    replay()
    assert (result == 3).all()


@pytest.mark.gpu
def test_a_call_that_the_host_draws_out_is_measured_with_it():
    found = rounds({"waits": lambda: time.sleep(0.01) or torch.zeros(1, device="cuda")}, count=3)
    assert min(found["waits"]) > 9
