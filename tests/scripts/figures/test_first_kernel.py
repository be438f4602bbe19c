"""The figures of the chapter on the first kernel draw what was recorded, and their predictions are the sectors'."""

import pytest

from scripts import records
from scripts.figures.first_kernel import coalescing, first_kernel_times, ladder_of_first_kernel
from scripts.figures.plot import chip, where
from tests.scripts.figures.controls import choose, visible


def test_the_bandwidths_are_the_records_and_the_predictions_follow_from_sectors():
    speeds = {row["read"]: row["speed"] for row in records.table("coalescing", "reads")}
    measured, one_by_one, in_pairs, torch_sum = coalescing.figure().data
    assert list(measured.x) == [1, 2, 4, 8, 16, 32]
    assert [speeds[f"stride_{stride}"] for stride in measured.x] == list(measured.y)
    for predicted, sector in ((one_by_one, 32), (in_pairs, 64)):
        fetched = [len({lane * stride * 4 // sector for lane in range(32)}) * sector for stride in predicted.x]
        assert list(predicted.y) == pytest.approx([measured.y[0] * 128 / each for each in fetched])
    assert list(torch_sum.y) == [speeds["torch_sum"]]


def test_the_times_are_the_records():
    one_key, three_lines, fastest = first_kernel_times.figure().data
    for index, head_dim in enumerate([64, 128, 256]):
        rows = where(records.table("prefill_speed", f"forward_{head_dim}"), n=512, causal=False)
        spent = {row["form"]: row["median"] for row in rows}
        assert one_key.y[index] == spent["one_key_attention"] and three_lines.y[index] == spent["attention"]
        assert fastest.y[index] == min(spent[form] for form in spent if form.startswith("sdpa"))
        assert one_key.x[index] == f"{2048 // head_dim} heads<br>of {head_dim}"


@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_the_ladder_is_the_record_and_its_limit_arithmetic_or_the_bytes_of_the_small_tables(head_dim):
    figure = ladder_of_first_kernel.figure()
    choose(figure, "Head dimension d", str(head_dim))
    measured, reckoned = visible(figure)
    rows = where(records.table("prefill_speed", f"forward_{head_dim}"), n=512, causal=False)
    spent = {row["form"]: row["median"] for row in rows}
    assert list(measured.x) == [spent["one_key_attention"], spent["attention"], spent["sdpa_cudnn"]]
    assert list(measured.y) == ["one key", "three lines", "PyTorch, fused"]
    by_bytes = 4 * 16384 * 2048 * 2 / chip("prefill_speed")["hbm bandwidth"].value
    by_arithmetic = 4 * 16384 * 512 * 2048 / chip("prefill_speed")["bf16 peak"].value
    limit = 1e3 * max(by_bytes, by_arithmetic)
    assert list(reckoned.x) == pytest.approx([limit])
    assert measured.text[0] == f"{spent['one_key_attention']:.3g} ms, {100 * limit / spent['one_key_attention']:.3g} %"
