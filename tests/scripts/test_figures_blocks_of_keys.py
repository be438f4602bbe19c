"""The figures of the chapter on blocks of keys draw what was recorded."""

import importlib

from tests.docs.by_hand import row, table


def median(form, head_dim):
    wanted = {"form": form, "direction": "forward", "n": 512, "causal": False}
    return row("prefill_speed", f"forward_{head_dim}", head_dim=head_dim, **wanted)["median"]


def test_the_ladder_shows_the_records_times():
    figure = importlib.import_module("scripts.figures.blocks_of_keys.ladder_so_far").figure()
    (menu,) = figure.layout.updatemenus
    for index, head_dim in enumerate((64, 128, 256)):
        trace, button = figure.data[index], menu.buttons[index]
        forms = ["one_key_attention", "key_blocks_attention", "three_kernel_attention", "attention", "sdpa_cudnn"]
        assert list(trace.x) == [median(form, head_dim) for form in forms]
        assert button.label == str(head_dim)
        assert button.args[0]["visible"] == [other == index for other in range(3)]
    assert [trace.visible for trace in figure.data].index(True) == menu.active


def test_the_steps_are_drawn_against_the_scores():
    figure = importlib.import_module("scripts.figures.blocks_of_keys.steps_and_numbers").figure()
    scores = [2048 // head_dim * 16384 // 512 * 512**2 / 1e6 for head_dim in (256, 128, 64)]
    for trace, form in zip(figure.data, ("one_key_attention", "key_blocks_attention"), strict=True):
        assert list(trace.x) == scores
        assert list(trace.y) == [median(form, head_dim) for head_dim in (256, 128, 64)]


def test_the_cost_of_a_meeting_is_the_records():
    rows = table("key_blocks", "times")
    figure = importlib.import_module("scripts.figures.blocks_of_keys.meeting_cost").figure()
    for trace, form in zip(figure.data, ("one_key_attention", "key_blocks_attention"), strict=True):
        assert list(zip(trace.x, trace.y, strict=True)) == [
            (row["n"], row["one_meeting"]) for row in rows if row["form"] == form
        ]
