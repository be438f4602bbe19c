"""What is compared is compared within a round, and the interval holds the median in 95 of 100 cases."""

import random
import statistics
import time
from functools import partial

import pytest
import torch

from kernels.bench.rounds import Interval, clock_and_power, geometric_mean, ratio, repeat_calls, time_in_rounds
from kernels.bench.timing import as_cuda_graph


def test_a_drift_that_all_share_is_not_in_the_ratio():
    drift = [1 + 0.01 * number for number in range(30)]
    slower = [2 * x for x in drift]
    assert ratio(slower, drift) == (2, 2, 2)


def test_the_interval_is_about_the_median_and_narrows_with_more_rounds():
    rng = random.Random(1)
    few, many = ([rng.gauss(1, 0.1) for _ in range(count)] for count in (30, 3000))
    widths = []
    for sample in (few, many):
        median, low, high = ratio(sample, [1.0] * len(sample))
        assert low < median < high
        widths.append(high - low)
    # The standard error of a median of n normal numbers is 1.25 times their spread by √n.
    assert 0.03 < widths[0] < 0.15
    assert 0.004 < widths[1] < 0.015


TRUE_RATIOS = (0.9, 1.0, 1.1, 1.2)  # cuDNN's time by ours in four settings
TRUE_MEAN = statistics.geometric_mean(TRUE_RATIOS)


def drawn_settings(rng, count=30):
    """Times of two forms in ``count`` rounds of four settings, whose clock differs from round to round by a tenth."""
    for truth in TRUE_RATIOS:
        clocks = [rng.gauss(1, 0.1) for _ in range(count)]
        yield [truth * clock * rng.gauss(1, 0.01) for clock in clocks], clocks


def ratio_of_one_setting(settings):
    (numerator, denominator), *_ = settings
    return ratio(numerator, denominator)


def ratio_of_shuffled_rounds(settings):
    (numerator, denominator), *_ = settings
    return ratio(numerator, random.Random(0).sample(denominator, len(denominator)))


def a_third_as_wide(settings):
    median, low, high = ratio_of_one_setting(settings)
    return Interval(median, median - (median - low) / 3, median + (high - median) / 3)


def rounds_of_all_drawn_together(settings):
    """As if a round of one setting came with the same round of another: too narrow or too wide, as they are drawn."""
    ratios = [a / b for numerator, denominator in settings for a, b in zip(numerator, denominator, strict=True)]
    return ratio(ratios, [1.0] * len(ratios))


def percent_held_and_width(interval, truth, times=100):
    """In how many of 100 measurements the interval holds the truth, and how wide it is in the middle."""
    rng, intervals = random.Random(1), []
    for _ in range(times):
        intervals.append(interval(list(drawn_settings(rng))))
        assert intervals[-1].low <= intervals[-1].median <= intervals[-1].high
    hits = sum(low <= truth <= high for _, low, high in intervals)
    return 100 * hits / times, statistics.median(high - low for _, low, high in intervals)


def is_right(interval, truth, width):
    percent_held, median_width = percent_held_and_width(interval, truth)
    # By a normal approximation the interval of a median is 2 · 1.96 · 1.25 · s ÷ √30 wide.
    return 89 <= percent_held <= 99 and 0.6 * width < median_width < 1.5 * width


WIDTH_OF_ONE = 2 * 1.96 * 1.25 * 0.009 / 30**0.5
WIDTH_OF_ALL = 2 * 1.96 * 1.25 * 0.01 * TRUE_MEAN / 30**0.5 / 4**0.5


def test_the_interval_of_a_ratio_holds_the_truth_as_often_as_it_says():
    assert is_right(ratio_of_one_setting, TRUE_RATIOS[0], WIDTH_OF_ONE)


@pytest.mark.parametrize("wrong", [ratio_of_shuffled_rounds, a_third_as_wide])
def test_a_wrong_interval_of_a_ratio_is_rejected(wrong):
    assert not is_right(wrong, TRUE_RATIOS[0], WIDTH_OF_ONE)


def test_the_interval_of_a_geometric_mean_holds_the_truth_as_often_as_it_says():
    assert is_right(geometric_mean, TRUE_MEAN, WIDTH_OF_ALL)


@pytest.mark.parametrize("wrong", [ratio_of_one_setting, rounds_of_all_drawn_together])
def test_a_wrong_interval_of_a_geometric_mean_is_rejected(wrong):
    assert not is_right(wrong, TRUE_MEAN, WIDTH_OF_ALL)


def test_the_geometric_mean_is_of_medians_and_of_one_setting_it_is_the_ratio():
    settings = [([1.0, 2.0, 9.0], [1.0, 1.0, 1.0]), ([8.0, 8.0, 8.0], [1.0, 1.0, 1.0])]
    assert geometric_mean(settings).median == pytest.approx(4)
    numerator, denominator = next(drawn_settings(random.Random(3)))
    assert geometric_mean([(numerator, denominator)]) == pytest.approx(ratio(numerator, denominator))


def test_clock_and_power_are_those_of_nvml(monkeypatch):
    monkeypatch.setattr(torch.cuda, "clock_rate", lambda: 1755)  # MHz
    monkeypatch.setattr(torch.cuda, "power_draw", lambda: 345_600)  # mW
    assert clock_and_power() == (1755.0, 345.6)


def test_so_many_calls_are_made():
    calls = []
    repeat_calls(partial(calls.append, "a call"), 3)()
    assert calls == ["a call"] * 3


@pytest.mark.gpu
def test_what_takes_longer_takes_longer():
    x = torch.randn(4096, 4096, device="cuda")
    once, thrice = (lambda: x @ x), (lambda: [x @ x for _ in range(3)])
    times_by_form = time_in_rounds({"once": once, "thrice": thrice, "graph": as_cuda_graph(thrice)}, count=10)
    assert {len(times) for times in times_by_form.values()} == {10}
    assert 1.5 < ratio(times_by_form["thrice"], times_by_form["once"]).median < 6  # others may use the GPU, too
    assert 0.4 < ratio(times_by_form["graph"], times_by_form["thrice"]).median < 2


@pytest.mark.gpu
def test_a_call_that_the_host_draws_out_is_measured_with_it():
    times_by_form = time_in_rounds({"waits": lambda: time.sleep(0.01) or torch.zeros(1, device="cuda")}, count=3)
    assert min(times_by_form["waits"]) > 2  # not the 0.01 ms of the kernel; others may delay its start
