"""The figures of *Many GPUs* draw counted pairs, the model, and what the tables hold."""

from math import log

import pytest

from kernels.bench.parallel.cost import Link, Part, ideal, predicted
from scripts import records
from scripts.figures.many_gpus import exchange_cost, one_step, percent_of_ideal, predicted_scaling, who_sees_whom
from tests.scripts.figures.controls import choose, controls, points, visible


def test_in_zigzag_order_all_bars_are_two_squares_and_contiguous_the_last_is_the_longest():
    figure = who_sees_whom.figure()
    assert [sum(bar) for bar in zip(*(trace.x for trace in figure.data), strict=True)] == pytest.approx([2] * 4)
    assert all(x == pytest.approx(0.5) for trace in figure.data for x in trace.x)
    choose(figure, "Order", "contiguous")
    assert [sum(bar) for bar in zip(*(trace.x for trace in figure.data), strict=True)] == pytest.approx(
        [0.5, 1.5, 2.5, 3.5]
    )


def test_the_curves_are_the_model():
    figure = predicted_scaling.figure()
    choose(figure, "Pass and heads", "forward, 16 heads of keys")
    by_tokens = dict(zip(predicted_scaling.PARTS, figure.data, strict=True))
    how = {"speed": 640e12, "causal": True}
    for tokens, trace in by_tokens.items():
        part = Part(tokens, 16, 16, 128)
        for gpus, y in points(trace).items():
            time = predicted(gpus, part, link=Link(360e9), a_host=8, beyond=Link(50e9), **how)
            assert y == pytest.approx(100 * ideal(gpus, part, **how) / time)
    assert round(points(by_tokens[8192])[1024]) == 32 and round(points(by_tokens[32768])[1024]) == 100


def tables(**rows):
    """``records.table`` of made-up rows, until there are recorded ones."""
    return lambda _, name: rows[name]


def test_measured_points_are_the_rows_and_the_line_is_the_model(monkeypatch):
    row = {"gpus": 2, "heads": 16, "kv_heads": 16, "median": 1.0, "percent": 90.0, "low": 88.0, "high": 92.0}
    rows = [
        row | {"tokens": tokens, "form": form, "ideal": 0.859 * (tokens / 8192) ** 2}
        for tokens in (1024, 8192)
        for form in percent_of_ideal.FORMS
    ]
    longest = [row | {"tokens": 1 << 18, "form": "ring, peer memory", "ideal": 880.0, "percent": 101.0, "high": 103.0}]
    more = [
        row | {"gpus": 4, "tokens": tokens, "backward": backward, "form": form} | times
        for form in ("ring, peer memory", "all-gather")
        for tokens, backward, times in (
            (65536, "no", {"ideal": 120.0, "predicted": 100.0 if form.startswith("ring") else None}),
            (65536, "yes", {"ideal": None, "percent": None, "predicted": 500.0}),
        )
    ]
    both = {"forward": rows, "both": rows, "longest": longest, "longest_both": longest}
    monkeypatch.setattr(records, "table", tables(**both, measured=more))
    monkeypatch.setattr(records, "read", lambda name: None)
    figure = percent_of_ideal.figure()
    *measured, line = visible(figure)
    assert [trace.name for trace in measured] == [look.name for look in percent_of_ideal.FORMS.values()]
    short = {1024: 90.0, 8192: 90.0}

    def points(trace):
        """By the length itself, from which each form stands a little apart."""
        lengths = [1024, 8192, 65536, 1 << 18]
        return {min(lengths, key=lambda length: abs(log(length / x))): y for x, y in zip(trace.x, trace.y, strict=True)}

    assert points(measured[0]) == short | {1 << 18: 101.0} and all(points(trace) == short for trace in measured[1:])
    assert all(set(trace.error_y.array) == {2.0} for trace in measured)
    fetch = 1e3 * 2 * 16 * 1024 * 128 * 2 / 360e9
    waits = 100 * 0.859 / 64 / (fetch + 0.859 / 128)
    wanted = {1024: pytest.approx(waits, rel=1e-2), 8192: pytest.approx(100), 1 << 18: pytest.approx(100)}
    assert points(line) == wanted
    choose(figure, "Setting", "4 GPUs, heads 16/16, forward")
    ring, gathered, line = visible(figure)
    assert points(ring) == points(gathered) == {65536: 90.0} and points(line) == {65536: 120.0}
    choose(figure, "Setting", "4 GPUs, heads 16/16, with backward")
    assert [points(trace) for trace in visible(figure)] == [{}]


def test_while_more_gpus_await_their_run_the_others_are_drawn_and_the_page_is_told_what_is_lacking(monkeypatch):
    state = records.Reader.state
    never = (None, records.Missing("snippet more_gpus has never run"))
    monkeypatch.setattr(records.Reader, "state", lambda self, name: never if name == "more_gpus" else state(self, name))
    with records.Reader(records.ROOT).noting() as asked:
        labels, _ = controls(percent_of_ideal.figure())["Setting"]
    assert asked == {"more_gpus", "parallel_speed"}
    assert labels and all(label.startswith("2 GPUs, ") for label in labels)


def test_with_backward_the_model_has_the_last_gradients_on_top():
    row = {"gpus": 2, "heads": 16, "kv_heads": 16, "tokens": 8192, "ideal": 3.5 * 0.859}
    fetch = 1e3 * 0.75 * 2 * 16 * 8192 * 128 * 2 / 360e9
    assert percent_of_ideal.model(row, (False, True)) == pytest.approx(100 * 3.5 * 0.859 / (3.5 * 0.859 + fetch), 1e-3)


def test_a_kernel_is_drawn_with_what_it_takes_beside_each_exchange(monkeypatch):
    rows = [
        {"tokens": tokens, "how": how, "cost": cost, "low": cost - 1, "high": cost + 1}
        for how, cost in zip(exchange_cost.WAYS, (30.0, 10.0, 1.0), strict=True)
        for tokens in (4096, 2048)
    ]
    monkeypatch.setattr(records, "table", tables(overlap=rows))
    found = {trace.name: points(trace) for trace in exchange_cost.figure().data}
    assert found["messages"] == {"2,048": 30.0, "4,096": 30.0}
    assert found["peer memory"] == {"2,048": 1.0, "4,096": 1.0}


def test_a_bar_of_the_step_begins_and_ends_as_recorded(monkeypatch):
    later = [("attention", 800.0, 1700.0)]
    rows = [
        {"how": how, "what": what, "begin": begin, "end": end}
        for how, travels in (("messages", "send and receive"), ("peer memory", "fetch"))
        for what, begin, end in (("barrier", 0.0, 20.0), ("attention", 30.0, 900.0), (travels, 40.0, 230.0), *later)
    ]
    monkeypatch.setattr(records, "table", tables(timeline=rows))
    figure = one_step.figure()
    for how in ("messages", "peer memory"):
        choose(figure, "Copied by", how)
        bars = {trace.name: (trace.base, trace.x) for trace in visible(figure)}
        wanted = {"own part": ((30.0,), (870.0,)), "other's part": ((800.0,), (900.0,))}
        wanted |= {"small kernels": ((0.0,), (20.0,)), "travels": ((40.0,), (190.0,))}
        assert bars == wanted
